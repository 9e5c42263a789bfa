/** A mistake in a path template, at a column that counts from 1. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
  constructor(column: number, problem: string) {
    super(`syntax error at column ${column}: ${problem}`);
  }
}

/** A piece of a path template. */
export type Token = {
  readonly kind: "/" | "*" | "**" | "{" | "}" | "=" | ":" | "text" | "end";
  readonly text: string;
  /** Where it begins, from 1. */
  readonly column: number;
};

// RFC 3986 pchar without the signs that the template language takes for itself.
const pieces = /(\*\*)|([/*{}=:])|((?:[\w.~!$&'()+,;@-]|%[0-9A-Fa-f]{2})+)/y;

/** Cuts a path template of google.api.http into its pieces. */
export function scan(template: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < template.length) {
    pieces.lastIndex = at;
    const found = pieces.exec(template);
    if (!found) throw new TemplateError(at + 1, `unexpected ${JSON.stringify(signAt(template, at))}`);
    const text = found[0];
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

const signAt = (text: string, at: number) => String.fromCodePoint(text.codePointAt(at) ?? 0);
