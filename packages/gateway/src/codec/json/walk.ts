import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { cutText, mostViolations, type Violation } from "../../errors/violation.ts";
import { isWellKnown, placeholder, strictCheck, type Wrong, wrongLeaf } from "./leaf.ts";
import { fieldsByName } from "./shape.ts";
import { deepest, fieldIn } from "./syntax.ts";
import { isObject } from "./text.ts";

/** What a walk through a JSON value finds. */
export type Walked = {
  /** What can be read of it; list items that cannot be are stood in for, so that indexes stay. */
  readonly readable: JsonObject;
  readonly violations: readonly Violation[];
  /** How many values it looked at. */
  readonly values: number;
};

type Walk = { readonly violations: Violation[]; depth: number; values: number };

/** Holds a JSON value against a message and adds every field that is wrong to those that were found before, up to a bound. */
export function walk(message: DescMessage, json: JsonValue, found: readonly Violation[]): Walked {
  const state: Walk = { violations: [...found], depth: 0, values: 0 };
  const readable = readMessage(state, message, { path: "", value: json });
  return { readable: isObject(readable) ? readable : {}, violations: state.violations, values: state.values };
}

const isFull = ({ violations }: Walk) => violations.length >= mostViolations;

/** Whether the plain codec reads this JSON as strictly as the walk does. */
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

const checked = new WeakMap<DescMessage, readonly DescField[]>();

/** The fields that a strict check is for, and those that hold such fields. */
function checkedFields(message: DescMessage): readonly DescField[] {
  const known = checked.get(message);
  if (known) return known;
  checked.set(message, []);
  const fields = message.fields.filter(
    (field) => strictCheck(field) || (field.message && checkedFields(field.message).length > 0),
  );
  checked.set(message, fields);
  return fields;
}

type Place = { readonly path: string; readonly value: JsonValue };

function readMessage(walk: Walk, message: DescMessage, { path, value }: Place): JsonValue | undefined {
  if (!isObject(value)) return complain(walk, path, { description: "must be an object", reason: "WRONG_TYPE" });
  if (walk.depth >= deepest) return complain(walk, path, { description: "nests too deep", reason: "TOO_DEEP" });
  walk.depth += 1;
  const readable: JsonObject = {};
  const seen = new Map<DescField | string, string>();
  const fields = fieldsByName(message);
  for (const key of Object.keys(value)) {
    if (isFull(walk)) break;
    const field = fields.get(key)?.field;
    const inside = value[key] ?? null;
    const wrong = field ? repeated(field, seen, inside) : unknownField;
    if (wrong || !field) complain(walk, fieldIn(path, cutText(key)), wrong ?? unknownField);
    else
      assign(readable, field.jsonName, readField(walk, field, { path: fieldIn(path, field.jsonName), value: inside }));
    if (field && inside !== null) note(field, key, seen);
  }
  walk.depth -= 1;
  return readable;
}

const unknownField: Wrong = { description: "is not a field of this request", reason: "UNKNOWN_FIELD" };

function note(field: DescField, key: string, seen: Map<DescField | string, string>): void {
  seen.set(field, key);
  if (field.oneof) seen.set(field.oneof.name, key);
}

function repeated(field: DescField, seen: ReadonlyMap<DescField | string, string>, value: JsonValue) {
  const twin = seen.get(field);
  if (twin) return { description: `is the same field as ${twin}`, reason: "REPEATED_FIELD" };
  const rival = field.oneof && value !== null ? seen.get(field.oneof.name) : undefined;
  return rival ? { description: `cannot be given together with ${rival}`, reason: "REPEATED_FIELD" } : undefined;
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
  if (!Array.isArray(value)) return complain(walk, path, { description: "must be a list", reason: "WRONG_TYPE" });
  const readable: JsonValue[] = [];
  for (const [index, item] of value.entries()) {
    if (isFull(walk)) break;
    readable.push(readItem(walk, field, { path: `${path}[${index}]`, value: item }) ?? placeholder(field));
  }
  return readable;
}

function readMap(walk: Walk, field: DescField, { path, value }: Place): JsonValue | undefined {
  if (!isObject(value)) return complain(walk, path, { description: "must be an object", reason: "WRONG_TYPE" });
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
    return complain(walk, place.path, { description: "must not be null", reason: "NULL_ITEM" });
  return readValue(walk, field, place);
}

function readValue(walk: Walk, field: DescField, place: Place): JsonValue | undefined {
  walk.values += 1;
  if (field.message && !isWellKnown(field.message)) return readMessage(walk, field.message, place);
  const wrong = wrongLeaf(field, place.value);
  return wrong ? complain(walk, place.path, wrong) : place.value;
}

function complain(walk: Walk, field: string, wrong: Wrong): undefined {
  if (!isFull(walk)) walk.violations.push({ field, ...wrong });
}

/** Sets an own property, whatever the key: `__proto__` is a key like any other. */
function assign(target: JsonObject, key: string, value: JsonValue | undefined): void {
  if (value === undefined) return;
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
