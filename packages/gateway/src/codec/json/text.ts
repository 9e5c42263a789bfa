import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Violation } from "../../errors/violation.ts";
import { repeatedKeys } from "./repeated.ts";
import { type Shape, shapeOfItems, shapeUnder } from "./shape.ts";
import { closingQuote, maxDepth } from "./syntax.ts";

/** A parsed JSON text. */
export type JsonText = {
  readonly value: JsonValue;
  /** One for each known key that is repeated; the value has the last one. */
  readonly violations: readonly Violation[];
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses a JSON text strictly; undefined when it is not JSON, not UTF-8, or nests too deep. */
export function readJsonText(bytes: Uint8Array, shape: Shape): JsonText | undefined {
  try {
    const text = utf8.decode(bytes);
    const value: JsonValue = JSON.parse(text);
    // JSON.parse silently keeps the last of equal keys: the text then has more colons than the value has keys.
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

/** The number of keys in a value; NaN if its shape does not know one of them. */
function countKeys(shape: Shape | undefined, value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return shape ? 0 : Number.NaN;
  if (!shape || depth > maxDepth) return Number.NaN;
  let keys = 0;
  // Loops, not reduce: this runs for every JSON request.
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
