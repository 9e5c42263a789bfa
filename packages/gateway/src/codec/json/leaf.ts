import {
  type DescEnumValue,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import type { Violation } from "../../errors/violation.ts";

/** The reason why a value is refused. */
export type Defect = Pick<Violation, "description" | "reason">;

/** Whether a message has a special JSON form: a time, a duration, a wrapper. */
export function isWellKnown(message: DescMessage): boolean {
  return message.typeName.startsWith("google.protobuf.") && message.typeName !== "google.protobuf.Empty";
}

// protobuf-es reads "5sec" as five seconds and February 30 as March 1.
const strictMessages: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["google.protobuf.Duration", (text) => /^-?\d+(\.\d{1,9})?s$/.test(text)],
  ["google.protobuf.Timestamp", isRealTime],
  ["google.protobuf.Int64Value", isShortNumber],
  ["google.protobuf.UInt64Value", isShortNumber],
]);

// protobuf-es makes a BigInt of a string, which takes 0.4 s for four million digits.
const longScalars: readonly (ScalarType | undefined)[] = [
  ...[ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64, ScalarType.UINT64, ScalarType.FIXED64],
];

/** The check of a field's string that protobuf-es omits, if it omits one. */
export const strictCheck = ({ message, scalar }: DescField) =>
  message ? strictMessages.get(message.typeName) : longScalars.includes(scalar) ? isShortNumber : undefined;

/** Checks a leaf value by reading it with protobuf-es; undefined for a valid one. */
export function leafDefect(field: DescField, value: JsonValue): Defect | undefined {
  if (field.scalar === ScalarType.STRING && typeof value === "string")
    return value.isWellFormed() ? undefined : notUnicode;
  if (!hasRightType(field, value)) return describe(field, value);
  const check = strictCheck(field);
  if (check && typeof value === "string" && !check(value)) return describe(field, value);
  try {
    fromJson(field.parent, { [field.jsonName]: inField(field, value) });
    return undefined;
  } catch {
    return describe(field, value);
  }
}

/** Whether a value has a JSON type of its field; an error of protobuf-es costs 7 µs, and a request can hold a thousand of them. */
function hasRightType(field: DescField, value: JsonValue): boolean {
  if (field.message) return true;
  if (field.enum) return field.enum.values.some(isNamed(value)) || isInt32(value);
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return typeof value === "string";
    case ScalarType.BOOL:
      return typeof value === "boolean";
    default:
      return typeof value === "number" || typeof value === "string";
  }
}

const isNamed = (value: JsonValue) => (one: DescEnumValue) => one.name === value || one.jsonName === value;
const isInt32 = (value: JsonValue) => typeof value === "number" && (value | 0) === value;

const notUnicode: Defect = { description: "must be well-formed Unicode", reason: "STRING_UNICODE" };

const wellKnownZeros: Readonly<Record<string, JsonValue>> = {
  "google.protobuf.Timestamp": "1970-01-01T00:00:00Z",
  "google.protobuf.Duration": "0s",
};

/** A valid value in place of an unreadable list item. */
export function placeholder(field: DescField): JsonValue {
  if (field.message) return wellKnownZeros[field.message.typeName] ?? {};
  if (field.enum) return field.enum.values[0]?.number ?? 0;
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return "";
    case ScalarType.BOOL:
      return false;
    default:
      return 0;
  }
}

function inField(field: DescField, value: JsonValue): JsonValue {
  switch (field.fieldKind) {
    case "list":
      return [value];
    case "map":
      return { [field.mapKey === ScalarType.STRING ? "key" : "0"]: value };
    default:
      return value;
  }
}

function describe(field: DescField, value: JsonValue): Defect {
  if (field.enum && typeof value === "string") {
    const names = field.enum.values.map(({ name }) => name).join(", ");
    return { description: `must be one of ${names}`, reason: "ENUM_DEFINED_ONLY" };
  }
  if (field.message) return { description: wellKnownForm(field.message), reason: "WRONG_TYPE" };
  if (field.enum) return { description: "must be the name or the number of an enum value", reason: "WRONG_TYPE" };
  const [form, reason] = scalarForm(field.scalar ?? ScalarType.STRING, value);
  return { description: `must be ${form}`, reason };
}

function wellKnownForm({ typeName }: DescMessage): string {
  switch (typeName) {
    case "google.protobuf.Timestamp":
      return 'must be a time as in "2030-01-31T12:00:00Z"';
    case "google.protobuf.Duration":
      return 'must be a duration in seconds as in "5s"';
    case "google.protobuf.FieldMask":
      return 'must be field names separated by commas as in "name,displayName"';
    default:
      return `must be the JSON of a ${typeName}`;
  }
}

const ranges: Partial<Record<ScalarType, string>> = {
  [ScalarType.INT32]: "from -2147483648 to 2147483647",
  [ScalarType.UINT32]: "from 0 to 4294967295",
  [ScalarType.INT64]: "of 64 bits",
  [ScalarType.UINT64]: "of 64 bits, not negative",
};
const rangeOf: Partial<Record<ScalarType, ScalarType>> = {
  [ScalarType.SINT32]: ScalarType.INT32,
  [ScalarType.SFIXED32]: ScalarType.INT32,
  [ScalarType.FIXED32]: ScalarType.UINT32,
  [ScalarType.SINT64]: ScalarType.INT64,
  [ScalarType.SFIXED64]: ScalarType.INT64,
  [ScalarType.FIXED64]: ScalarType.UINT64,
};

function scalarForm(scalar: ScalarType, value: JsonValue): [form: string, reason: string] {
  switch (scalar) {
    case ScalarType.STRING:
      return ["a string", "WRONG_TYPE"];
    case ScalarType.BOOL:
      return ["true or false", "WRONG_TYPE"];
    case ScalarType.BYTES:
      return ["a base64 string", "WRONG_TYPE"];
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return ["a number", isWhole(value) ? "OUT_OF_RANGE" : "WRONG_TYPE"];
    default: {
      const range = ranges[rangeOf[scalar] ?? scalar] ?? "";
      return [`a whole number ${range}`, isWhole(value) ? "OUT_OF_RANGE" : "WRONG_TYPE"];
    }
  }
}

const isWhole = (value: JsonValue) => (typeof value === "string" ? /^-?\d+$/.test(value) : Number.isInteger(value));

// 64 bits are at most 20 digits with a sign.
function isShortNumber(text: string): boolean {
  return text.length <= 100;
}

function isRealTime(text: string): boolean {
  const date = /^(\d{4})-(\d\d)-(\d\d)T/.exec(text);
  if (!date) return false;
  const [year, month, day] = [Number(date[1]), Number(date[2]), Number(date[3])];
  // Day 0 of the next month is the last day of this one; the Gregorian calendar repeats after 400 years.
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}
