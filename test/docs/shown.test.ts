import { existsSync } from "node:fs";

import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { root, textOf } from "../rules/tree.ts";

// A link to a test, and after a colon the names of those of its tests that are meant, in quotes.
const reference = /\[`([\w./]+\.test\.ts)`\]\([^)]*\)(:(?:,? "[^"]+")+)?/g;

describe.each(["docs/operations.md", "docs/security.md"])("%s", (page) => {
  const text = textOf(page);

  test("every test that is named exists, by its file and its name", () => {
    const named = [...text.replaceAll(/\s+/g, " ").matchAll(reference)];
    expect(named.length).toBeGreaterThan(20);
    const missing = named.flatMap(([, file = "", names = ""]) => {
      if (!existsSync(join(root, file))) return [file];
      const source = textOf(file);
      const quoted = [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
      return quoted.filter((name) => !source.includes(name)).map((name) => `${file}: ${name}`);
    });
    expect(missing).toEqual([]);
  });

  test("every link leads somewhere", () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !leads(page, link))).toEqual([]);
  });

  test("every section names a test that shows it", () => {
    const sections = text.split("\n## ").slice(1);
    const without = sections.filter((section) => !/\[`[\w./]+\.test\.ts`\]/.test(section));
    expect(without.map((section) => section.split("\n")[0])).toEqual([]);
  });
});

function leads(page: string, link: string): boolean {
  if (/^https:/.test(link)) return true;
  const [path = "", heading] = link.split("#");
  const target = path ? posix.join(posix.dirname(page), path) : page;
  if (!existsSync(join(root, target))) return false;
  const headings = heading ? [...textOf(target).matchAll(/^#+ (.*)$/gm)] : [];
  return !heading || headings.some(([, name = ""]) => name.toLowerCase().replaceAll(" ", "-") === heading);
}

test("each requirement of ASVS has a known status, and one that is met says where", () => {
  const rows = [...textOf("docs/security.md").matchAll(/^\| (\d+\.\d+\.\d+) \|[^|]*\| (\w+) \| (.*) \|$/gm)];
  const statuses = rows.map(([, , status]) => status);
  expect(statuses.filter((status) => !["met", "partly", "not"].includes(status ?? ""))).toEqual([]);
  expect(new Set(rows.map(([, id]) => id)).size).toBe(rows.length);
  expect(rows.filter(([, , status, where = ""]) => status === "met" && where.length < 15)).toEqual([]);
  const count = (wanted: string) => statuses.filter((status) => status === wanted).length;
  const sums = `Of ${rows.length} that apply, ${count("met")} are met, ${count("partly")} partly, and ${count("not")} not.`;
  expect(textOf("docs/security.md").replaceAll(/\s+/g, " ")).toContain(sums);
});
