import { ConnectionError, ErrorCode } from "../http2/rfc9113.ts";

type Integer = "index" | "length";

/** Counts the field lines of blocks by the lengths they contain (RFC 7541, 6), without a table and without decoding strings. */
export class FieldCounter {
  /** The integer that continues in the next byte. */
  #integer: Integer | undefined;
  #value = 0;
  #shift = 0;
  // The strings that the field line still has, and the remaining bytes of the current one.
  #strings = 0;
  #toSkip = 0;
  /** The number of field lines in the block so far. */
  count = 0;

  /** Begins a block. */
  begin(): void {
    this.#integer = undefined;
    this.#strings = 0;
    this.#toSkip = 0;
    this.count = 0;
  }

  /** Takes the next bytes of the block, which may be split anywhere. */
  scan(bytes: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const skipped = Math.min(this.#toSkip, end - at);
      this.#toSkip -= skipped;
      at += skipped;
      if (at < end) this.#byte(bytes[at++] ?? 0);
    }
  }

  #byte(byte: number): void {
    if (this.#integer) this.#continue(byte);
    else if (this.#strings > 0) this.#string(byte);
    else this.#line(byte);
  }

  #line(first: number): void {
    const isIndexed = first >= 0x80;
    const isSizeUpdate = !isIndexed && first >> 5 === 1;
    const max = isIndexed ? 0x7f : first & 0x40 ? 0x3f : isSizeUpdate ? 0x1f : 0x0f;
    if (!isSizeUpdate) this.count += 1;
    if (!isIndexed && !isSizeUpdate) this.#strings = (first & max) === 0 ? 2 : 1;
    this.#begin("index", first & max, max);
  }

  #string(first: number): void {
    this.#strings -= 1;
    this.#begin("length", first & 0x7f, 0x7f);
  }

  #begin(integer: Integer, value: number, max: number): void {
    this.#integer = integer;
    this.#value = value;
    this.#shift = 0;
    if (value < max) this.#end();
  }

  /** As in our own decoder, four more bytes are enough for every length within our limits. */
  #continue(byte: number): void {
    if (this.#shift > 21) throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, "an integer that is too large");
    this.#value += (byte & 0x7f) << this.#shift;
    this.#shift += 7;
    if (byte < 0x80) this.#end();
  }

  #end(): void {
    if (this.#integer === "length") this.#toSkip = this.#value;
    this.#integer = undefined;
  }
}
