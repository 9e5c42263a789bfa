import { dirname, posix } from "node:path";
import type { Node } from "typescript/unstable/ast";
import {
  isCallExpression,
  isFunctionDeclaration,
  isIdentifier,
  isImportDeclaration,
  isNamedImports,
  isStringLiteral,
  isVariableStatement,
} from "typescript/unstable/ast/is";
import { afterAll, expect, test } from "vitest";
import { nodesOf, openProgram, type Source } from "./tree.ts";

const program = openProgram(["src"]);
afterAll(() => program[Symbol.dispose]());

/** A declaration at the top of a file: what it names, and whether it makes a rule. */
type Declaration = { readonly at: string; readonly names: ReadonlySet<string>; readonly makesRule: boolean };

const makers = ["messageRule", "pageRule", "namedRule", "lateRule"];

const keyOf = (path: string, name: string) => `${path}#${name}`;

/** The declarations at the top of a file by their names, and the names that it imports from files of ours. */
function declarationsOf({ path, ast }: Source): Map<string, Declaration> {
  const imported = new Map<string, string>();
  const found = new Map<string, Declaration>();
  for (const statement of ast.statements) {
    for (const [name, key] of importsIn(statement, path)) imported.set(name, key);
    for (const name of declaredIn(statement)) found.set(keyOf(path, name), declarationOf(statement, keyOf(path, name)));
  }
  const resolved = ({ names, ...rest }: Declaration) => ({
    ...rest,
    names: new Set([...names].map((name) => imported.get(name) ?? keyOf(path, name))),
  });
  return new Map([...found].map(([key, one]) => [key, resolved(one)]));
}

function declarationOf(statement: Node, at: string): Declaration {
  const nodes = [...nodesOf(statement)];
  const names = new Set(nodes.filter(isIdentifier).map((node) => node.getText()));
  const makesRule = nodes.some((node) => isCallExpression(node) && makers.includes(node.expression.getText()));
  return { at, names, makesRule };
}

function declaredIn(statement: Node): string[] {
  if (isFunctionDeclaration(statement)) return statement.name ? [statement.name.getText()] : [];
  if (!isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.map(({ name }) => name.getText());
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

test("a rule that is declared binds: it is reached from the rules that calls are checked by", () => {
  const declarations = new Map(program.sources.flatMap((source) => [...declarationsOf(source)]));
  const roots = ["src/runtime/modules.ts#modules"];
  expect(roots.filter((root) => !declarations.has(root))).toEqual([]);
  const reached = new Set(roots);
  for (const key of reached) for (const name of declarations.get(key)?.names ?? []) reached.add(name);
  const making = [...declarations.values()].filter(({ makesRule }) => makesRule);
  expect(making.length).toBeGreaterThan(30);
  expect(making.filter(({ at }) => !reached.has(at)).map(({ at }) => at)).toEqual([]);
});
