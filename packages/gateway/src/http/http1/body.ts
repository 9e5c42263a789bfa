import type { Head } from "./head.ts";

/** What came of reading: where it stopped, and whether the body is at its end. */
export type Read = { readonly at: number; readonly ended: boolean };

/** Reads the body of one request; undefined for bytes that cannot be of one. */
export type BodyReader = (bytes: Buffer, at: number, take: (part: Buffer) => void) => Read | undefined;

/** A reader for the body that a head announces. */
export function bodyReader({ body }: Pick<Head, "body">): BodyReader {
  return body === "chunked" ? chunkedReader() : lengthReader(body);
}

function lengthReader(length: number): BodyReader {
  let missing = length;
  return (bytes, at, take) => {
    const end = Math.min(bytes.length, at + missing);
    missing -= end - at;
    if (end > at) take(bytes.subarray(at, end));
    return { at: end, ended: missing === 0 };
  };
}

// A size in hexadecimal, with room for an extension that nobody here reads.
const longestLine = 256;
const mostTrailers = 64;
const sizeLine = /^([\da-f]{1,8})[\t ]*(;[\t\x20-\x7e\x80-\xff]*)?$/i;
const trailerLine = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** RFC 9112, 7.1. The data of all chunks in one read are moved together and taken once: a chunk may be of one byte. */
function chunkedReader(): BodyReader {
  let expected: "size" | "data" | "data end" | "trailers" = "size";
  let text = "";
  let missing = 0;
  let trailers = 0;

  return (bytes, from, take) => {
    const data = new Moved(bytes);
    let at = from;
    while (at < bytes.length) {
      if (expected === "data") {
        const end = Math.min(bytes.length, at + missing);
        data.move(at, end);
        missing -= end - at;
        at = end;
        if (missing === 0) expected = "data end";
        continue;
      }
      const after = text === "" ? plainLine(bytes, at) : 0;
      if (after > 0) {
        at = after;
        continue;
      }
      const end = bytes.indexOf(0x0a, at);
      text += bytes.toString("latin1", at, end < 0 ? bytes.length : end + 1);
      if (text.length > longestLine) return undefined;
      if (end < 0) break;
      at = end + 1;
      if (!text.endsWith("\r\n")) return undefined;
      const outcome = line(text.slice(0, -2));
      text = "";
      if (outcome === "wrong") return undefined;
      if (outcome === "end") return data.taken(take, { at, ended: true });
    }
    return data.taken(take, { at: bytes.length, ended: false });
  };

  /** Reads the end of a chunk, or a size of digits alone, where it is here as a whole; answers where it ends, or 0. */
  function plainLine(bytes: Buffer, from: number): number {
    let [at, size] = [from, 0];
    if (expected === "size")
      for (; at - from < 6 && digit(bytes[at]) < 16; at += 1) size = size * 16 + digit(bytes[at]);
    const isPlain = expected === "data end" || (expected === "size" && size > 0);
    if (!isPlain || bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) return 0;
    missing = size;
    expected = size > 0 ? "data" : "size";
    return at + 2;
  }

  function line(said: string): "wrong" | "end" | "more" {
    switch (expected) {
      case "size": {
        const size = sizeLine.exec(said)?.[1];
        if (size === undefined) return "wrong";
        missing = Number.parseInt(size, 16);
        expected = missing === 0 ? "trailers" : "data";
        return "more";
      }
      case "data end":
        expected = "size";
        return said === "" ? "more" : "wrong";
      case "trailers":
        if (said === "") return "end";
        trailers += 1;
        return trailers <= mostTrailers && trailerLine.test(said) ? "more" : "wrong";
      case "data":
        return "wrong";
    }
  }
}

/** The value of a hexadecimal digit; 16 for anything else. */
function digit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : 16;
}

/** Parts of a buffer, moved together where they lie. */
class Moved {
  readonly #bytes: Buffer;
  #start = 0;
  #end = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  move(from: number, to: number): void {
    if (this.#end === 0) {
      this.#start = from;
      this.#end = to;
    } else {
      this.#bytes.copyWithin(this.#end, from, to);
      this.#end += to - from;
    }
  }

  /** Gives all of them, and answers what was read. */
  taken(take: (part: Buffer) => void, read: Read): Read {
    if (this.#end > this.#start) take(this.#bytes.subarray(this.#start, this.#end));
    return read;
  }
}
