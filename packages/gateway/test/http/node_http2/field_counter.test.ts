import { expect, test } from "vitest";
import { Decoder } from "../../../src/http/http2/hpack/decoder.ts";
import { FieldCounter } from "../../../src/http/node_http2/field_counter.ts";
import { BlockEncoder, oddLine, requestFields } from "../http2/fuzz/field_block.ts";
import { seeded } from "../http2/seeded.ts";

/** How many fields a block has; undefined for one that cannot be read. */
function decoded(decoder: Decoder, bytes: Buffer): number | undefined {
  let count = 0;
  const add = () => {
    count += 1;
  };
  try {
    decoder.decode(bytes, { start: 0, end: bytes.length }, { add });
    return count;
  } catch {
    return undefined;
  }
}

test("as many fields are counted as decoded, in whatever form, and wherever the block is cut", () => {
  const draw = seeded(9113);
  let blocks = 0;
  for (let round = 0; round < 500; round += 1) {
    const [encoder, decoder, counter] = [new BlockEncoder(draw), new Decoder(), new FieldCounter()];
    for (let more = 0; more < 10; more += 1) {
      const lines = [encoder.encode(requestFields(draw, 5)), ...(draw(3) === 0 ? [oddLine(draw)] : [])];
      const bytes = Buffer.concat(lines);
      const count = decoded(decoder, bytes);
      // The connection ends with a block that cannot be read.
      if (count === undefined) break;
      counter.begin();
      for (let at = 0, end = 0; at < bytes.length; at = end) {
        end = Math.min(bytes.length, at + 1 + draw(20));
        counter.scan(bytes, at, end);
      }
      expect(counter.count, bytes.toString("hex")).toBe(count);
      blocks += 1;
    }
  }
  expect(blocks).toBeGreaterThan(1000);
});

test("an integer that goes on and on is refused", () => {
  const counter = new FieldCounter();
  const endless = Buffer.from([0xff, 0x80, 0x80, 0x80, 0x80, 0x00]);
  expect(() => counter.scan(endless, 0, endless.length)).toThrow("an integer that is too large");
  counter.begin();
  counter.scan(Buffer.of(0x82), 0, 1);
  expect(counter.count).toBe(1);
});
