import { globSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { pureTests, slowPureTests } from "../pure.ts";
import { longTests } from "../thorough/long.ts";
import { importsOf, openProgram, root } from "./tree.ts";

const program = openProgram(["test", "bench", "packages"]);
afterAll(() => program[Symbol.dispose]());
const imports = program.sources.flatMap(importsOf);
const importsFrom = Map.groupBy(imports, ({ from }) => from);
const isTest = (path: string) => /^(test|packages\/\w+\/test)\//.test(path);

test("no test imports a benchmark; benchmarks import fixtures", () => {
  const wrong = imports.filter(({ from, to }) => isTest(from) && /(^|\/)bench\//.test(to));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  const right = imports.filter(({ from, to }) => from.startsWith("bench/") && to.startsWith("test/fixture/"));
  expect(right).not.toEqual([]);
});

test("nothing imports a file of tests", () => {
  const wrong = imports.filter(({ to }) => to.endsWith(".test.ts"));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

const needsDatabase = /^test\/(cluster|database|global-setup|harness|probe)\.ts$/;

const withoutDatabase = [...pureTests, ...slowPureTests];

test("no test without a database reaches what needs it, and each name in the lists of such tests is one", () => {
  const found = withoutDatabase.map((pattern) => globSync(pattern, { cwd: root }));
  expect(withoutDatabase.filter(findsNothing)).toEqual([]);
  expect(new Set(found.flat()).size).toBe(found.flat().length);
  const wrong = found.flat().flatMap((path) => {
    const needed = reachedFrom(path).filter((one) => needsDatabase.test(one));
    return needed.map((one) => `${path} reaches ${one}`);
  });
  expect(wrong).toEqual([]);
});

test("each name in the list of long tests is one", () => {
  expect(longTests.filter(findsNothing)).toEqual([]);
});

/** Says whether a pattern, or one of the names in its braces, finds no file. */
const findsNothing = (pattern: string): boolean =>
  namesIn(pattern).some((name) => globSync(name, { cwd: root }).length === 0);

function namesIn(pattern: string): string[] {
  const [, before = "", inner, after = ""] = /^(.*)\{([^{}]*)\}(.*)$/.exec(pattern) ?? [];
  return inner === undefined ? [pattern] : inner.split(",").flatMap((name) => namesIn(before + name + after));
}

/** Every file that a file imports, itself or by way of others; types have no file once the program runs. */
function reachedFrom(path: string): string[] {
  const reached = new Set([path]);
  for (const one of reached) for (const { to, type } of importsFrom.get(one) ?? []) if (!type) reached.add(to);
  return [...reached];
}
