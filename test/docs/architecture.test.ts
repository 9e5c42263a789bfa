import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, textOf } from "../rules/tree.ts";

const page = textOf("docs/architecture.md");

test("every name on the page is in the file that stands beside it", () => {
  const pairs = [...page.replaceAll(/\s+/g, " ").matchAll(/`(\w+)` \(`([\w/.]+\.ts)`\)/g)];
  expect(pairs.length).toBeGreaterThan(20);
  const missing = pairs.filter(([, name = "", path = ""]) => !new RegExp(`\\b${name}\\b`).test(textOf(path)));
  expect(missing.map(([pair]) => pair)).toEqual([]);
});

test("every path on the page exists", () => {
  const paths = [...page.matchAll(/`((?:src|packages|test)\/[\w/.]+)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
