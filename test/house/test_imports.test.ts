import { afterAll, expect, test } from "vitest";
import { importsOf, openProgram } from "./tree.ts";

const program = openProgram(["test", "bench", "packages"]);
afterAll(() => program[Symbol.dispose]());
const imports = program.sources.flatMap(importsOf);
const isTest = (path: string) => /^(test|packages\/\w+\/test)\//.test(path);

test("no test imports a benchmark; benchmarks import fixtures", () => {
  const wrong = imports.filter(({ from, to }) => isTest(from) && to.startsWith("bench/"));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  const right = imports.filter(({ from, to }) => from.startsWith("bench/") && to.startsWith("test/fixture/"));
  expect(right).not.toEqual([]);
});

test("nothing imports a file of tests", () => {
  const wrong = imports.filter(({ to }) => to.endsWith(".test.ts"));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});
