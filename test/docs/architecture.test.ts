import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { filesOf, root, textOf } from "../rules/tree.ts";

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

describe("the glossary", () => {
  const sources = filesOf().filter((path) => /^(src|packages\/\w+\/src)\/.*\.ts$/.test(path));
  const exported = sources.flatMap((path) =>
    [...textOf(path).matchAll(/^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm)].map(
      ([, name = ""]) => name,
    ),
  );
  const names = new Set([...exported, ...sources.map((path) => basename(path))]);
  const rows = [...page.matchAll(/^\| ([a-z ]+) \| `([\w.]+)` \| .+ \| ([a-z, -]+|–) \|$/gm)];
  const terms = rows.map(([, term = "", name = ""]) => ({ term, name }));
  const rejected = rows.flatMap(([, , , synonyms = ""]) => synonyms.split(", ").filter((word) => word !== "–"));

  test("each term is an exported name or a file", () => {
    const lines = page.slice(page.indexOf("## Glossary")).match(/^\| [a-z]/gm) ?? [];
    // Of the two tables, the lines that name their columns are no terms.
    expect(terms.length).toBe(lines.length - 2);
    expect(terms.filter(({ name }) => !names.has(name)).map(({ term }) => term)).toEqual([]);
  });

  test("no exported name and no file is called by a synonym that it rejects", () => {
    expect(rejected.length).toBeGreaterThan(15);
    const called = [...names].filter((name) => wordsOf(name).some((word) => rejected.includes(word)));
    expect(called).toEqual([]);
  });
});

/** The words of a name in camel case or with underscores, in lower case and the singular. */
const wordsOf = (name: string): string[] =>
  [...name.matchAll(/[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])/g)].map(([word]) => word.toLowerCase().replace(/s$/, ""));
