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
export type Defect = Omit<Violation, "field">;

/** Whether a message has a special JSON form, such as a timestamp, duration or wrapper. */
export function isWellKnown(message: DescMessage): boolean {
  return message.typeName.startsWith("google.protobuf.") && message.typeName !== "google.protobuf.Empty";
}

// protobuf-es accepts "5sec" as five seconds, and February 30 as March 1.
const strictMessages: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["google.protobuf.Duration", (text) => /^-?\d+(\.\d{1,9})?s$/.test(text)],
  ["google.protobuf.Timestamp", isRealTime],
  ["google.protobuf.Int64Value", isShortNumber],
  ["google.protobuf.UInt64Value", isShortNumber],
]);

// protobuf-es converts a string to a BigInt, which takes 0.4 s for four million digits.
const longScalars: readonly (ScalarType | undefined)[] = [
  ...[ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64, ScalarType.UINT64, ScalarType.FIXED64],
];

/** The check that protobuf-es omits for a field's string, if any. */
export const strictCheck = ({ message, scalar }: DescField) =>
  message ? strictMessages.get(message.typeName) : longScalars.includes(scalar) ? isShortNumber : undefined;

/** Checks a leaf value by reading it with protobuf-es; undefined if it is valid. */
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

/** Whether a value has an acceptable JSON type: an error from protobuf-es costs 7 µs, and a request can contain a thousand of them. */
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

const notUnicode: Defect = { text: "TEXT_UNICODE", reason: "STRING_UNICODE" };

const wellKnownZeros: Readonly<Record<string, JsonValue>> = {
  "google.protobuf.Timestamp": "1970-01-01T00:00:00Z",
  "google.protobuf.Duration": "0s",
};

/** A valid value to stand in for an unreadable list item. */
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
    return { text: "VALUE_ENUM", params: { names }, reason: "ENUM_DEFINED_ONLY" };
  }
  if (field.message) return { ...wellKnownForm(field.message), reason: "WRONG_TYPE" };
  if (field.enum) return { text: "VALUE_ENUM_FORM", reason: "WRONG_TYPE" };
  const form = scalarForm(field.scalar ?? ScalarType.STRING);
  return { ...form, reason: isNumber(form) && isWhole(value) ? "OUT_OF_RANGE" : "WRONG_TYPE" };
}

/** The form that a value must have. */
type Form = Pick<Violation, "text" | "params">;

function wellKnownForm({ typeName }: DescMessage): Form {
  switch (typeName) {
    case "google.protobuf.Timestamp":
      return { text: "VALUE_TIME" };
    case "google.protobuf.Duration":
      return { text: "VALUE_DURATION" };
    case "google.protobuf.FieldMask":
      return { text: "VALUE_FIELD_MASK" };
    default:
      return { text: "VALUE_JSON_OF", params: { type: typeName } };
  }
}

const whole32: Form = { text: "VALUE_WHOLE", params: { min: -2147483648, max: 2147483647 } };
const whole32Positive: Form = { text: "VALUE_WHOLE", params: { min: 0, max: 4294967295 } };

function scalarForm(scalar: ScalarType): Form {
  switch (scalar) {
    case ScalarType.STRING:
      return { text: "VALUE_STRING" };
    case ScalarType.BOOL:
      return { text: "VALUE_BOOLEAN" };
    case ScalarType.BYTES:
      return { text: "VALUE_BASE64" };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { text: "VALUE_NUMBER" };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return whole32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return whole32Positive;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { text: "VALUE_WHOLE_64_POSITIVE" };
    default:
      return { text: "VALUE_WHOLE_64" };
  }
}

const isNumber = ({ text }: Form) => text === "VALUE_NUMBER" || text.startsWith("VALUE_WHOLE");
const isWhole = (value: JsonValue) => (typeof value === "string" ? /^-?\d+$/.test(value) : Number.isInteger(value));

// A 64-bit number has at most 20 characters, including its sign.
function isShortNumber(text: string): boolean {
  return text.length <= 100;
}

function isRealTime(text: string): boolean {
  const date = /^(\d{4})-(\d\d)-(\d\d)T/.exec(text);
  if (!date) return false;
  const [year, month, day] = [Number(date[1]), Number(date[2]), Number(date[3])];
  // Day 0 of the next month is the last day of this one. The Gregorian calendar repeats every 400 years.
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}
