import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Violation } from "../../errors/violation.ts";
import { repeatedKeys } from "./repeated.ts";
import { type Shape, shapeOfItems, shapeUnder } from "./shape.ts";
import { closingQuote, deepest } from "./syntax.ts";

/** A JSON text, read. */
export type JsonText = {
  readonly value: JsonValue;
  /** One for each known key that is there more than once; the last one is in the value. */
  readonly violations: readonly Violation[];
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a JSON text strictly; undefined when it is no JSON, no UTF-8, or nests too deep. */
export function readJsonText(bytes: Uint8Array, shape: Shape): JsonText | undefined {
  try {
    const text = utf8.decode(bytes);
    const value: JsonValue = JSON.parse(text);
    // JSON.parse keeps the last of equal keys and says nothing: fewer keys than colons tell.
    const isWhole = countKeys(shape, value, 0) === countColons(text);
    return { value, violations: isWhole ? [] : repeatedKeys(text, shape) };
  } catch {
    return undefined;
  }
}

/** Whether a JSON value is an object, and neither a list nor null. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How many keys a value has; NaN as soon as something is in it that its shape does not know. */
function countKeys(shape: Shape | undefined, value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return shape ? 0 : Number.NaN;
  if (!shape || depth > deepest) return Number.NaN;
  let keys = 0;
  // Spelled out, because every JSON request passes here.
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
    const sign = text.charCodeAt(at);
    if (sign === 0x22) at = closingQuote(text, at);
    else if (sign === 0x3a) colons += 1;
  }
  return colons;
}
