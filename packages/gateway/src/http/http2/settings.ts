import type { Outbox } from "./outbox.ts";
import { ConnectionFault, codes, flags, frameHeaderBytes, largest, mostFrameBytes, types } from "./protocol.ts";
import { type Frame, uint32 } from "./reader.ts";

// RFC 9113, 6.5.2.
const names = { tableBytes: 1, push: 2, streams: 3, window: 4, frameBytes: 5, headerBytes: 6 } as const;
const entryBytes = 6;

/** What we ask of clients. */
export type OurSettings = { readonly streams: number; readonly window: number; readonly headerBytes: number };

/** What of a client's settings is of any use to us. */
export type TheirSettings = { readonly tableBytes: (bytes: number) => void; readonly window: (bytes: number) => void };

/** Says what we ask of a client. */
export function writeSettings(outbox: Outbox, { streams, window, headerBytes }: OurSettings): void {
  const entries = [
    [names.streams, streams],
    [names.window, window],
    [names.headerBytes, headerBytes],
  ] as const;
  outbox.reserve(frameHeaderBytes + entries.length * entryBytes);
  const start = outbox.open(types.settings, 0);
  for (const [name, value] of entries) {
    outbox.at = outbox.bytes.writeUInt16BE(name, outbox.at);
    outbox.uint32(value);
  }
  outbox.close(start, flags.none);
}

/** Reads what a client asks of us, or refuses what nobody may ask. */
export function readSettings({ bytes, start, end }: Frame, theirs: TheirSettings): void {
  if ((end - start) % entryBytes !== 0) throw new ConnectionFault(codes.frameSize, "SETTINGS of an odd length");
  let window: number | undefined;
  for (let at = start; at < end; at += entryBytes) {
    const value = uint32(bytes, at + 2);
    switch (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)) {
      case names.tableBytes:
        theirs.tableBytes(value);
        break;
      case names.push:
        if (value > 1) throw wrong("ENABLE_PUSH");
        break;
      case names.window:
        if (value > largest) throw new ConnectionFault(codes.flowControl, "a window that is too large");
        window = value;
        break;
      case names.frameBytes:
        if (value < mostFrameBytes || value >= 2 ** 24) throw wrong("MAX_FRAME_SIZE");
        break;
    }
  }
  // Only the last one counts, and each costs a look at every stream.
  if (window !== undefined) theirs.window(window);
}

const wrong = (name: string) => new ConnectionFault(codes.protocol, `${name} of a value that is not allowed`);
