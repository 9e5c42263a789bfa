import { scan, TemplateError, type Token } from "./scanner.ts";

/** A segment of a path template: a literal, any segment, or the rest of the path. */
export type Segment =
  | { readonly kind: "literal"; readonly value: string }
  | { readonly kind: "one" }
  | { readonly kind: "rest" };

/** A part of the path that fills a field of the request. */
export type Variable = {
  /** The path of the field in the request. */
  readonly path: readonly string[];
  /** The first segment of the variable. */
  readonly start: number;
  /** The segment after the variable's last one; absent if it takes the rest of the path. */
  readonly end?: number;
  /** Whether the value may contain slashes, so that an encoded one must stay encoded. */
  readonly multi: boolean;
};

/** A parsed google.api.http path template. */
export type Template = {
  readonly segments: readonly Segment[];
  readonly variables: readonly Variable[];
  /** The verb after the colon; empty without one. */
  readonly verb: string;
};

type Cursor = { peek(): Token; take(): Token };

/** Parses a path template; throws a TemplateError that names the column. */
export function parseTemplate(template: string): Template {
  const cursor = cursorOf(scan(template));
  const segments: Segment[] = [];
  const variables: Variable[] = [];
  expect(cursor, "/");
  do readSegment(cursor, segments, variables);
  while (accept(cursor, "/"));
  const verb = accept(cursor, ":") ? decoded(expect(cursor, "text")) : "";
  expect(cursor, "end");
  return { segments, variables, verb };
}

function readSegment(cursor: Cursor, segments: Segment[], variables: Variable[]): void {
  const token = cursor.peek();
  if (token.kind === "{") variables.push(readVariable(cursor, segments, variables));
  else segments.push(readPlain(cursor, segments));
}

function readPlain(cursor: Cursor, before: readonly Segment[]): Segment {
  const token = cursor.take();
  if (before.some(({ kind }) => kind === "rest")) throw new TemplateError(token.column, "** must be the last segment");
  switch (token.kind) {
    case "*":
      return { kind: "one" };
    case "**":
      return { kind: "rest" };
    case "text":
      return { kind: "literal", value: decoded(token) };
    default:
      throw unexpected(token, "a segment");
  }
}

function readVariable(cursor: Cursor, segments: Segment[], others: readonly Variable[]): Variable {
  const brace = expect(cursor, "{");
  if (segments.some(({ kind }) => kind === "rest"))
    throw new TemplateError(brace.column, "** must be the last segment");
  const path = readFieldPath(expect(cursor, "text"));
  if (others.some((other) => other.path.join(".") === path.join(".")))
    throw new TemplateError(brace.column + 1, `the variable ${path.join(".")} is there twice`);
  const start = segments.length;
  if (accept(cursor, "="))
    do segments.push(readPlain(cursor, segments));
    while (accept(cursor, "/"));
  else segments.push({ kind: "one" });
  expect(cursor, "}");
  const rest = segments.at(-1)?.kind === "rest";
  const multi = rest || segments.length - start > 1;
  return rest ? { path, start, multi } : { path, start, end: segments.length, multi };
}

function readFieldPath({ text, column }: Token): string[] {
  const path = text.split(".");
  let at = column;
  for (const name of path) {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new TemplateError(at, "expected the name of a field");
    at += name.length + 1;
  }
  return path;
}

function cursorOf(tokens: readonly Token[]): Cursor {
  let at = 0;
  const peek = () => tokens[at] ?? { kind: "end", text: "", column: 1 };
  const take = () => {
    const token = peek();
    at += 1;
    return token;
  };
  return { peek, take };
}

function accept(cursor: Cursor, kind: Token["kind"]): boolean {
  if (cursor.peek().kind !== kind) return false;
  cursor.take();
  return true;
}

function expect(cursor: Cursor, kind: Token["kind"]): Token {
  const token = cursor.take();
  if (token.kind !== kind)
    throw unexpected(token, kind === "text" ? "a name" : kind === "end" ? "the end" : `"${kind}"`);
  return token;
}

function unexpected(token: Token, expected: string): TemplateError {
  const actual = token.kind === "end" ? "the end" : JSON.stringify(token.text);
  return new TemplateError(token.column, `expected ${expected}, found ${actual}`);
}

function decoded({ text, column }: Token): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TemplateError(column, `${JSON.stringify(text)} is not UTF-8 when decoded`);
  }
}
