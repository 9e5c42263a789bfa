import { ConnectionFault, codes, frameHeaderBytes, mostFrameBytes, types } from "./protocol.ts";

/** A frame where it lies; good until the next one is read. */
export class Frame {
  type = 0;
  flags = 0;
  /** The stream it is about; 0 is the connection. */
  id = 0;
  bytes: Buffer = none;
  /** Where the payload begins and ends. */
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

/** Finds the frames in what a connection says; copies only those that come in pieces. */
export class FrameReader {
  readonly #frame = new Frame();
  readonly #handle: (frame: Frame) => void;
  // A frame that is not complete: as much of it as its header needs, or all of it once that is known.
  #held: Buffer = none;
  #filled = 0;
  /** How many frames were complete. */
  count = 0;

  constructor(handle: (frame: Frame) => void) {
    this.#handle = handle;
  }

  /** Whether the last frame is not complete, and is not DATA, whose time is bounded by who reads it. */
  get isWithin(): boolean {
    return this.#filled > 0 && (this.#filled < frameHeaderBytes || this.#held[3] !== types.data);
  }

  read(chunk: Buffer): void {
    let at = this.#filled > 0 ? this.#complete(chunk) : 0;
    while (chunk.length - at >= frameHeaderBytes) {
      const end = at + frameHeaderBytes + lengthAt(chunk, at);
      if (end > chunk.length) break;
      this.#deliver(chunk, at, end);
      at = end;
    }
    if (at < chunk.length) this.#hold(chunk, at);
  }

  /** Goes on with the frame that was not complete; answers how much of the chunk that took. */
  #complete(chunk: Buffer): number {
    let at = this.#fill(chunk, 0);
    if (this.#filled === frameHeaderBytes && this.#held.length === frameHeaderBytes) {
      const whole = Buffer.allocUnsafe(frameHeaderBytes + lengthAt(this.#held, 0));
      this.#held.copy(whole);
      this.#held = whole;
      at = this.#fill(chunk, at);
    }
    if (this.#filled === this.#held.length) {
      this.#filled = 0;
      this.#deliver(this.#held, 0, this.#held.length);
    }
    return at;
  }

  #fill(chunk: Buffer, from: number): number {
    const copied = chunk.copy(this.#held, this.#filled, from);
    this.#filled += copied;
    return from + copied;
  }

  #hold(chunk: Buffer, at: number): void {
    const known = chunk.length - at >= frameHeaderBytes;
    this.#held = Buffer.allocUnsafe(frameHeaderBytes + (known ? lengthAt(chunk, at) : 0));
    this.#fill(chunk, at);
  }

  #deliver(bytes: Buffer, at: number, end: number): void {
    const frame = this.#frame;
    frame.type = bytes[at + 3] ?? 0;
    frame.flags = bytes[at + 4] ?? 0;
    frame.id = uint32(bytes, at + 5) & 0x7fffffff;
    frame.bytes = bytes;
    frame.start = at + frameHeaderBytes;
    frame.end = end;
    this.count += 1;
    this.#handle(frame);
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  if (length > mostFrameBytes) throw new ConnectionFault(codes.frameSize, "a frame that is larger than allowed");
  return length;
}

/** Four bytes as a number. */
export function uint32(bytes: Buffer, at: number): number {
  const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return (high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}
