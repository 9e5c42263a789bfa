import { ScalarType } from "@bufbuild/protobuf";
import type { BinaryWriter } from "@bufbuild/protobuf/wire";

/** Writes a value, without its tag; throws for a value that is not of the expected type. */
export type WriteValue = (writer: BinaryWriter, value: unknown) => void;

/** Thrown for values that are left to `toBinary`: wrong ones, and those that it converts. */
export const notExpected = new TypeError("a value of another type");

/** Returns the function that writes values of a scalar type. */
export const scalarWriter = (type: ScalarType): WriteValue => writers[type];

const writers = {
  [ScalarType.DOUBLE]: (writer, value) => writer.double(numberIn(value)),
  [ScalarType.FLOAT]: (writer, value) => writer.float(numberIn(value)),
  [ScalarType.INT64]: (writer, value) => writer.int64(bigintIn(value)),
  [ScalarType.UINT64]: (writer, value) => writer.uint64(bigintIn(value)),
  [ScalarType.INT32]: (writer, value) => writer.int32(numberIn(value)),
  [ScalarType.FIXED64]: (writer, value) => writer.fixed64(bigintIn(value)),
  [ScalarType.FIXED32]: (writer, value) => writer.fixed32(numberIn(value)),
  [ScalarType.BOOL]: (writer, value) => writer.bool(booleanIn(value)),
  [ScalarType.STRING]: (writer, value) => writer.string(stringIn(value)),
  [ScalarType.BYTES]: (writer, value) => writer.bytes(bytesIn(value)),
  [ScalarType.UINT32]: (writer, value) => writer.uint32(numberIn(value)),
  [ScalarType.SFIXED32]: (writer, value) => writer.sfixed32(numberIn(value)),
  [ScalarType.SFIXED64]: (writer, value) => writer.sfixed64(bigintIn(value)),
  [ScalarType.SINT32]: (writer, value) => writer.sint32(numberIn(value)),
  [ScalarType.SINT64]: (writer, value) => writer.sint64(bigintIn(value)),
} satisfies Record<ScalarType, WriteValue>;

function numberIn(value: unknown): number {
  if (typeof value !== "number") throw notExpected;
  return value;
}

function bigintIn(value: unknown): bigint {
  if (typeof value !== "bigint") throw notExpected;
  return value;
}

function booleanIn(value: unknown): boolean {
  if (typeof value !== "boolean") throw notExpected;
  return value;
}

function stringIn(value: unknown): string {
  if (typeof value !== "string") throw notExpected;
  return value;
}

function bytesIn(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw notExpected;
  return value;
}
