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

/** RFC 9112, 7.1. */
function chunkedReader(): BodyReader {
  let expected: "size" | "data" | "data end" | "trailers" = "size";
  let text = "";
  let missing = 0;
  let trailers = 0;

  return (bytes, from, take) => {
    let at = from;
    while (at < bytes.length) {
      if (expected === "data") {
        const end = Math.min(bytes.length, at + missing);
        take(bytes.subarray(at, end));
        missing -= end - at;
        at = end;
        if (missing === 0) expected = "data end";
        continue;
      }
      const end = bytes.indexOf(0x0a, at);
      text += bytes.toString("latin1", at, end < 0 ? bytes.length : end + 1);
      if (text.length > longestLine) return undefined;
      if (end < 0) return { at: bytes.length, ended: false };
      at = end + 1;
      if (!text.endsWith("\r\n")) return undefined;
      const outcome = line(text.slice(0, -2));
      text = "";
      if (outcome === "wrong") return undefined;
      if (outcome === "end") return { at, ended: true };
    }
    return { at, ended: false };
  };

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
