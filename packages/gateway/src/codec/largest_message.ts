import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { type FieldBounds, validateBounds } from "./field_bounds.ts";
import { isWellKnown } from "./json/leaf.ts";

/** The maximum size of a message by its field rules. */
export type Largest = {
  /** Bytes in the binary format. */
  readonly binary: number;
  /** Bytes as JSON, indented by four spaces and with every character escaped. */
  readonly json: number;
  /** The number of fields and list items, including nested ones. */
  readonly values: number;
  /** The same, without the items of top-level lists. */
  readonly ownValues: number;
  /** The path of the first unbounded field. */
  readonly unbounded?: string | undefined;
};

/** Computes the largest message of a type that its rules allow. */
export const largestMessage = (type: DescMessage, bounds: FieldBounds = validateBounds): Largest =>
  largestOf(type, { outer: [], bounds });

const none: Largest = { binary: 0, json: 0, values: 0, ownValues: 0 };
const infinite = Number.POSITIVE_INFINITY;
const unbounded: Largest = { ...none, binary: infinite, json: infinite };
const uncounted: Largest = { ...unbounded, values: infinite, ownValues: infinite };

const sum = (a: Largest, b: Largest): Largest => ({
  binary: a.binary + b.binary,
  json: a.json + b.json,
  values: a.values + b.values,
  ownValues: a.ownValues + b.ownValues,
  unbounded: a.unbounded ?? b.unbounded,
});

type Scope = { readonly outer: readonly DescField[]; readonly bounds: FieldBounds };

function largestOf(type: DescMessage, { outer, bounds }: Scope): Largest {
  const fields = type.fields.map((field) => inMessage(field, { outer: [...outer, field], bounds }));
  // Braces, with a line break before the closing one.
  return fields.reduce(sum, { ...none, json: 2 + newLine(outer.length) });
}

/** A field with its name. */
function inMessage(field: DescField, scope: Scope): Largest {
  const { outer: path } = scope;
  const one = sizeOf(field, scope);
  const many = field.fieldKind === "list" ? listOf(field, one, scope) : one;
  const name = Math.max(field.name.length, field.jsonName.length);
  const isUnbounded = many.unbounded === undefined && !Number.isFinite(many.binary + many.json);
  return {
    binary: field.fieldKind === "list" ? many.binary : recordOf(many.binary),
    json: newLine(path.length) + name + '"": ,'.length + many.json,
    values: 1 + many.values,
    ownValues: 1 + (field.fieldKind === "list" ? 0 : many.values),
    unbounded: isUnbounded ? path.map((step) => step.name).join(".") : many.unbounded,
  };
}

function listOf(field: DescField, item: Largest, { outer, bounds }: Scope): Largest {
  const depth = outer.length;
  const maxItems = bounds.items(field);
  const json = maxItems * (newLine(depth + 1) + item.json + 1);
  const values = Math.min(maxItems * (1 + item.values), maxItems * (1 + item.ownValues) + bounds.innerItems(field));
  return { ...item, binary: maxItems * recordOf(item.binary), json: json + newLine(depth) + 2, values };
}

function sizeOf(field: DescField, scope: Scope): Largest {
  const { outer: path, bounds } = scope;
  if (field.fieldKind === "map") return uncounted;
  if (field.enum) return { ...none, ...enumSize(field.enum.values.map(({ name }) => name)) };
  if (!field.message) return { ...none, ...scalarSize(field, bounds) };
  if (isWellKnown(field.message)) return { ...none, ...(wellKnownSizes[field.message.typeName] ?? uncounted) };
  const isInside = path.slice(0, -1).some((step) => step.message === field.message);
  return isInside ? uncounted : largestOf(field.message, scope);
}

type Size = Pick<Largest, "binary" | "json">;

// A negative 32-bit number takes ten bytes; JSON numbers may be quoted.
const enumSize = (names: readonly string[]): Size => ({
  binary: 10,
  json: Math.max('"-2147483648"'.length, ...names.map((name) => name.length + 2)),
});

const wellKnownSizes: Readonly<Record<string, Size & { readonly values: number }>> = {
  "google.protobuf.Timestamp": { binary: 22, json: '"9999-12-31T23:59:59.999999999+00:00"'.length, values: 2 },
  "google.protobuf.Duration": { binary: 22, json: '"-315576000000.999999999s"'.length, values: 2 },
  // Its paths have no bounds of their own: assumes 64 of 62 characters.
  "google.protobuf.FieldMask": { binary: 4096, json: 4098, values: 65 },
  // Its values are counted separately, for the whole message: open_values.ts.
  "google.protobuf.Struct": { binary: infinite, json: infinite, values: 0 },
};

function scalarSize(field: DescField, bounds: FieldBounds): Size {
  switch (field.scalar) {
    case ScalarType.STRING:
      return textSize(bounds.texts(field));
    case ScalarType.BYTES:
      return unbounded;
    case ScalarType.BOOL:
      return { binary: 1, json: "false".length };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { binary: 8, json: '"-1.7976931348623157e+308"'.length };
    default:
      return { binary: 10, json: '"-9223372036854775808"'.length };
  }
}

// A character takes up to four bytes in UTF-8, and twelve if JSON escapes it as a surrogate pair: \ud83d\ude00.
function textSize(texts: number | readonly string[]): Size {
  if (typeof texts === "number") return { binary: 4 * texts, json: 2 + 12 * texts };
  return {
    binary: Math.max(...texts.map((text) => Buffer.byteLength(text))),
    json: Math.max(...texts.map((text) => 2 + 6 * text.length)),
  };
}

/** A value in the binary format, with its tag and its length of at most five bytes each. */
const recordOf = (bytes: number) => 5 + 5 + bytes;

const newLine = (depth: number) => 1 + 4 * depth;
