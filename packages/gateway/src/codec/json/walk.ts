import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { cutText, maxViolations, type Violation } from "../../errors/violation.ts";
import { type Defect, isWellKnown, leafDefect, placeholder, strictCheck } from "./leaf.ts";
import { fieldsByName } from "./shape.ts";
import { fieldIn, maxDepth } from "./syntax.ts";
import { isObject } from "./text.ts";

export type Walked = {
  /** The readable part, with placeholders for unreadable list items so that indexes stay the same. */
  readonly readable: JsonObject;
  readonly violations: readonly Violation[];
  /** The number of values read. */
  readonly values: number;
};

type Walk = { readonly violations: Violation[]; readonly ignoresUnknown: boolean; depth: number; values: number };

/** The violations of a JSON value before the walk, and whether unknown fields are allowed. */
type Before = { readonly existing: readonly Violation[]; readonly ignoresUnknown: boolean };

/** Checks a JSON value against a message type, adding a violation for each invalid field, up to a maximum. */
export function walk(message: DescMessage, json: JsonValue, { existing, ignoresUnknown }: Before): Walked {
  const state: Walk = { violations: [...existing], ignoresUnknown, depth: 0, values: 0 };
  const readable = readMessage(state, message, { path: "", value: json });
  return { readable: isObject(readable) ? readable : {}, violations: state.violations, values: state.values };
}

const isFull = ({ violations }: Walk) => violations.length >= maxViolations;

/** Whether protobuf-es reads this JSON as strictly as the walk does. */
export function isStrictEnough(message: DescMessage, json: JsonValue): boolean {
  if (!isObject(json)) return true;
  return checkedFields(message).every((field) => {
    const value = json[field.jsonName] ?? json[field.name];
    const items = Array.isArray(value)
      ? value
      : field.fieldKind === "map" && isObject(value)
        ? Object.values(value)
        : [value];
    return items.every((item) => item === undefined || isStrictValue(field, item));
  });
}

function isStrictValue(field: DescField, value: JsonValue): boolean {
  const check = strictCheck(field);
  if (check) return typeof value !== "string" || check(value);
  return !field.message || isStrictEnough(field.message, value);
}

const checkedFieldsCache = new WeakMap<DescMessage, readonly DescField[]>();

/** The fields with a strict check, and those that contain such fields. */
function checkedFields(message: DescMessage): readonly DescField[] {
  const cached = checkedFieldsCache.get(message);
  if (cached) return cached;
  checkedFieldsCache.set(message, []);
  const fields = message.fields.filter(
    (field) => strictCheck(field) || (field.message && checkedFields(field.message).length > 0),
  );
  checkedFieldsCache.set(message, fields);
  return fields;
}

type Place = { readonly path: string; readonly value: JsonValue };

function readMessage(walk: Walk, message: DescMessage, { path, value }: Place): JsonValue | undefined {
  if (!isObject(value)) return addViolation(walk, path, { text: "VALUE_OBJECT", reason: "WRONG_TYPE" });
  if (walk.depth >= maxDepth) return addViolation(walk, path, { text: "VALUE_DEEP", reason: "TOO_DEEP" });
  walk.depth += 1;
  const readable: JsonObject = {};
  const seen = new Map<DescField | string, string>();
  const fields = fieldsByName(message);
  for (const key of Object.keys(value)) {
    if (isFull(walk)) break;
    const field = fields.get(key)?.field;
    if (!field && walk.ignoresUnknown) continue;
    const inside = value[key] ?? null;
    const defect = field ? repeated(field, seen, inside) : unknownField;
    if (defect || !field) addViolation(walk, fieldIn(path, cutText(key)), defect ?? unknownField);
    else
      assign(readable, field.jsonName, readField(walk, field, { path: fieldIn(path, field.jsonName), value: inside }));
    if (field && inside !== null) remember(field, key, seen);
  }
  walk.depth -= 1;
  return readable;
}

const unknownField: Defect = { text: "FIELD_UNKNOWN", reason: "UNKNOWN_FIELD" };

function remember(field: DescField, key: string, seen: Map<DescField | string, string>): void {
  seen.set(field, key);
  if (field.oneof) seen.set(field.oneof.name, key);
}

function repeated(
  field: DescField,
  seen: ReadonlyMap<DescField | string, string>,
  value: JsonValue,
): Defect | undefined {
  const sameField = seen.get(field);
  if (sameField) return { text: "FIELD_SAME", params: { other: sameField }, reason: "REPEATED_FIELD" };
  const sameOneof = field.oneof && value !== null ? seen.get(field.oneof.name) : undefined;
  return sameOneof ? { text: "FIELD_TOGETHER", params: { other: sameOneof }, reason: "REPEATED_FIELD" } : undefined;
}

function readField(walk: Walk, field: DescField, place: Place): JsonValue | undefined {
  if (place.value === null && field.message?.typeName !== "google.protobuf.Value") return null;
  switch (field.fieldKind) {
    case "list":
      return readList(walk, field, place);
    case "map":
      return readMap(walk, field, place);
    default:
      return readValue(walk, field, place);
  }
}

function readList(walk: Walk, field: DescField, { path, value }: Place): JsonValue | undefined {
  if (!Array.isArray(value)) return addViolation(walk, path, { text: "VALUE_LIST", reason: "WRONG_TYPE" });
  const readable: JsonValue[] = [];
  for (const [index, item] of value.entries()) {
    if (isFull(walk)) break;
    readable.push(readItem(walk, field, { path: `${path}[${index}]`, value: item }) ?? placeholder(field));
  }
  return readable;
}

function readMap(walk: Walk, field: DescField, { path, value }: Place): JsonValue | undefined {
  if (!isObject(value)) return addViolation(walk, path, { text: "VALUE_OBJECT", reason: "WRONG_TYPE" });
  const readable: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (isFull(walk)) break;
    const at = `${path}[${JSON.stringify(cutText(key))}]`;
    assign(readable, key, readItem(walk, field, { path: at, value: value[key] ?? null }));
  }
  return readable;
}

function readItem(walk: Walk, field: DescField, place: Place): JsonValue | undefined {
  if (place.value === null && field.message?.typeName !== "google.protobuf.Value")
    return addViolation(walk, place.path, { text: "VALUE_NULL", reason: "NULL_ITEM" });
  return readValue(walk, field, place);
}

function readValue(walk: Walk, field: DescField, place: Place): JsonValue | undefined {
  walk.values += 1;
  if (field.message && !isWellKnown(field.message)) return readMessage(walk, field.message, place);
  const defect = leafDefect(field, place.value);
  return defect ? addViolation(walk, place.path, defect) : place.value;
}

function addViolation(walk: Walk, field: string, defect: Defect): undefined {
  if (!isFull(walk)) walk.violations.push({ field, ...defect });
}

/** Sets an own property, even for the key `__proto__`. */
function assign(target: JsonObject, key: string, value: JsonValue | undefined): void {
  if (value === undefined) return;
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
