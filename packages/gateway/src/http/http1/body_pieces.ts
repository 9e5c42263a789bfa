import type { Head } from "./head.ts";

const emptyLine = Buffer.from("\r\n\r\n");
// Up to this many bytes may still be parsed after the body was refused.
const maxPieceBytes = 16_384;
// The maximum number of pieces in which one read of a chunked body is parsed; a read of only empty lines would have 16,000.
const maxPieces = 1024;
// A chunk costs half a microsecond whether it has one byte or a thousand, so 64 KiB of one-byte chunks would cost 5 ms.
const maxTinyChunks = 4096;
const tinyBytes = 16;

/** Tracks the rest of a request body, and decides how much of it to parse at once. */
export class BodyPieces {
  #missing: Head["body"] = 0;
  #pieces = 0;
  #chunksLeft = 0;

  /** Whether more of the body is to come. */
  get isOpen(): boolean {
    return this.#missing !== 0;
  }

  /** Whether chunks of the body are to come. */
  get isChunked(): boolean {
    return this.#missing === "chunked";
  }

  /** Starts a body, of which `ahead` bytes were parsed with the head. */
  begin(body: Head["body"], ahead: number): void {
    this.#missing = body === "chunked" ? body : body - ahead;
    this.#chunksLeft = maxTinyChunks;
  }

  /** Marks the body as complete. */
  end(): void {
    this.#missing = 0;
  }

  /** Restarts the count of pieces, because bytes were read from the socket. */
  read(): void {
    this.#pieces = 0;
  }

  /** Returns how many of the waiting bytes to parse next, and counts them as received. */
  take(waiting: Buffer): number {
    if (this.#missing === "chunked") {
      this.#pieces += 1;
      return this.#pieces > maxPieces ? waiting.length : nextPiece(waiting);
    }
    const size = Math.min(waiting.length, this.#missing);
    this.#missing -= size;
    return size;
  }

  /** Counts a parsed part; false if the body has too many chunks for its size. */
  admits(part: Buffer): boolean {
    if (this.#missing === "chunked") this.#chunksLeft += part.length / tinyBytes - 1;
    return this.#chunksLeft >= 0;
  }
}

/**
 * Returns how many bytes of a chunked body to parse at once: up to an empty line, which may end the body. Later bytes belong to the next
 * request, which has to wait; bytes that may begin an empty line wait for the rest of it.
 */
export function nextPiece(waiting: Buffer): number {
  const bytes = waiting.length > maxPieceBytes ? waiting.subarray(0, maxPieceBytes) : waiting;
  const end = bytes.indexOf(emptyLine);
  if (end >= 0) return end + emptyLine.length;
  for (let length = emptyLine.length - 1; length > 0; length -= 1)
    if (bytes.subarray(-length).equals(emptyLine.subarray(0, length))) return bytes.length - length;
  return bytes.length;
}
