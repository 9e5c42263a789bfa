import { type DescField, type DescMessage, isMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isWrapperDesc, FeatureSet_FieldPresence as Presence, StructSchema } from "@bufbuild/protobuf/wkt";
import { notExpected, scalarWriter, type WriteValue } from "./scalar_writer.ts";
import { wireTypeOf } from "./wire_type.ts";

/** Makes the function that writes the fields of a message; undefined for a type that is left to `toBinary`. */
export function messageWriter(type: DescMessage): WriteValue | undefined {
  return isWritable(type, new Set()) ? writerOf(type, new Map()) : undefined;
}

/** Whether all fields of a type, at any depth, can be written here. */
function isWritable(type: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(type)) return true;
  seen.add(type);
  return type.fields.every((field) => !isRare(field) && (!field.message || isWritable(field.message, seen)));
}

/** Whether few contracts have such a field: a required one, a group, or one whose value is not represented as such. */
function isRare(field: DescField): boolean {
  const { message } = field;
  if (field.presence === Presence.LEGACY_REQUIRED) return true;
  if (field.fieldKind === "map" && field.mapKey !== ScalarType.STRING) return true;
  if (!message) return "longAsString" in field && field.longAsString;
  return field.delimitedEncoding || isWrapperDesc(message) || message.typeName === StructSchema.typeName;
}

type Writers = Map<DescMessage, WriteValue>;
type WriteField = (writer: BinaryWriter, message: Message) => void;

function writerOf(type: DescMessage, writers: Writers): WriteValue {
  const existing = writers.get(type);
  if (existing) return existing;
  const fields: WriteField[] = [];
  const write: WriteValue = (writer, message) => {
    if (!isMessage(message, type)) throw notExpected;
    for (const writeField of fields) writeField(writer, message);
    if (message.$unknown) for (const { no, wireType, data } of message.$unknown) writer.tag(no, wireType).raw(data);
  };
  // Set before its fields are visited, which may contain messages of this type.
  writers.set(type, write);
  for (const field of type.fields.toSorted((a, b) => a.number - b.number)) fields.push(fieldWriter(field, writers));
  return write;
}

function fieldWriter(field: DescField, writers: Writers): WriteField {
  switch (field.fieldKind) {
    case "list":
      return listWriter(field, writers);
    case "map":
      return mapWriter(field, writers);
    default:
      return singularWriter(field, taggedWriter(field.number, field, writers));
  }
}

type Singular = Extract<DescField, { fieldKind: "scalar" | "enum" | "message" }>;

function singularWriter(field: Singular, write: WriteValue): WriteField {
  const { localName, oneof } = field;
  if (oneof)
    return (writer, message) => {
      const chosen = fieldIn(message, oneof.localName);
      if (!isOneof(chosen)) throw notExpected;
      if (chosen.case === localName) write(writer, chosen.value);
    };
  if (field.presence === Presence.IMPLICIT) {
    const isZero = zeroOf(field);
    return (writer, message) => {
      const value = fieldIn(message, localName);
      if (!isZero(value)) write(writer, value);
    };
  }
  return (writer, message) => {
    const value = fieldIn(message, localName);
    // Defaults of proto2 are properties of the prototype.
    if (value !== undefined && Object.hasOwn(message, localName)) write(writer, value);
  };
}

const isOneof = (value: unknown): value is { readonly case: unknown; readonly value?: unknown } =>
  typeof value === "object" && value !== null && "case" in value;

/** Whether a value is the default of its field, which is not written. */
function zeroOf({ scalar, enum: type }: Singular): (value: unknown) => boolean {
  switch (scalar) {
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      // -0 is written.
      return (value) => Object.is(value, 0);
    case ScalarType.BYTES:
      return (value) => value instanceof Uint8Array && value.length === 0;
    default: {
      const zero = scalar === undefined ? type?.values[0]?.number : scalarZeroValue(scalar, false);
      return (value) => value === zero;
    }
  }
}

function listWriter(field: Extract<DescField, { fieldKind: "list" }>, writers: Writers): WriteField {
  const { localName, number } = field;
  if (field.packed) {
    const write = valueWriter(field, writers);
    return (writer, message) => {
      const items = itemsOf(message, localName);
      if (items.length === 0) return;
      writer.tag(number, WireType.LengthDelimited).fork();
      for (const item of items) write(writer, item);
      writer.join();
    };
  }
  const write = taggedWriter(number, field, writers);
  return (writer, message) => {
    for (const item of itemsOf(message, localName)) write(writer, item);
  };
}

/** A map is a list of entries with a key and a value. */
function mapWriter(field: Extract<DescField, { fieldKind: "map" }>, writers: Writers): WriteField {
  const { localName, number } = field;
  const write = taggedWriter(2, field, writers);
  return (writer, message) => {
    const entries = fieldIn(message, localName);
    if (typeof entries !== "object" || entries === null) throw notExpected;
    for (const [key, value] of Object.entries(entries)) {
      writer.tag(number, WireType.LengthDelimited).fork();
      writer.tag(1, WireType.LengthDelimited).string(key);
      write(writer, value);
      writer.join();
    }
  };
}

/** Writes a value with its tag. */
function taggedWriter(number: number, field: DescField, writers: Writers): WriteValue {
  const write = valueWriter(field, writers);
  const tag = (number << 3) | (field.message ? WireType.LengthDelimited : wireTypeOf(field.scalar ?? ScalarType.INT32));
  return (writer, value) => {
    writer.uint32(tag >>> 0);
    write(writer, value);
  };
}

/** Writes a value without its tag; a message with its length. */
function valueWriter({ message, scalar }: DescField, writers: Writers): WriteValue {
  // An enum is written as int32.
  if (!message) return scalarWriter(scalar ?? ScalarType.INT32);
  const write = writerOf(message, writers);
  return (writer, value) => {
    writer.fork();
    write(writer, value);
    writer.join();
  };
}

function itemsOf(message: Message, name: string): readonly unknown[] {
  const items = fieldIn(message, name);
  if (!Array.isArray(items)) throw notExpected;
  return items;
}

// The layout of messages: https://github.com/bufbuild/protobuf-es/blob/main/MANUAL.md#field-descriptors
const fieldIn = (message: Message, name: string): unknown => (message as unknown as Record<string, unknown>)[name];
