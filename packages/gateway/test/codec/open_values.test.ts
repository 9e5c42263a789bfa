import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { openValuesInBinary, openValuesInJson } from "../../src/codec/open_values.ts";
import { GatewayError } from "../../src/errors/gateway_error.ts";

const binary = (value: JsonObject) => toBinary(StructSchema, fromJson(StructSchema, value));
const countBinary = (bytes: Uint8Array, most = 1000) => openValuesInBinary(new BinaryReader(bytes), bytes.length, most);

const deep = (depth: number): Uint8Array<ArrayBuffer> => {
  const inside = (field: number, bytes: Uint8Array) =>
    new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish();
  let bytes = new Uint8Array();
  for (let level = 0; level < depth; level += 1) bytes = inside(1, inside(2, inside(5, bytes)));
  return bytes;
};

describe("the values in an open object", () => {
  // In the binary format a key counts as a value.
  test.each([
    [{}, 0, 0],
    [{ a: 1 }, 1, 2],
    [{ a: null, b: [true, "c", { d: [] }] }, 6, 9],
  ])("%j", (value: JsonObject, inJson, inBinary) => {
    expect(openValuesInJson(value, 1000)).toBe(inJson);
    const counted = countBinary(binary(value));
    expect(counted).toBeGreaterThanOrEqual(inJson);
    expect(counted).toBeLessThanOrEqual(2 * inBinary);
  });

  test("are counted up to one too many", () => {
    const many = { a: new Array(500).fill(0) };
    expect(openValuesInJson(many, 100)).toBeGreaterThan(100);
    expect(countBinary(binary(many), 100)).toBeGreaterThan(100);
    expect(countBinary(binary(many), 100)).toBeLessThan(110);
  });

  test("that nest too deep are refused, and those nested in JSON take no stack", () => {
    const nested = (depth: number): JsonObject => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
    expect(countBinary(binary(nested(90)))).toBeGreaterThan(90);
    expect(() => countBinary(deep(200))).toThrow(GatewayError);
    expect(openValuesInJson(nested(5_000), 10_000)).toBe(5_000);
  });

  test("count fields that nobody knows", () => {
    const writer = new BinaryWriter();
    for (let at = 0; at < 300; at += 1) writer.tag(9, WireType.Varint).uint32(1);
    expect(countBinary(writer.finish())).toBe(300);
  });
});
