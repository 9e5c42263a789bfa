import type { Frame } from "./frame_reader.ts";
import { fieldBlockFramesMax, fieldBlockMaxBytes } from "./limits.ts";
import { refuseSelfDependency, withoutPadding } from "./payload.ts";
import { ConnectionError, ErrorCode, enhanceYourCalm, Flag } from "./rfc9113.ts";
import type { Streams } from "./streams.ts";

const priorityBytes = 5;

/** Assembles field blocks from HEADERS and CONTINUATION frames. */
export class HeaderFrames {
  readonly #streams: Streams;
  readonly #maxBytes: number;
  #fragments: Buffer[] = [];
  #size = 0;
  #streamId = 0;
  #endsStream = false;

  constructor(streams: Streams, headersMaxBytes: number) {
    this.#streams = streams;
    this.#maxBytes = fieldBlockMaxBytes(headersMaxBytes);
  }

  /** Whether a field block is waiting for CONTINUATION. */
  get isIncomplete(): boolean {
    return this.#streamId !== 0;
  }

  headers(frame: Frame): void {
    const { streamId, bytes } = frame;
    if (streamId % 2 === 0) throw protocolError("HEADERS on a stream identifier that clients cannot use");
    const { start, end } = withoutPadding(frame);
    const hasPriority = frame.has(Flag.PRIORITY);
    const from = hasPriority ? start + priorityBytes : start;
    if (from > end) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for its priority fields");
    if (hasPriority) refuseSelfDependency(streamId, bytes, start);
    const endsStream = frame.has(Flag.END_STREAM);
    if (frame.has(Flag.END_HEADERS))
      return void this.#streams.headers(streamId, endsStream, { bytes, start: from, end });
    this.#streamId = streamId;
    this.#endsStream = endsStream;
    this.#add(bytes.subarray(from, end));
  }

  continuation(frame: Frame): void {
    if (this.#streamId === 0 || frame.streamId !== this.#streamId)
      throw protocolError("CONTINUATION without a field block to continue");
    this.#add(frame.bytes.subarray(frame.start, frame.end));
    if (!frame.has(Flag.END_HEADERS)) return;
    const bytes = Buffer.concat(this.#fragments);
    const streamId = this.#streamId;
    this.#fragments = [];
    this.#size = 0;
    this.#streamId = 0;
    this.#streams.headers(streamId, this.#endsStream, { bytes, start: 0, end: bytes.length });
  }

  #add(fragment: Buffer): void {
    this.#size += fragment.length;
    this.#fragments.push(fragment);
    if (this.#size > this.#maxBytes || this.#fragments.length > fieldBlockFramesMax)
      throw enhanceYourCalm("header fields");
  }
}

const protocolError = (message: string) => new ConnectionError(ErrorCode.PROTOCOL_ERROR, message);
