import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SyntaxKind } from "typescript/unstable/ast";
import { afterAll, expect, test } from "vitest";
import { lineOf, nodesOf, openProgram, root, type Source } from "./tree.ts";

// Retired words and, beside them, those that are written instead: the field's own, or a plain name.
const retiredEverywhere: Readonly<Record<string, string>> = {
  // Argon2 has lanes.
  lane: "unary call",
  "visit visits visitor visitors": "call; callback",
  "dialect dialects": "protocol, codec",
  spoken: "negotiated",
  "arrival arrivals": "match, request",
  "widen widens widened": "open a window, WINDOW_UPDATE",
  calm: "ENHANCE_YOUR_CALM",
  "allowance allowances": "token bucket",
  "house houses": "runtime",
  rooms: "routes",
  turns: "batch, order, tick, queue entry",
  parting: "close",
  "patience patient patiently impatient": "time-out, grace, retry; longRunning",
};

// A test may have a stranger, who is a user without any role, and an rpc of these names.
const retiredInSource: Readonly<Record<string, string>> = {
  "converse converses": "serve, handle",
  "greet greets": "initial window",
  "stranger strangers": "unknown caller",
};

const retiredInGateway: Readonly<Record<string, string>> = {
  "told tells": "callback: onError, onClose; report, name, distinguish",
  said: "sent, stated",
  whoever: "the noun: client, caller, handler",
  "nobody somebody": "no caller, unknown caller; the passive voice",
};

// Whole names: those that say that something is asked, given or answered, and not what.
const retiredWholeNames =
  /^(\w*[a-z])?(Asked|Wanted|Reply|Located)$|^(Given|Whole|Sent|told|tells|said|hurry|askedOf|giveUp|hangUp)$/;

// Names that say nothing by themselves, or say it privately; a comment may use these words.
const retiredNames: Readonly<Record<string, string>> = {
  "wanted asked given": "request, options, query",
  room: "route",
  "lose settle": "abort, close, discard, drain",
  Host: "connection",
};

const program = openProgram(["src", "packages", "test", "bench", "docs"]);
afterAll(() => program[Symbol.dispose]());
const everything = program.sources.filter(
  ({ path }) => !path.startsWith("packages/gateway/gen/") && path !== "test/rules/words.test.ts",
);
const sources = program.sources.filter(({ path }) => /^(src|packages\/\w+\/src)\//.test(path));
const gateway = sources.filter(({ path }) => path.startsWith("packages/gateway/"));

const formsOf = (words: Readonly<Record<string, string>>) =>
  new Set(Object.keys(words).flatMap((key) => key.split(" ")));

type Text = { readonly text: string; readonly line: number };

function namesIn({ ast }: Source): Text[] {
  const isName = (kind: SyntaxKind) => kind === SyntaxKind.Identifier || kind === SyntaxKind.PrivateIdentifier;
  return [...nodesOf(ast)]
    .filter(({ kind }) => isName(kind))
    .map((node) => ({ text: node.getText(ast).replace("#", ""), line: lineOf(ast, node) }));
}

function commentsIn({ ast }: Source): Text[] {
  return [...ast.text.matchAll(/(?<=^|\s)(\/\/ [^\n]*|\/\*\*[\s\S]*?\*\/)/g)].map((match) => ({
    text: match[0],
    line: ast.getLineAndCharacterOfPosition(match.index).line + 1,
  }));
}

/** The words of a text in lower case; a name is cut at its capitals, and a constant such as NO_ERROR is left alone. */
const wordsOf = (text: string): string[] =>
  (text.match(/[A-Za-z]+/g) ?? [])
    .filter((run) => !/^[A-Z]{2,}$/.test(run))
    .flatMap((run) => run.split(/(?<=[a-z])(?=[A-Z])/))
    .map((word) => word.toLowerCase());

/** Where a text satisfies a condition, as path:line: text. */
const places = (of: readonly Source[], texts: (source: Source) => Text[], isBad: (text: string) => boolean): string[] =>
  of.flatMap((source) =>
    texts(source)
      .filter(({ text }) => isBad(text))
      .map(({ text, line }) => `${source.path}:${line}: ${text}`),
  );

const has = (forms: ReadonlySet<string>) => (text: string) => wordsOf(text).some((word) => forms.has(word));

// The names of the specification.
const isOfRfc9113 = (name: string) => name === "enhanceYourCalm";

test("names and comments use the words of the field where it has them", () => {
  const isRetired = has(formsOf(retiredEverywhere));
  expect(places(everything, namesIn, (name) => isRetired(name) && !isOfRfc9113(name))).toEqual([]);
  expect(places(everything, commentsIn, isRetired)).toEqual([]);
  expect(isRetired("openRooms")).toBe(true);
  const isRetiredInSource = has(formsOf(retiredInSource));
  expect(places(sources, namesIn, isRetiredInSource)).toEqual([]);
  expect(places(sources, commentsIn, isRetiredInSource)).toEqual([]);
});

test("names say what is asked for, answered or received", () => {
  expect(places(everything, namesIn, (name) => retiredWholeNames.test(name))).toEqual([]);
  expect(retiredWholeNames.test("PhoneAsked")).toBe(true);
});

test("names and comments of the gateway name the client, the caller or the handler, and what it does", () => {
  const isRetired = has(formsOf(retiredInGateway));
  expect(places(gateway, namesIn, isRetired)).toEqual([]);
  expect(places(gateway, commentsIn, isRetired)).toEqual([]);
});

test("names of the gateway are nouns and verbs of their own, and its limits begin with max or min", () => {
  const forms = formsOf(retiredNames);
  const isLimit = (name: string) => /^(most|least)[A-Z]/.test(name);
  expect(places(gateway, namesIn, (name) => forms.has(name) || isLimit(name))).toEqual([]);
  expect(places(gateway, namesIn, (name) => /^(max|min)[A-Z]/.test(name))).not.toEqual([]);
});

// Whether a sentence has a clause for its subject.
const isHeadless = (comment: string) =>
  /(?:^\/(?:\/|\*\*)[\s*]*|[.;:]\s+(?:(?:\/\/|\*) )?)(?:What|Who|Whose|Whom|Whoever|Whatever)\b/.test(comment);

test("sentences of comments begin with their subject: none with what or who", () => {
  expect(everything.length).toBeGreaterThan(600);
  expect(places(everything, commentsIn, isHeadless)).toEqual([]);
  expect(isHeadless("/** What a call is made of. */")).toBe(true);
  expect(isHeadless("// A call ends. Whoever waits is told.")).toBe(true);
});

test("sentences of the contract begin with their subject, too", () => {
  const protos = readdirSync(join(root, "proto"), { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".proto"),
  );
  expect(protos.length).toBeGreaterThan(10);
  const headless = protos.filter((path) =>
    commentsOf(readFileSync(join(root, "proto", path), "utf8")).some(isHeadless),
  );
  expect(headless).toEqual([]);
});

/** The blocks of comments of a file of the contract, each as one text. */
const commentsOf = (proto: string): string[] => proto.match(/(?:^\s*\/\/.*\n)+/gm)?.map((block) => block.trim()) ?? [];
