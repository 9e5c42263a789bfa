import { expect, test } from "vitest";
import { HeaderBlockCache } from "../../../src/http/http2/header_blocks.ts";
import { block, plain } from "./peer.ts";

const reading = () => {
  const blocks = new HeaderBlockCache({ headersMaxBytes: 4096 });
  return (bytes: Buffer) => blocks.request({ bytes, start: 0, end: bytes.length });
};

// RFC 7541, 6.2.1: a literal that is remembered, of a name and a value of one character each.
const remembered = (name: string, value: string) =>
  Buffer.concat([Buffer.of(0x40, 1), Buffer.from(name), Buffer.of(1), Buffer.from(value)]);
const newest = Buffer.of(0xbe);

test("the same bytes are understood at once", () => {
  const read = reading();
  const bytes = block([...plain, ["x-a", "b"]]);
  const first = read(bytes);
  expect(first?.fields).toMatchObject({ ":path": "/", "x-a": "b" });
  expect(read(Buffer.from(bytes))).toBe(first);
  expect(Object.isFrozen(first?.fields)).toBe(true);
});

test("the same bytes mean something else once the table is another", () => {
  const read = reading();
  const again = Buffer.concat([block(plain), newest]);
  read(Buffer.concat([block(plain), remembered("a", "1")]));
  expect(read(again)?.fields.a).toBe("1");
  expect(read(again)?.fields.a).toBe("1");
  // Malformed, and remembered all the same.
  expect(read(remembered("b", "2"))).toBeUndefined();
  const changed = read(again)?.fields;
  expect([changed?.a, changed?.b]).toEqual([undefined, "2"]);
});

test("a block that changes the table is decoded each time", () => {
  const read = reading();
  const bytes = Buffer.concat([block(plain), remembered("a", "1")]);
  expect(read(bytes)).not.toBe(read(bytes));
  expect(read(Buffer.concat([block(plain), Buffer.of(0xbf)]))?.fields.a).toBe("1");
});

test("more different blocks than are kept are all understood", () => {
  const read = reading();
  for (let round = 0; round < 3; round += 1)
    for (let index = 0; index < 40; index += 1)
      expect(read(block([...plain, ["x", String(index)]]))?.fields.x).toBe(String(index));
});
