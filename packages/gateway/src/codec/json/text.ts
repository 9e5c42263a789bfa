import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { unreadable } from "../../errors/problem.ts";
import type { Violation } from "../../errors/violation.ts";
import { jsonFault } from "./fault.ts";
import { repeatedKeys } from "./repeated.ts";
import { type Shape, shapeOfItems, shapeUnder } from "./shape.ts";
import { closingQuote, maxDepth } from "./syntax.ts";

/** A parsed JSON text. */
export type JsonText = {
  readonly value: JsonValue;
  /** One for each repeated known key; the value keeps the last one. */
  readonly violations: readonly Violation[];
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses a JSON text strictly; fails for bytes that are not JSON, and says where. */
export function readJsonText(bytes: Uint8Array, shape: Shape): JsonText {
  const text = textOf(bytes);
  const value = parsed(text);
  // JSON.parse silently keeps the last of several equal keys; the text then has more colons than the value has keys.
  const isWhole = countKeys(shape, value, 0) === countColons(text);
  return { value, violations: isWhole ? [] : repeatedKeys(text, shape) };
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw unreadable("BODY_NOT_UTF8", { byte: invalidByte(bytes) }, cause);
  }
}

/** The offset of the first byte that is not UTF-8, found by bisection. */
function invalidByte(bytes: Uint8Array): number {
  let [valid, invalid] = [0, bytes.length];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isUtf8Start(bytes.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

/** Whether bytes are UTF-8, possibly cut off within the last character. */
function isUtf8Start(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const { found, line = 1, column = 1 } = jsonFault(text) ?? {};
    throw found === undefined
      ? unreadable("BODY_INCOMPLETE", { line, column }, cause)
      : unreadable("BODY_NOT_JSON", { found: JSON.stringify(found), line, column }, cause);
  }
}

/** Whether a JSON value is an object, not a list or null. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The number of keys in a value; NaN if its shape does not know one of them. */
function countKeys(shape: Shape | undefined, value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return shape ? 0 : Number.NaN;
  if (!shape || depth > maxDepth) return Number.NaN;
  let keys = 0;
  // Loops rather than reduce, because this runs for every JSON request.
  if (Array.isArray(value)) {
    const items = shapeOfItems(shape);
    for (const one of value) {
      keys += countKeys(items, one, depth + 1);
      if (Number.isNaN(keys)) break;
    }
    return items ? keys : Number.NaN;
  }
  for (const key in value) {
    keys += 1 + countKeys(shapeUnder(shape, key), value[key] ?? null, depth + 1);
    if (Number.isNaN(keys)) break;
  }
  return keys;
}

function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === 0x22) at = closingQuote(text, at);
    else if (character === 0x3a) colons += 1;
  }
  return colons;
}
