import { cutText, mostCharacters, mostViolations, type Violation } from "../../errors/violation.ts";
import { type Shape, shapeOfItems, shapeUnder } from "./shape.ts";
import { closingQuote, deepest, fieldIn } from "./syntax.ts";

/** An object or a list that is open where a scan stands; without a shape nothing in it has a meaning. */
type Open = {
  readonly shape: Shape | undefined;
  readonly isList: boolean;
  /** The keys that it had, in objects whose keys have a meaning. */
  seen: Set<string> | undefined;
  key: string;
  index: number;
  keyNext: boolean;
};

type Scan = { readonly text: string; readonly root: Shape; readonly stack: Open[]; readonly found: Set<string> };

/**
 * Walks a text that JSON.parse has taken already, for the keys that an object has more than once. Keys that the shape does not
 * know are wrong anyway: neither they nor what they hold are looked at. Throws when the text nests too deep.
 */
export function repeatedKeys(text: string, shape: Shape): Violation[] {
  const scan: Scan = { text, root: shape, stack: [], found: new Set() };
  for (let at = 0; at < text.length && scan.found.size < mostViolations; at += 1) at = step(scan, at);
  return [...scan.found].map((field) => ({
    field,
    description: "is there more than once",
    reason: "REPEATED_FIELD",
  }));
}

/** Takes the character at a place; answers the place of the last one that was taken. */
function step(scan: Scan, at: number): number {
  const { text, stack } = scan;
  const top = stack.at(-1);
  switch (text.charCodeAt(at)) {
    case 0x22: {
      const close = closingQuote(text, at);
      if (top?.keyNext) note(scan, top, text.slice(at, close + 1));
      return close;
    }
    case 0x2c:
      if (top) next(top);
      break;
    case 0x7b:
    case 0x5b:
      enter(scan, text.charCodeAt(at) === 0x5b);
      break;
    case 0x7d:
    case 0x5d:
      stack.pop();
  }
  return at;
}

function enter({ root, stack }: Scan, isList: boolean): void {
  if (stack.length > deepest) throw new RangeError("the JSON nests too deep");
  const top = stack.at(-1);
  const shape = top ? shapeIn(top) : root;
  stack.push({ shape, isList, seen: undefined, key: "", index: 0, keyNext: !isList });
}

function shapeIn({ shape, isList, key }: Open): Shape | undefined {
  if (!shape) return undefined;
  return isList ? shapeOfItems(shape) : shapeUnder(shape, key);
}

function next(open: Open): void {
  open.index += 1;
  open.keyNext = !open.isList;
}

function note(scan: Scan, open: Open, written: string): void {
  open.keyNext = false;
  if (!open.shape) return;
  open.key = written.includes("\\") ? String(JSON.parse(written)) : written.slice(1, -1);
  if (!shapeUnder(open.shape, open.key)) return;
  open.seen ??= new Set();
  if (open.seen.has(open.key)) scan.found.add(pathOf(scan.stack));
  else open.seen.add(open.key);
}

/** The path to where a scan stands, of which only the beginning is ever shown. */
function pathOf(stack: readonly Open[]): string {
  let path = "";
  for (const { isList, index, key } of stack) {
    path = isList ? `${path}[${index}]` : fieldIn(path, cutText(key));
    if (path.length > mostCharacters) break;
  }
  return path;
}
