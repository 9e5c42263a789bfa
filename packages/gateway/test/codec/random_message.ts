import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { isWrapperDesc, FeatureSet_FieldPresence as Presence, StructSchema } from "@bufbuild/protobuf/wkt";

/** Returns a whole number below a bound. */
export type Random = (bound: number) => number;

/** Options of random messages: `wild` ones have wrong values too. */
export type RandomOptions = { readonly random: Random; readonly isWild: boolean };

type Made = RandomOptions & { readonly depth: number };

/** Makes a message with random values in some of its fields, and with unknown fields. */
export function randomMessage(type: DescMessage, options: RandomOptions): Message {
  return messageOf(type, { ...options, depth: 0 });
}

const fieldsSet = 5;

function messageOf(type: DescMessage, made: Made): Message {
  const { random, depth } = made;
  const message = create(type);
  for (const field of type.fields) {
    const isNeeded = field.presence === Presence.LEGACY_REQUIRED;
    // A few of many fields, so that messages stay small.
    if (!isNeeded && random(type.fields.length) >= fieldsSet) continue;
    if (field.message && depth > 2) continue;
    const value = fieldValue(field, made);
    if (field.oneof) Reflect.set(message, field.oneof.localName, { case: field.localName, value });
    else Reflect.set(message, field.localName, value);
  }
  if (random(8) === 0) message.$unknown = [{ no: 1 + random(2 ** 20), wireType: WireType.Bit32, data: bytes(made, 4) }];
  return message;
}

function fieldValue(field: DescField, made: Made): unknown {
  const { random } = made;
  if (made.isWild && random(40) === 0) return pick(wrong, random);
  switch (field.fieldKind) {
    case "list":
      return Array.from({ length: random(3) }, () => itemValue(field, made));
    case "map":
      return Object.fromEntries(
        Array.from({ length: random(3) }, () => [keyOf(field.mapKey, made), itemValue(field, made)]),
      );
    default:
      return singularValue(field, made);
  }
}

function singularValue(field: DescField, made: Made): unknown {
  const { message } = field;
  if (message && !field.oneof && isWrapperDesc(message)) return scalarValue(message.fields[0].scalar, made);
  return itemValue(field, made);
}

function itemValue(field: DescField, made: Made): unknown {
  const { message, scalar, parent } = field;
  if (made.isWild && made.random(40) === 0) return pick(wrong, made.random);
  if (message) {
    const isJson = message.typeName === StructSchema.typeName && parent.typeName !== "google.protobuf.Value";
    return isJson
      ? { text: "a", list: [1, null, { inner: true }] }
      : messageOf(message, { ...made, depth: made.depth + 1 });
  }
  if (scalar === undefined) return pick([0, 1, 2, -1, 2 ** 31 - 1], made.random);
  const value = scalarValue(scalar, made);
  return "longAsString" in field && field.longAsString ? String(value) : value;
}

const signed32 = [0, -0, 1, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)];
const unsigned32 = [0, 1, 127, 128, 16_384, 2 ** 32 - 1];
const signed64 = [0n, 1n, -1n, 127n, 128n, 2n ** 31n, 2n ** 32n, 2n ** 63n - 1n, -(2n ** 63n)];
const unsigned64 = [0n, 1n, 128n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n];
const doubles = [0, -0, 1.5, -1e300, Number.NaN, Infinity, -Infinity, Number.MIN_VALUE];
const floats = [0, -0, 1.5, Number.NaN, Infinity, -Infinity, 3.4e38];
const texts = ["", "a", "ü", "€uro", "😀", "\ud800", "\0", "x".repeat(127), "x".repeat(128), "ä".repeat(300)];

// Values of another type, out of range, or of a message of another type.
const wrong: readonly unknown[] = [
  ...[
    undefined,
    null,
    "",
    "7",
    "text",
    1.5,
    -1,
    2 ** 32,
    2 ** 53,
    Number.NaN,
    0n,
    2n ** 64n,
    -(2n ** 63n) - 1n,
    true,
    false,
  ],
  ...[
    {},
    [],
    [undefined],
    { case: "unknown" },
    { $typeName: "other.Message" },
    new Uint8Array(2),
    new Map(),
    Symbol("wrong"),
  ],
];

function scalarValue(type: ScalarType, made: Made): unknown {
  switch (type) {
    case ScalarType.DOUBLE:
      return pick(doubles, made.random);
    case ScalarType.FLOAT:
      return pick(floats, made.random);
    case ScalarType.BOOL:
      return made.random(2) === 0;
    case ScalarType.STRING:
      return pick(texts, made.random);
    case ScalarType.BYTES:
      return bytes(made, pick([0, 1, 127, 128, 300], made.random));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return pick(unsigned32, made.random);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return pick(signed32, made.random);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return pick(unsigned64, made.random);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return pick(signed64, made.random);
  }
}

const keyOf = (type: ScalarType, made: Made) =>
  String(made.isWild ? pick(wrong.slice(0, 8), made.random) : scalarValue(type, made));

const bytes = ({ random }: Made, length: number) => Uint8Array.from({ length }, () => random(256));

function pick<T>(from: readonly T[], random: Random): T {
  const one = from[random(from.length)];
  return one as T;
}
