import { Flag, FrameType, frameHeaderBytes, preface } from "../http2/rfc9113.ts";

/** A frame's header, and the length of its payload without padding and priority. */
export type ScannedFrame = {
  type: number;
  flags: number;
  streamId: number;
  length: number;
  /** The first four bytes of RST_STREAM: its error code. */
  code: number;
};

/** Callbacks of a scanner. */
export type ScannerEvents = {
  /** A frame begins. */
  readonly frame: (frame: ScannedFrame) => void;
  /** Bytes of a field block, in a frame that has begun. */
  readonly fragment?: (bytes: Uint8Array, start: number, end: number) => void;
};

const priorityBytes = 5;
const codeBytes = 4;

/** Finds frame headers and field blocks in a stream of bytes, without keeping payloads. */
export class FrameScanner {
  readonly #events: ScannerEvents;
  // The frame header, followed by an error code, or by a pad length and a priority.
  readonly #head = Buffer.alloc(frameHeaderBytes + 1 + priorityBytes);
  readonly #frame: ScannedFrame = { type: 0, flags: 0, streamId: 0, length: 0, code: 0 };
  #filled = 0;
  #needed = frameHeaderBytes;
  #toSkip: number;
  #fragmentBytes = 0;
  /** The number of complete frame headers so far. */
  count = 0;

  /** A client's bytes begin with the connection preface. */
  constructor(from: "client" | "server", events: ScannerEvents) {
    this.#events = events;
    this.#toSkip = from === "client" ? preface.length : 0;
  }

  /** Whether the bytes so far end within a frame, except in the payload of DATA. */
  get isIncomplete(): boolean {
    return this.#filled > 0 || (this.#toSkip > 0 && this.#frame.type !== FrameType.DATA);
  }

  /** Whether the bytes so far end at the end of a frame. */
  get isBetweenFrames(): boolean {
    return this.#filled === 0 && this.#toSkip === 0;
  }

  scan(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#toSkip > 0) {
        const skipped = Math.min(this.#toSkip, chunk.length - at);
        this.#payload(chunk, at, at + skipped);
        at += skipped;
      } else {
        this.#head[this.#filled++] = chunk[at++] ?? 0;
        if (this.#filled === frameHeaderBytes) this.#needed += this.#extraBytes();
        if (this.#filled === this.#needed) this.#deliver();
      }
    }
  }

  #payload(chunk: Uint8Array, start: number, end: number): void {
    this.#toSkip -= end - start;
    const bytes = Math.min(this.#fragmentBytes, end - start);
    this.#fragmentBytes -= bytes;
    if (bytes > 0) this.#events.fragment?.(chunk, start, start + bytes);
  }

  /** The number of payload bytes read along with the header; 0 for a frame that is too short for them. */
  #extraBytes(): number {
    const length = this.#head.readUIntBE(0, 3);
    const [type, flags = 0] = this.#head.subarray(3, 5);
    const padBytes = flags & Flag.PADDED ? 1 : 0;
    let extra = 0;
    if (type === FrameType.RST_STREAM) extra = codeBytes;
    else if (type === FrameType.DATA) extra = padBytes;
    else if (type === FrameType.HEADERS) extra = padBytes + (flags & Flag.PRIORITY ? priorityBytes : 0);
    return extra <= length ? extra : 0;
  }

  #deliver(): void {
    const head = this.#head;
    const frame = this.#frame;
    const length = head.readUIntBE(0, 3);
    const extra = this.#needed - frameHeaderBytes;
    const [type = 0, flags = 0] = head.subarray(3, 5);
    const isPadded = extra > 0 && type !== FrameType.RST_STREAM && (flags & Flag.PADDED) !== 0;
    frame.type = type;
    frame.flags = flags;
    frame.streamId = head.readUInt32BE(5) & 0x7fffffff;
    frame.length = Math.max(0, length - extra - (isPadded ? (head[frameHeaderBytes] ?? 0) : 0));
    frame.code = type === FrameType.RST_STREAM && extra > 0 ? head.readUInt32BE(frameHeaderBytes) : 0;
    this.#fragmentBytes = type === FrameType.HEADERS || type === FrameType.CONTINUATION ? frame.length : 0;
    this.#toSkip = length - extra;
    this.#filled = 0;
    this.#needed = frameHeaderBytes;
    this.count += 1;
    this.#events.frame(frame);
  }
}
