import { unreadable } from "../../errors/problem.ts";
import { cutText, maxTextLength, maxViolations, type Violation } from "../../errors/violation.ts";
import { type Shape, shapeOfItems, shapeUnder } from "./shape.ts";
import { closingQuote, fieldIn, maxDepth } from "./syntax.ts";

/** An object or list around the current position; without a shape, the contract does not know it. */
type Level = {
  readonly shape: Shape | undefined;
  readonly isList: boolean;
  /** The keys so far, for objects that the contract knows. */
  keys: Set<string> | undefined;
  key: string;
  index: number;
  expectsKey: boolean;
};

type Scan = { readonly text: string; readonly root: Shape; readonly stack: Level[]; readonly fields: Set<string> };

/**
 * Finds repeated keys in a text that JSON.parse has accepted. Keys outside the shape are refused anyway, so neither they nor their values
 * are examined. Refuses the body if the text nests too deeply.
 */
export function repeatedKeys(text: string, shape: Shape): Violation[] {
  const scan: Scan = { text, root: shape, stack: [], fields: new Set() };
  for (let at = 0; at < text.length && scan.fields.size < maxViolations; at += 1) at = step(scan, at);
  return [...scan.fields].map((field) => ({
    field,
    text: "FIELD_REPEATED",
    reason: "REPEATED_FIELD",
  }));
}

/** Reads the token at an offset; returns the offset of its last character. */
function step(scan: Scan, at: number): number {
  const { text, stack } = scan;
  const top = stack.at(-1);
  switch (text.charCodeAt(at)) {
    case 0x22: {
      const close = closingQuote(text, at);
      if (top?.expectsKey) readKey(scan, top, text.slice(at, close + 1));
      return close;
    }
    case 0x2c:
      if (top) nextItem(top);
      break;
    case 0x7b:
    case 0x5b:
      openLevel(scan, text.charCodeAt(at) === 0x5b);
      break;
    case 0x7d:
    case 0x5d:
      stack.pop();
  }
  return at;
}

function openLevel({ root, stack }: Scan, isList: boolean): void {
  if (stack.length > maxDepth) throw unreadable("BODY_TOO_DEEP", { max: maxDepth });
  const top = stack.at(-1);
  const shape = top ? shapeIn(top) : root;
  stack.push({ shape, isList, keys: undefined, key: "", index: 0, expectsKey: !isList });
}

function shapeIn({ shape, isList, key }: Level): Shape | undefined {
  if (!shape) return undefined;
  return isList ? shapeOfItems(shape) : shapeUnder(shape, key);
}

function nextItem(level: Level): void {
  level.index += 1;
  level.expectsKey = !level.isList;
}

function readKey(scan: Scan, level: Level, written: string): void {
  level.expectsKey = false;
  if (!level.shape) return;
  level.key = written.includes("\\") ? String(JSON.parse(written)) : written.slice(1, -1);
  if (!shapeUnder(level.shape, level.key)) return;
  level.keys ??= new Set();
  if (level.keys.has(level.key)) scan.fields.add(pathOf(scan.stack));
  else level.keys.add(level.key);
}

/** The path to the current position, of which only the beginning is ever shown. */
function pathOf(stack: readonly Level[]): string {
  let path = "";
  for (const { isList, index, key } of stack) {
    path = isList ? `${path}[${index}]` : fieldIn(path, cutText(key));
    if (path.length > maxTextLength) break;
  }
  return path;
}
