import { ConnectionFault, codes, flags } from "./protocol.ts";
import type { Frame } from "./reader.ts";
import { calm, refuseCircle, type Streams, unpadded } from "./streams.ts";

const priorityBytes = 5;
const leastLongest = 65_536;
const mostPieces = 64;

/** Joins the blocks of fields that come in several frames. */
export class HeaderFrames {
  readonly #streams: Streams;
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #size = 0;
  #id = 0;
  #ends = false;

  constructor(streams: Streams, headersMaxBytes: number) {
    this.#streams = streams;
    // Beyond what is refused with an answer, which has to be read first.
    this.#longest = Math.max(leastLongest, 4 * headersMaxBytes);
  }

  /** Whether a block is not complete. */
  get isWithin(): boolean {
    return this.#id !== 0;
  }

  begin(frame: Frame): void {
    const { id, bytes } = frame;
    if (id % 2 === 0) throw new ConnectionFault(codes.protocol, "HEADERS for a stream that no client can open");
    const { start, end } = unpadded(frame);
    const prioritized = frame.has(flags.priority);
    const from = prioritized ? start + priorityBytes : start;
    if (from > end) throw new ConnectionFault(codes.frameSize, "HEADERS without all that they announce");
    if (prioritized) refuseCircle(id, bytes, start);
    const ends = frame.has(flags.endStream);
    if (frame.has(flags.endHeaders)) return void this.#streams.headers(id, ends, { bytes, start: from, end });
    this.#id = id;
    this.#ends = ends;
    this.#add(bytes.subarray(from, end));
  }

  proceed(frame: Frame): void {
    if (this.#id === 0 || frame.id !== this.#id) throw new ConnectionFault(codes.protocol, "CONTINUATION of nothing");
    this.#add(frame.bytes.subarray(frame.start, frame.end));
    if (!frame.has(flags.endHeaders)) return;
    const bytes = Buffer.concat(this.#pieces);
    const id = this.#id;
    this.#pieces = [];
    [this.#size, this.#id] = [0, 0];
    this.#streams.headers(id, this.#ends, { bytes, start: 0, end: bytes.length });
  }

  #add(piece: Buffer): void {
    this.#size += piece.length;
    this.#pieces.push(piece);
    if (this.#size > this.#longest || this.#pieces.length > mostPieces) throw calm("header fields");
  }
}
