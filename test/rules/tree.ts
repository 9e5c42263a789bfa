import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Node, SourceFile } from "typescript/unstable/ast";
import {
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isNamedImports,
  isStringLiteral,
} from "typescript/unstable/ast/is";
import { API, type Project } from "typescript/unstable/sync";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** One import: what of which file, and whether only as a type. */
export type Import = { readonly from: string; readonly to: string; readonly name: string; readonly type: boolean };

/** A file of TypeScript, by its path from the root. */
export type Source = { readonly path: string; readonly ast: SourceFile };

/** The program of the compiler, to be disposed. */
export type Program = Disposable & { readonly project: Project; readonly sources: readonly Source[] };

/** Reads what the compiler reads for a project, below the folders. */
export function openProgram(folders: readonly string[], config = "tsconfig.json"): Program {
  const api = new API();
  const [project] = api.updateSnapshot({ openProjects: [join(root, config)] }).getProjects();
  if (!project) throw new Error(`${config} is no project`);
  const paths = project.rootFiles.map((path) => relative(root, path));
  const sources = paths.filter((path) => folders.some((folder) => path.startsWith(`${folder}/`))).sort();
  return {
    project,
    sources: sources.map((path) => ({ path, ast: astOf(project, path) })),
    [Symbol.dispose]: () => api.close(),
  };
}

function astOf(project: Project, path: string): SourceFile {
  const ast = project.program.getSourceFile(join(root, path));
  if (!ast) throw new Error(`the compiler does not read ${path}`);
  return ast;
}

/** Every node of the tree, the outer ones first. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  const children: Node[] = [];
  node.forEachChild((child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}

/** The packages of ours, each with the file that it is entered by. */
const packages: Readonly<Record<string, string>> = { "@postern/gateway": "packages/gateway/src/gateway.ts" };

/** The imports of a file from files of ours, one entry for each name. */
export function importsOf({ path, ast }: Source): Import[] {
  return [...nodesOf(ast)].flatMap(named).flatMap(({ to, ...one }) => {
    const file = to.startsWith(".") ? posix.join(dirname(path), to) : packages[to];
    return file === undefined ? [] : [{ ...one, from: path, to: file }];
  });
}

/** The packages that a file imports from, and the modules of Node, as it spells them. */
export function modulesOf({ ast }: Source): string[] {
  const specifiers = [...nodesOf(ast)].flatMap(named).map(({ to }) => to);
  return [...new Set(specifiers.filter((to) => !to.startsWith(".")))];
}

function named(node: Node): Omit<Import, "from">[] {
  if (isImportDeclaration(node) || isExportDeclaration(node)) {
    const to = node.moduleSpecifier;
    return to && isStringLiteral(to) ? namesOf(node).map((name) => ({ ...name, to: to.text })) : [];
  }
  const [to] = isCallExpression(node) && node.expression.getText() === "import" ? node.arguments : [];
  return to && isStringLiteral(to) ? [{ to: to.text, name: "*", type: false }] : [];
}

function namesOf(node: Node): { name: string; type: boolean }[] {
  const all = { name: "*", type: false };
  if (!isImportDeclaration(node) || !node.importClause) return [all];
  const { namedBindings, phaseModifier } = node.importClause;
  const type = phaseModifier !== undefined;
  if (!namedBindings || !isNamedImports(namedBindings)) return [{ ...all, type }];
  return namedBindings.elements.map((one) => ({
    name: (one.propertyName ?? one.name).getText(),
    type: type || one.isTypeOnly,
  }));
}

/** The line that a node begins in, counted from 1. */
export function lineOf(ast: SourceFile, node: Node): number {
  return ast.getLineAndCharacterOfPosition(node.getStart(ast)).line + 1;
}

/** A file of the repository, as text. */
export const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

// The folders in .gitignore, and git's own.
const apart = /^(\.git|node_modules|data|dist|.*\.log)$/;

/** Every file of the repository, by its path from the root. */
export function filesOf(folder = ""): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !apart.test(name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      return entry.isDirectory() ? filesOf(path) : [path];
    })
    .sort();
}
