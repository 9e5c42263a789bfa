import { ConnectionError, ErrorCode, FrameType, frameHeaderBytes, maxFrameSize } from "./rfc9113.ts";

/** A frame in place, valid until the next one is read. */
export class Frame {
  type = 0;
  flags = 0;
  /** 0 stands for the connection. */
  streamId = 0;
  bytes: Buffer = none;
  /** The payload is `bytes` from `start` up to `end`. */
  start = 0;
  end = 0;

  has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }

  get length(): number {
    return this.end - this.start;
  }
}

const none = Buffer.alloc(0);

/** Finds the frames in a connection's bytes; copies only frames that arrive in pieces. */
export class FrameReader {
  readonly #frame = new Frame();
  readonly #handle: (frame: Frame) => boolean;
  // An incomplete frame: room for its header, or for all of it once its length is known.
  #partial: Buffer = none;
  #filled = 0;
  #goesOn = true;
  /** The number of complete frames so far. */
  count = 0;

  /** `handle` is called with each frame; once it returns false, the rest is left unread. */
  constructor(handle: (frame: Frame) => boolean) {
    this.#handle = handle;
  }

  /** Whether the last frame is incomplete, except for DATA, whose time the reader of the body limits. */
  get isIncomplete(): boolean {
    return this.#filled > 0 && (this.#filled < frameHeaderBytes || this.#partial[3] !== FrameType.DATA);
  }

  /** Reads frames, keeping an incomplete one; returns how much of the chunk was read. */
  read(chunk: Buffer): number {
    this.#goesOn = true;
    let at = this.#filled > 0 ? this.#fillPartial(chunk) : 0;
    while (this.#goesOn && chunk.length - at >= frameHeaderBytes) {
      const end = at + frameHeaderBytes + lengthAt(chunk, at);
      if (end > chunk.length) break;
      this.#deliver(chunk, at, end);
      at = end;
    }
    if (!this.#goesOn) return at;
    if (at < chunk.length) this.#keepRest(chunk, at);
    return chunk.length;
  }

  /** Continues the incomplete frame; returns how much of the chunk that took. */
  #fillPartial(chunk: Buffer): number {
    let at = this.#fill(chunk, 0);
    if (this.#filled === frameHeaderBytes && this.#partial.length === frameHeaderBytes) {
      const whole = Buffer.allocUnsafe(frameHeaderBytes + lengthAt(this.#partial, 0));
      this.#partial.copy(whole);
      this.#partial = whole;
      at = this.#fill(chunk, at);
    }
    if (this.#filled === this.#partial.length) {
      this.#filled = 0;
      this.#deliver(this.#partial, 0, this.#partial.length);
    }
    return at;
  }

  #fill(chunk: Buffer, from: number): number {
    const copied = chunk.copy(this.#partial, this.#filled, from);
    this.#filled += copied;
    return from + copied;
  }

  #keepRest(chunk: Buffer, at: number): void {
    const isLengthKnown = chunk.length - at >= frameHeaderBytes;
    this.#partial = Buffer.allocUnsafe(frameHeaderBytes + (isLengthKnown ? lengthAt(chunk, at) : 0));
    this.#fill(chunk, at);
  }

  #deliver(bytes: Buffer, at: number, end: number): void {
    const frame = this.#frame;
    frame.type = bytes[at + 3] ?? 0;
    frame.flags = bytes[at + 4] ?? 0;
    frame.streamId = uint32(bytes, at + 5) & 0x7fffffff;
    frame.bytes = bytes;
    frame.start = at + frameHeaderBytes;
    frame.end = end;
    this.count += 1;
    this.#goesOn = this.#handle(frame);
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  if (length > maxFrameSize) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "a frame above MAX_FRAME_SIZE");
  return length;
}

/** Reads an unsigned 32-bit integer. */
export function uint32(bytes: Buffer, at: number): number {
  const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return (high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}
