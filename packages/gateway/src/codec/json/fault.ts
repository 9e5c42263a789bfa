/** The place where a text stops being JSON. */
export type JsonFault = {
  /** The offset in UTF-16 code units. */
  readonly offset: number;
  /** The unexpected character; undefined at the end of the text. */
  readonly found: string | undefined;
  readonly line: number;
  readonly column: number;
};

/** Finds where a text stops being JSON (RFC 8259); undefined if it is JSON. JSON.parse only reports the position for some texts. */
export function jsonFault(text: string): JsonFault | undefined {
  const offset = faultyOffset(text);
  if (offset === undefined) return undefined;
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const codePoint = text.codePointAt(offset);
  return {
    offset,
    found: codePoint === undefined ? undefined : String.fromCodePoint(codePoint),
    line: before.split("\n").length,
    column: [...before.slice(lineStart)].length + 1,
  };
}

type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end";

function faultyOffset(text: string): number | undefined {
  // The open brackets, as their closing counterparts.
  const closers: string[] = [];
  let expected: Expected = "value";
  let at = 0;
  while (true) {
    at = skip(blank, text, at);
    const character = text[at];
    if (expected === "comma or end" && closers.length === 0) return character === undefined ? undefined : at;
    if (character === undefined) return at;
    const isKey: boolean = expected === "key" || expected === "key or }";
    if (closes(expected, character, closers.at(-1))) {
      closers.pop();
      at += 1;
      expected = "comma or end";
    } else if (expected === "comma or end" || expected === "colon") {
      if (character !== (expected === "colon" ? ":" : ",")) return at;
      expected = expected === "colon" || closers.at(-1) === "]" ? "value" : "key";
      at += 1;
    } else if (!isKey && (character === "{" || character === "[")) {
      closers.push(character === "{" ? "}" : "]");
      expected = character === "{" ? "key or }" : "value or ]";
      at += 1;
    } else {
      const end = character === '"' ? endOfString(text, at) : isKey ? { fault: at } : endOfScalar(text, at);
      if (typeof end === "object") return end.fault;
      expected = isKey ? "colon" : "comma or end";
      at = end;
    }
  }
}

function closes(expected: Expected, character: string, closer: string | undefined): boolean {
  if (character !== closer) return false;
  return expected === "comma or end" || expected === (closer === "}" ? "key or }" : "value or ]");
}

type End = number | { readonly fault: number };

function endOfString(text: string, open: number): End {
  let at = open + 1;
  while (true) {
    at = skip(unescaped, text, at);
    if (text[at] === '"') return at + 1;
    const after = skip(escaped, text, at);
    if (after === at) return { fault: text[at] === "\\" && at + 1 < text.length ? at + 1 : at };
    at = after;
  }
}

function endOfScalar(text: string, from: number): End {
  const end = skip(scalar, text, from);
  return end === from ? { fault: from } : end;
}

const blank = /[ \t\n\r]*/y;
// Control characters are not allowed in strings, including those that are whitespace elsewhere.
const unescaped = /(?:(?!\p{Cc})[^"\\]|[\u007f-\u009f])*/uy;
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|/y;

/** The offset after a pattern's match at an offset. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
