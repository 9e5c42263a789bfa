import { expect, test } from "vitest";
import { nextPiece } from "../../../src/http/http1/body_pieces.ts";

const piece = (text: string) => text.slice(0, nextPiece(Buffer.from(text, "latin1")));

test.each([
  ["5\r\nhello\r\n0\r\n\r\nGET", "5\r\nhello\r\n0\r\n\r\n"],
  ["\r\n\r\n\r\n\r\n", "\r\n\r\n"],
  ["5\r\nhel", "5\r\nhel"],
  ["5\r\nhello\r\n", "5\r\nhello"],
  ["0\r\n\r", "0"],
  ["0\r", "0"],
  ["\r\n", ""],
  ["\r\r", "\r"],
  ["", ""],
])("of %j the parser is given %j", (text, expected) => {
  expect(piece(text)).toBe(expected);
});

test("wherever an empty line lies, a piece ends behind it, and nothing is lost", () => {
  const body = "0\r\n\r\n";
  for (let at = 16_370; at < 16_400; at += 1) {
    const text = `${"a".repeat(at)}${body}${"b".repeat(20_000)}`;
    const pieces: string[] = [];
    for (let rest = text; rest.length > 0; rest = rest.slice(pieces.at(-1)?.length)) {
      pieces.push(piece(rest));
      expect(pieces.at(-1)).not.toBe("");
    }
    expect(pieces.join("")).toBe(text);
    expect(pieces.filter((one) => one.endsWith("\r\n\r\n"))).toHaveLength(1);
    expect(pieces.every((one) => one.length <= 16_384)).toBe(true);
  }
});
