import { afterAll, expect, test } from "vitest";
import { importsOf, modulesOf, openProgram, textOf } from "./tree.ts";

const program = openProgram(["src", "packages", "test", "bench", "docs"]);
afterAll(() => program[Symbol.dispose]());
const { sources } = program;
const inPackage = sources.filter(({ path }) => path.startsWith("packages/"));

test("the package of the gateway imports nothing of src or gen, and its tests share the wire with those of the service", () => {
  const outside = inPackage.flatMap(importsOf).filter(({ to }) => !to.startsWith("packages/gateway/"));
  const isTest = (path: string) => path.startsWith("packages/gateway/test/");
  const wrong = outside.filter(({ from, to }) => !(isTest(from) && to.startsWith("test/wire/")));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  expect(outside).not.toEqual([]);
});

test("the package has what it imports among its own dependencies", () => {
  const { dependencies, peerDependencies } = JSON.parse(textOf("packages/gateway/package.json"));
  const modules = inPackage.filter(({ path }) => path.startsWith("packages/gateway/src/")).flatMap(modulesOf);
  const packages = modules
    .filter((name) => !name.startsWith("node:"))
    .map((name) => /^@[^/]+\/[^/]+|^[^/]+/.exec(name)?.[0]);
  expect([...new Set(packages)].sort()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).sort());
});

test("src enters the package by its name alone", () => {
  const entered = sources.filter(({ path }) => path.startsWith("src/")).flatMap(importsOf);
  const files = new Set(entered.map(({ to }) => to).filter((to) => to.startsWith("packages/")));
  expect([...files]).toEqual(["packages/gateway/src/gateway.ts"]);
});

// The private functions of connect-es may change with any release.
test("only connect_es.ts imports the private modules of connect-es, whose version is pinned exactly", () => {
  const isPrivate = (name: string) => name.startsWith("@connectrpc/connect/protocol");
  const importers = sources.filter((source) => modulesOf(source).some(isPrivate)).map(({ path }) => path);
  expect(importers).toEqual(["packages/gateway/src/rpc/protocols/connect_es.ts"]);
  for (const file of ["package.json", "packages/gateway/package.json"])
    expect(JSON.parse(textOf(file)).dependencies["@connectrpc/connect"], file).toMatch(/^\d+\.\d+\.\d+$/);
});
