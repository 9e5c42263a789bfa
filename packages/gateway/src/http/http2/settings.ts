import { type Frame, uint32 } from "./frame_reader.ts";
import type { FrameWriter } from "./frame_writer.ts";
import {
  ConnectionError,
  ErrorCode,
  Flag,
  FrameType,
  frameHeaderBytes,
  largestMaxFrameSize,
  maxFrameSize,
  maxWindowSize,
  Setting,
} from "./rfc9113.ts";

const entryBytes = 6;

/** The settings that we announce. */
export type ServerSettings = {
  readonly maxConcurrentStreams: number;
  readonly initialWindowSize: number;
  readonly maxHeaderListSize: number;
};

/** Called with those of the client's settings that affect us. */
export type ClientSettings = {
  readonly headerTableSize: (bytes: number) => void;
  readonly initialWindowSize: (bytes: number) => void;
};

/** Writes our SETTINGS frame. */
export function writeSettings(writer: FrameWriter, settings: ServerSettings): void {
  const entries = [
    [Setting.MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams],
    [Setting.INITIAL_WINDOW_SIZE, settings.initialWindowSize],
    [Setting.MAX_HEADER_LIST_SIZE, settings.maxHeaderListSize],
  ] as const;
  writer.reserve(frameHeaderBytes + entries.length * entryBytes);
  const start = writer.beginFrame(FrameType.SETTINGS, 0);
  for (const [name, value] of entries) {
    writer.at = writer.bytes.writeUInt16BE(name, writer.at);
    writer.uint32(value);
  }
  writer.endFrame(start, Flag.NONE);
}

/** Reads a client's SETTINGS frame; throws a connection error for a value that RFC 9113, 6.5.2 forbids. */
export function readSettings({ bytes, start, end }: Frame, client: ClientSettings): void {
  if ((end - start) % entryBytes !== 0)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS length is not a multiple of 6");
  let window: number | undefined;
  for (let at = start; at < end; at += entryBytes) {
    const value = uint32(bytes, at + 2);
    switch (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)) {
      case Setting.HEADER_TABLE_SIZE:
        client.headerTableSize(value);
        break;
      case Setting.ENABLE_PUSH:
        if (value > 1) throw invalidValue("ENABLE_PUSH");
        break;
      case Setting.INITIAL_WINDOW_SIZE:
        if (value > maxWindowSize)
          throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is too large");
        window = value;
        break;
      case Setting.MAX_FRAME_SIZE:
        if (value < maxFrameSize || value > largestMaxFrameSize) throw invalidValue("MAX_FRAME_SIZE");
        break;
    }
  }
  // Only the last value counts, and applying one takes a step per stream.
  if (window !== undefined) client.initialWindowSize(window);
}

const invalidValue = (name: string) => new ConnectionError(ErrorCode.PROTOCOL_ERROR, `invalid value of ${name}`);
