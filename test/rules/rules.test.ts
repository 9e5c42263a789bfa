import { basename, dirname } from "node:path";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import {
  isArrowFunction,
  isBinaryExpression,
  isCallExpression,
  isFunctionDeclaration,
  isFunctionExpression,
  isFunctionLikeDeclaration,
  isIdentifier,
  isMethodDeclaration,
  isNewExpression,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { afterAll, expect, test } from "vitest";
import { filesOf, lineOf, nodesOf, openProgram, type Source, textOf } from "./tree.ts";

const program = openProgram(["src", "packages", "test", "docs", "bench"]);
afterAll(() => program[Symbol.dispose]());
const everywhere = program.sources.filter(({ path }) => !/^packages\/\w+\/gen\//.test(path));
const sources = everywhere.filter(({ path }) => /^(src|packages\/\w+\/src)\//.test(path));

/** The places of forbidden nodes, as path:line. */
function places(of: readonly Source[], wanted: (node: Node) => boolean, but: readonly string[] = []): string[] {
  return of.flatMap(({ path, ast }) =>
    but.includes(path) ? [] : [...nodesOf(ast)].filter(wanted).map((node) => `${path}:${lineOf(ast, node)}`),
  );
}

test("only config.ts reads the environment", () => {
  const env = (node: Node) => isPropertyAccessExpression(node) && node.getText() === "process.env";
  expect(places(sources, env, ["src/config/config.ts"])).toEqual([]);
  expect(places(sources, env)).not.toEqual([]);
});

test("only refusal.ts makes an error of Connect, so that every refusal has its details", () => {
  const made = (node: Node) =>
    (isNewExpression(node) && node.expression.getText() === "ConnectError") ||
    (isCallExpression(node) && /^Reflect\.construct\(.*\bConnectError\)$/s.test(node.getText()));
  expect(places(sources, made, ["packages/gateway/src/errors/refusal.ts"])).toEqual([]);
  expect(places(sources, made)).not.toEqual([]);
});

test("no handler calls refuseAny: the guards enforce the rules of requests", () => {
  const repeated = (node: Node) => isCallExpression(node) && node.expression.getText() === "refuseAny";
  expect(places(sources, repeated, ["src/guards/late_rules.ts"])).toEqual([]);
  expect(places(sources, repeated)).toHaveLength(2);
});

test("only migrate.ts uses what makes the driver lose writes: begin, reserve and cancel", () => {
  const lossy = (node: Node) => isCallExpression(node) && isOfDriver(node.expression, ["begin", "reserve", "cancel"]);
  expect(places(sources, lossy, ["src/postgres/migrate.ts"])).toEqual([]);
});

/** Says whether the node calls a method that the driver declares by one of these names. */
function isOfDriver(node: Node, names: readonly string[]): boolean {
  if (!isPropertyAccessExpression(node) || !names.includes(node.name.getText())) return false;
  const declared = program.project.checker.getSymbolAtLocation(node.name)?.declarations ?? [];
  return declared.some(({ path }) => path.includes("/node_modules/postgres/"));
}

test("src has no any, and nothing has an enum", () => {
  expect(places(sources, ({ kind }) => kind === SyntaxKind.AnyKeyword)).toEqual([]);
  expect(places(everywhere, ({ kind }) => kind === SyntaxKind.EnumDeclaration)).toEqual([]);
});

test("no function is written where it is assigned to a property: V8 makes such a one old at once, with all it refers to", () => {
  const isWritten = (node: Node) => isArrowFunction(node) || isFunctionExpression(node);
  const old = (node: Node) =>
    isBinaryExpression(node) && isPropertyAccessExpression(node.left) && isWritten(node.right);
  expect(places(sources, old)).toEqual([]);
  expect(places(everywhere, old)).not.toEqual([]);
});

test("arguments are plain properties: no object literal of src is spread into another", () => {
  const spread = (node: Node) => isSpreadAssignment(node) && isObjectLiteralExpression(node.expression);
  const service = sources.filter(({ path }) => path.startsWith("src/"));
  expect(places(service, spread)).toEqual([]);
  expect(places(everywhere, spread)).not.toEqual([]);
});

test("no file has more than 500 lines", () => {
  const long = everywhere.map(({ path, ast }) => ({ path, lines: ast.getLineStarts().length - 1 }));
  expect(long.filter(({ lines }) => lines > 500)).toEqual([]);
});

test("no function of src has more than 40 lines, and half of them have no more than 12", () => {
  const lengths = sources.flatMap(functionsOf);
  expect(lengths.filter(({ lines }) => lines > 40)).toEqual([]);
  expect(lengths.map(({ lines }) => lines).sort((a, b) => a - b)[lengths.length >> 1]).toBeLessThanOrEqual(12);
});

/** Every function with its lines, less those of the functions that it lists or declares. */
function functionsOf({ path, ast }: Source): { at: string; lines: number }[] {
  const end = (node: Node) => ast.getLineAndCharacterOfPosition(node.getEnd()).line + 1;
  const lines = (node: Node) => end(node) - lineOf(ast, node) + 1;
  const inner = (node: Node): number =>
    childrenOf(node).reduce((sum, child) => sum + (isNamed(child) ? lines(child) : inner(child)), 0);
  return [...nodesOf(ast)]
    .filter(isFunctionLikeDeclaration)
    .map((node) => ({ at: `${path}:${lineOf(ast, node)}`, lines: lines(node) - inner(node) }));
}

test("no function of src has more than 60 lines with all that it declares, lists of methods aside", () => {
  expect(sources.flatMap(closuresOf).filter(({ lines }) => lines > 60)).toEqual([]);
});

/** The outermost functions of a file with all their lines, less those of literals that list methods, each of which is itself outermost. */
function closuresOf({ path, ast }: Source): { path: string; lines: number }[] {
  const end = (node: Node) => ast.getLineAndCharacterOfPosition(node.getEnd()).line + 1;
  const lines = (node: Node) => end(node) - lineOf(ast, node) + 1;
  const listed = (node: Node): Node[] =>
    childrenOf(node).flatMap((child) => (listsMethods(child) ? child : listed(child)));
  const outermost = (node: Node): Node[] =>
    childrenOf(node).flatMap((child) => (isFunctionLikeDeclaration(child) ? child : outermost(child)));
  const closures = (node: Node): { path: string; lines: number }[] =>
    outermost(node).flatMap((one) => {
      const lists = listed(one);
      const own = lines(one) - lists.reduce((sum, list) => sum + lines(list), 0);
      return [{ path, lines: own }, ...lists.flatMap(closures)];
    });
  return closures(ast);
}

/** Whether a literal only lists methods: those written in it, of which there is at least one, and names of others, spread or not. */
const listsMethods = (node: Node): boolean =>
  isObjectLiteralExpression(node) &&
  node.properties.some(isMethod) &&
  node.properties.every(
    (one) =>
      isMethod(one) || isShorthandPropertyAssignment(one) || (isSpreadAssignment(one) && isNameOf(one.expression)),
  );

const isNameOf = (node: Node): boolean =>
  isIdentifier(node) || (isPropertyAccessExpression(node) && isNameOf(node.expression));

const isMethod = (node: Node): boolean =>
  isMethodDeclaration(node) || (isPropertyAssignment(node) && isFunctionLikeDeclaration(node.initializer));

function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  node.forEachChild((child) => void children.push(child));
  return children;
}

function isNamed(node: Node): boolean {
  if (isFunctionDeclaration(node) || isMethodDeclaration(node)) return true;
  const holder = node.parent;
  return isFunctionLikeDeclaration(node) && (isPropertyAssignment(holder) || isVariableDeclaration(holder));
}

test("no folder or file is a drawer for everything", () => {
  const drawers = /^(utils?|helpers?|common|core|types|misc|shared|lib|index)$/;
  const names = filesOf().filter((path) => /^(src|packages|test|bench|docs|proto)\//.test(path));
  const found = names.filter((path) =>
    [...dirname(path).split("/"), basename(path).replace(/\..*$/, "")].some((name) => drawers.test(name)),
  );
  expect(found).toEqual([]);
});

// Another provider to compare with, a name server that lies, and snapshots.
const noRooms = ["provider/peer", "provider/rebinding", "provider/statements"];

test("within a folder of src, tests have only the folders that it has", () => {
  const within = (top: string) => filesOf(top).map((path) => dirname(path).slice(top.length + 1));
  const rooms = new Set(within("src"));
  const ofTests = new Set(within("test").filter((path) => rooms.has(path.replace(/\/.*/, "")) && path.includes("/")));
  expect(ofTests.size).toBeGreaterThan(40);
  expect([...ofTests].filter((path) => !rooms.has(path)).sort()).toEqual(noRooms);
});

test("no file names a place on somebody's machine, and none a registry", () => {
  const folders = ["home", "root", "work", "Users"].map((name) => `(?<![\\w.}/-])/${name}/\\w`);
  const hosts = ["npmjs", "yarnpkg"].map((name) => `registry\\.${name}\\.`);
  const wanted = new RegExp([...folders, ...hosts, '^\\s*"resolved": "http', "^registry="].join("|"));
  const found = filesOf().flatMap((path) =>
    textOf(path)
      .split("\n")
      .flatMap((line, index) => (wanted.test(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(found).toEqual([]);
});

test("each migration has a number of its own", () => {
  const names = filesOf().filter((path) => path.startsWith("src/postgres/migrations/"));
  const numbers = names.map((path) => basename(path).slice(0, 4));
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((_, at) => numbers.indexOf(numbers[at] ?? "") < at)).toEqual([]);
});
