import { expect, test } from "vitest";
import { jsonFault } from "../../src/codec/json/fault.ts";
import { seeded } from "../http/http2/seeded.ts";

test.each([
  ['{"name":"a",}', "}", 1, 13],
  ["", undefined, 1, 1],
  ['{"a":1', undefined, 1, 7],
  ['{"a" 1}', "1", 1, 6],
  ["[1,]", "]", 1, 4],
  ["[1 2]", "2", 1, 4],
  ["{,}", ",", 1, 2],
  ['{"a":\n  nul}', "n", 2, 3],
  ['{"a":1}\n}', "}", 2, 1],
  ['"a\\x"', "x", 1, 4],
  ['"a\nb"', "\n", 1, 3],
  ['"\\u12g4"', "u", 1, 3],
  ['"ab', undefined, 1, 4],
  ["01", "1", 1, 2],
  ["-", "-", 1, 1],
  ['{"é":"😀" 😀}', "😀", 1, 10],
  ["\u00a0{}", "\u00a0", 1, 1],
  ["{]", "]", 1, 2],
  ["[}", "}", 1, 2],
])("%j has its fault at %j, line %i, column %i", (text, found, line, column) => {
  expect(jsonFault(text)).toMatchObject({ found, line, column });
});

test("a text has a fault exactly when JSON.parse refuses it", () => {
  const next = seeded(7);
  const pieces = [
    '{"a":1}',
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"',
    "\\",
    "true",
    "null",
    "-1.5e3",
    " ",
    "\n",
    "\u0001",
    "\u0085",
    "é",
    "1",
    '"b"',
  ];
  let broken = 0;
  for (let round = 0; round < 20_000; round += 1) {
    let text = "";
    for (let length = next(9); length >= 0; length -= 1) text += pieces[next(pieces.length)];
    expect([text, jsonFault(text) !== undefined]).toEqual([text, !isJson(text)]);
    if (!isJson(text)) broken += 1;
  }
  expect(broken).toBeGreaterThan(1000);
});

test("a text that nests a million levels is looked through", () => {
  expect(jsonFault("[".repeat(1_000_000))).toMatchObject({ found: undefined, column: 1_000_001 });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
