import { expect, test } from "vitest";
import { bodyReader } from "../../../src/http/http1/body.ts";

/** Reads bytes in pieces of a size; answers the body and what is left, or that it is wrong or not at its end. */
function read(body: number | "chunked", text: string, size: number): { body: string; rest: string } | "wrong" | "more" {
  const reader = bodyReader({ body });
  const bytes = Buffer.from(text, "latin1");
  let taken = "";
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    const found = reader(piece, 0, (part) => {
      taken += part.toString("latin1");
    });
    if (!found) return "wrong";
    if (found.ended) return { body: taken, rest: bytes.subarray(at + found.at).toString("latin1") };
    expect(found.at).toBe(piece.length);
  }
  return "more";
}

const sizes = [1, 2, 3, 7, 1000];

test.each(sizes)("a body of a known length ends there, in pieces of %i", (size) => {
  expect(read(5, "helloGET", size)).toEqual({ body: "hello", rest: "GET" });
  expect(read(9, "helloGET", size)).toBe("more");
});

test.each(sizes)("chunks are joined, their extensions and trailers left out, in pieces of %i", (size) => {
  const text = '5;a="b;c"\r\nhello\r\n00B\r\n, \r\nworld\r\n\r\n0\r\nx-trailer: 1\r\n\r\nGET';
  expect(read("chunked", text, size)).toEqual({ body: "hello, \r\nworld\r\n", rest: "GET" });
  expect(read("chunked", "0\r\n\r\n", size)).toEqual({ body: "", rest: "" });
  expect(read("chunked", "5\r\nhel", size)).toBe("more");
});

const wrong = [
  ...["\r\n", "5\nhello\r\n0\r\n\r\n", "g\r\n", "-5\r\n", "0x5\r\nhello\r\n", "+5\r\nhello\r\n", " 5\r\nhello\r\n"],
  ...["5\r\nhelloX\r\n", "5\r\nhello\n0\r\n\r\n", "123456789\r\n", "5 5\r\nhello\r\n", "0\r\nnot a header\r\n\r\n"],
  ...["0\r\n folded: 1\r\n\r\n", `5;${"a".repeat(300)}\r\n`, `0\r\n${"a: b\r\n".repeat(65)}\r\n`, "5\r\r\nhello\r\n"],
];

test.each(wrong)("%j is wrong, however it comes", (text) => {
  for (const size of sizes) expect(read("chunked", text, size)).toBe("wrong");
});
