import type { Head } from "./head.ts";

const blank = Buffer.from("\r\n\r\n");
// What is parsed after the body was refused.
const largest = 16_384;
// In how many pieces a read of a chunked body is parsed, for one of empty lines alone has 16,000.
const mostPieces = 1024;
// A chunk costs half a microsecond, of one byte as of a thousand: 64 KiB of the former would cost 5 ms.
const mostTinyChunks = 4096;
const tinyBytes = 16;

/** What is still to come of the body of a request, and how much of it is parsed at once. */
export class BodyPieces {
  #missing: Head["body"] = 0;
  #pieces = 0;
  #chunksLeft = 0;

  /** Whether more of the body is to come. */
  get isOpen(): boolean {
    return this.#missing !== 0;
  }

  /** A body follows, of which some bytes were parsed with its head. */
  begin(body: Head["body"], ahead: number): void {
    this.#missing = body === "chunked" ? body : body - ahead;
    this.#chunksLeft = mostTinyChunks;
  }

  /** Nothing more of it is to come. */
  end(): void {
    this.#missing = 0;
  }

  /** Bytes were read from the socket. */
  read(): void {
    this.#pieces = 0;
  }

  /** How many of the bytes that wait are parsed next; they do not count as missing any more. */
  take(waiting: Buffer): number {
    if (this.#missing === "chunked") {
      this.#pieces += 1;
      return this.#pieces > mostPieces ? waiting.length : nextPiece(waiting);
    }
    const size = Math.min(waiting.length, this.#missing);
    this.#missing -= size;
    return size;
  }

  /** Counts a part that was parsed; false when a body comes in too many chunks for its size. */
  admits(part: Buffer): boolean {
    if (this.#missing === "chunked") this.#chunksLeft += part.length / tinyBytes - 1;
    return this.#chunksLeft >= 0;
  }
}

/**
 * Says how many bytes of a chunked body are parsed at once: up to an empty line, which may end the body. What follows the
 * body is another request, which has to wait for its turn; bytes that may begin an empty line wait for the rest of it.
 */
export function nextPiece(waiting: Buffer): number {
  const bytes = waiting.length > largest ? waiting.subarray(0, largest) : waiting;
  const end = bytes.indexOf(blank);
  if (end >= 0) return end + blank.length;
  for (let length = blank.length - 1; length > 0; length -= 1)
    if (bytes.subarray(-length).equals(blank.subarray(0, length))) return bytes.length - length;
  return bytes.length;
}
