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

test("no test without a database reaches what needs it, and each pattern of such tests finds some", () => {
  const found = withoutDatabase.map((pattern) => globSync(pattern, { cwd: root }));
  expect(withoutDatabase.filter((_, index) => found[index]?.length === 0)).toEqual([]);
  expect(new Set(found.flat()).size).toBe(found.flat().length);
  const wrong = found.flat().flatMap((path) => {
    const needed = reachedFrom(path).filter((one) => needsDatabase.test(one));
    return needed.map((one) => `${path} reaches ${one}`);
  });
  expect(wrong).toEqual([]);
});

test("each pattern of the long tests finds some", () => {
  expect(longTests.filter((pattern) => globSync(pattern, { cwd: root }).length === 0)).toEqual([]);
});

/** Every file that a file imports, itself or by way of others; types have no file once the program runs. */
function reachedFrom(path: string): string[] {
  const reached = new Set([path]);
  for (const one of reached) for (const { to, type } of importsFrom.get(one) ?? []) if (!type) reached.add(to);
  return [...reached];
}
