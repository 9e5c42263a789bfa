import { Flag, FrameType, frameHeaderBytes, preface } from "../http2/rfc9113.ts";

/** The header of a frame, and the length of its payload without padding. */
export type ScannedFrame = {
  type: number;
  flags: number;
  streamId: number;
  length: number;
  /** The first four bytes of RST_STREAM: its error code. */
  code: number;
};

/** Finds frame headers in a flow of bytes; it keeps no payload. */
export class FrameScanner {
  readonly #onFrame: (frame: ScannedFrame) => void;
  // The frame header, then a pad length or an error code.
  readonly #head = Buffer.alloc(frameHeaderBytes + 4);
  readonly #frame: ScannedFrame = { type: 0, flags: 0, streamId: 0, length: 0, code: 0 };
  #filled = 0;
  #needed = frameHeaderBytes;
  #toSkip: number;
  /** How many frame headers were complete so far. */
  count = 0;

  /** A client's bytes begin with the connection preface. */
  constructor(from: "client" | "server", onFrame: (frame: ScannedFrame) => void) {
    this.#onFrame = onFrame;
    this.#toSkip = from === "client" ? preface.length : 0;
  }

  /** Whether the bytes so far end within a frame, other than in the payload of DATA. */
  get isIncomplete(): boolean {
    return this.#filled > 0 || (this.#toSkip > 0 && this.#frame.type !== FrameType.DATA);
  }

  /** Whether the bytes so far end where a frame does. */
  get isBetweenFrames(): boolean {
    return this.#filled === 0 && this.#toSkip === 0;
  }

  scan(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#toSkip > 0) {
        const skipped = Math.min(this.#toSkip, chunk.length - at);
        this.#toSkip -= skipped;
        at += skipped;
      } else {
        this.#head[this.#filled++] = chunk[at++] ?? 0;
        if (this.#filled === frameHeaderBytes) this.#needed += this.#extraBytes();
        if (this.#filled === this.#needed) this.#deliver();
      }
    }
  }

  #extraBytes(): number {
    const length = this.#head.readUIntBE(0, 3);
    const [type, flags = 0] = this.#head.subarray(3, 5);
    if (type === FrameType.RST_STREAM) return length >= 4 ? 4 : 0;
    return type === FrameType.DATA && flags & Flag.PADDED && length > 0 ? 1 : 0;
  }

  #deliver(): void {
    const head = this.#head;
    const frame = this.#frame;
    const length = head.readUIntBE(0, 3);
    const extra = this.#needed - frameHeaderBytes;
    frame.type = head[3] ?? 0;
    frame.flags = head[4] ?? 0;
    frame.streamId = head.readUInt32BE(5) & 0x7fffffff;
    frame.length = extra === 1 ? Math.max(0, length - 1 - (head[frameHeaderBytes] ?? 0)) : length;
    frame.code = extra === 4 ? head.readUInt32BE(frameHeaderBytes) : 0;
    this.#toSkip = length - extra;
    this.#filled = 0;
    this.#needed = frameHeaderBytes;
    this.count += 1;
    this.#onFrame(frame);
  }
}
