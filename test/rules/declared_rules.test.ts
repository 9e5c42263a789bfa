import { dirname, posix } from "node:path";
import type { Node } from "typescript/unstable/ast";
import {
  isArrowFunction,
  isBlock,
  isCallExpression,
  isFunctionDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isImportDeclaration,
  isNamedImports,
  isPropertyAssignment,
  isReturnStatement,
  isShorthandPropertyAssignment,
  isStringLiteral,
  isVariableStatement,
} from "typescript/unstable/ast/is";
import { afterAll, expect, test } from "vitest";
import { openProgram, type Source } from "./tree.ts";

const program = openProgram(["src"]);
afterAll(() => program[Symbol.dispose]());

/** A declaration at the top of a file: its node, and the keys of the names in a node of its file. */
type Declaration = { readonly node: Node; readonly namesIn: (node: Node) => ReadonlySet<string> };

const keyOf = (path: string, name: string) => `${path}#${name}`;

// Rules that are passed to it bind on the spot.
const binder = keyOf("src/guards/validate.ts", "messageRules");

/** The declarations at the top of a file by their keys. */
function declarationsOf({ path, ast }: Source): [string, Declaration][] {
  const imported = new Map(ast.statements.flatMap((statement) => importsIn(statement, path)));
  const keyIn = (name: string) => imported.get(name) ?? keyOf(path, name);
  const keysIn = (node: Node): string[] => {
    if (isIdentifier(node)) return [keyIn(node.getText())];
    const isBinding = isCallExpression(node) && keyIn(node.expression.getText()) === binder;
    return isBinding ? [binder] : childrenOf(node).flatMap(keysIn);
  };
  const namesIn = (node: Node) => new Set(keysIn(node));
  return ast.statements.flatMap(declaredIn).map(([name, node]) => [keyOf(path, name), { node, namesIn }]);
}

function declaredIn(statement: Node): [string, Node][] {
  if (isFunctionDeclaration(statement)) return statement.name ? [[statement.name.getText(), statement]] : [];
  if (!isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.map((one) => [one.name.getText(), one.initializer ?? one]);
}

function importsIn(statement: Node, path: string): [string, string][] {
  if (!isImportDeclaration(statement) || !isStringLiteral(statement.moduleSpecifier)) return [];
  const { text } = statement.moduleSpecifier;
  const named = statement.importClause?.namedBindings;
  if (!text.startsWith(".") || !named || !isNamedImports(named)) return [];
  const from = posix.join(dirname(path), text);
  return named.elements.map(({ name, propertyName }) => [
    name.getText(),
    keyOf(from, (propertyName ?? name).getText()),
  ]);
}

const declarations = new Map(program.sources.flatMap(declarationsOf));

/** The functions that are declared to return a rule. */
const makers = new Set([...declarations].filter(([, { node }]) => returnsRule(node)).map(([key]) => key));

function returnsRule(node: Node): boolean {
  const declared = isFunctionLikeDeclaration(node) && "type" in node ? (node.type as Node | undefined) : undefined;
  return declared !== undefined && /^(MessageRule|LateRule<.*>)$/s.test(declared.getText());
}

const namesMaker = ({ namesIn }: Declaration, node: Node) => [...namesIn(node)].some((name) => makers.has(name));

/** The nodes of a module's rules and late rules, each with the declaration that it is in. */
function rulesOfModules(): [Declaration, Node][] {
  const modules = declarations.get(keyOf("src/runtime/modules.ts", "modules"));
  const listed = [...(modules?.namesIn(modules.node) ?? [])].flatMap((key) => declarations.get(key) ?? []);
  return listed.flatMap((module) =>
    childrenOf(module.node).flatMap((one): [Declaration, Node][] =>
      (isPropertyAssignment(one) || isShorthandPropertyAssignment(one)) &&
      /^(rules|lateRules)$/.test(one.name.getText())
        ? [[module, one]]
        : [],
    ),
  );
}

function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  node.forEachChild((child) => void children.push(child));
  return children;
}

test("a rule that is declared binds: it is reached from the rules and late rules of a module", () => {
  const roots = rulesOfModules();
  expect(roots.length).toBeGreaterThan(20);
  const reached = new Set(roots.flatMap(([{ namesIn }, node]) => [...namesIn(node)]));
  for (const key of reached) for (const name of namesOf(declarations.get(key))) reached.add(name);
  const making = [...declarations].filter(([, one]) => namesMaker(one, one.node)).map(([key]) => key);
  expect(making.length).toBeGreaterThan(30);
  expect(making.filter((key) => !reached.has(key))).toEqual([]);
});

const namesOf = (one: Declaration | undefined): ReadonlySet<string> => one?.namesIn(one.node) ?? new Set();

test("a function that returns a rule says so, so that its callers are known to declare rules", () => {
  const unsaid = [...declarations].filter(
    ([, one]) =>
      !returnsRule(one.node) &&
      resultsOf(one.node).some((result) => isCallExpression(result) && namesMaker(one, result.expression)),
  );
  expect(unsaid.map(([key]) => key)).toEqual([]);
});

/** What a function returns itself, not the functions in it. */
function resultsOf(node: Node): Node[] {
  if (isArrowFunction(node) && !isBlock(node.body)) return [node.body];
  const results = (inner: Node): Node[] =>
    isReturnStatement(inner)
      ? inner.expression
        ? [inner.expression]
        : []
      : childrenOf(inner).flatMap((child) => (isFunctionLikeDeclaration(child) ? [] : results(child)));
  return isFunctionLikeDeclaration(node) ? results(node) : [];
}
