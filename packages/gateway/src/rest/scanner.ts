/** A syntax error in a path template; columns count from 1. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
  constructor(column: number, problem: string) {
    super(`syntax error at column ${column}: ${problem}`);
  }
}

/** A token of a path template. */
export type Token = {
  readonly kind: "/" | "*" | "**" | "{" | "}" | "=" | ":" | "text" | "end";
  readonly text: string;
  /** The column of the first character. */
  readonly column: number;
};

// RFC 3986's pchar without the characters that the template language uses.
const pieces = /(\*\*)|([/*{}=:])|((?:[\w.~!$&'()+,;@-]|%[0-9A-Fa-f]{2})+)/y;

/** Splits a path template of google.api.http into tokens. */
export function scan(template: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < template.length) {
    pieces.lastIndex = at;
    const match = pieces.exec(template);
    if (!match) throw new TemplateError(at + 1, `unexpected ${JSON.stringify(characterAt(template, at))}`);
    const text = match[0];
    tokens.push({ kind: kindOf(text), text, column: at + 1 });
    at += text.length;
  }
  return [...tokens, { kind: "end", text: "", column: at + 1 }];
}

function kindOf(text: string): Token["kind"] {
  switch (text) {
    case "/":
    case "*":
    case "**":
    case "{":
    case "}":
    case "=":
    case ":":
      return text;
    default:
      return "text";
  }
}

const characterAt = (text: string, at: number) => String.fromCodePoint(text.codePointAt(at) ?? 0);
