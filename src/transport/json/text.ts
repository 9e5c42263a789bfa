import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** A JSON text, read. */
export type JsonText = {
  readonly value: JsonValue;
  /** The paths of the keys that are there more than once; the last one is in the value. */
  readonly repeated: readonly string[];
};

/** How deep objects and lists may nest, as in the Protobuf codecs. */
export const deepest = 100;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a JSON text strictly; undefined when it is no JSON, no UTF-8, or nests too deep. */
export function readJsonText(bytes: Uint8Array): JsonText | undefined {
  try {
    const text = utf8.decode(bytes);
    const value: JsonValue = JSON.parse(text);
    // JSON.parse keeps the last of equal keys and says nothing: fewer keys than colons tell.
    const repeated = countKeys(value, 0) === countColons(text) ? [] : repeatedKeys(text);
    return { value, repeated };
  } catch {
    return undefined;
  }
}

/** Whether a JSON value is an object, and neither a list nor null. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The path of a field inside another one, as JSON spells it. */
export const fieldIn = (parent: string, name: string): string => (parent ? `${parent}.${name}` : name);

function countKeys(value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth > deepest) throw new RangeError("the JSON nests too deep");
  let keys = 0;
  // Spelled out, because every JSON request passes here.
  if (Array.isArray(value)) for (const one of value) keys += countKeys(one, depth + 1);
  else for (const key in value) keys += 1 + countKeys(value[key] ?? null, depth + 1);
  return keys;
}

function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === 0x22) at = closing(text, at);
    else if (sign === 0x3a) colons += 1;
  }
  return colons;
}

/** Where the string that opens here closes. */
function closing(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === 0x5c) first -= 1;
  return (at - first) % 2 === 1;
}

type Open = { readonly path: string; readonly keys?: Set<string>; key: string; index: number; keyNext: boolean };

/** Walks a text that JSON.parse has taken already, for the keys that an object has more than once. */
function repeatedKeys(text: string): string[] {
  const stack: Open[] = [];
  const repeated = new Set<string>();
  for (let at = 0; at < text.length; at += 1) {
    const top = stack.at(-1);
    switch (text[at]) {
      case "{":
        stack.push({ path: pathOf(top), keys: new Set(), key: "", index: 0, keyNext: true });
        break;
      case "[":
        stack.push({ path: pathOf(top), key: "", index: 0, keyNext: false });
        break;
      case "}":
      case "]":
        stack.pop();
        break;
      case ",":
        if (top) next(top);
        break;
      case '"': {
        const close = closing(text, at);
        if (top?.keyNext) note(top, text.slice(at, close + 1), repeated);
        at = close;
      }
    }
  }
  return [...repeated];
}

function next(open: Open): void {
  open.index += 1;
  open.keyNext = open.keys !== undefined;
}

function note(open: Open, written: string, repeated: Set<string>): void {
  open.keyNext = false;
  open.key = String(JSON.parse(written));
  if (open.keys?.has(open.key)) repeated.add(pathOf(open));
  open.keys?.add(open.key);
}

function pathOf(open: Open | undefined): string {
  if (!open) return "";
  return open.keys ? fieldIn(open.path, open.key) : `${open.path}[${open.index}]`;
}
