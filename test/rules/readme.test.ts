import { existsSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { settings } from "../../src/config/config.ts";
import { roles } from "../../src/guards/permissions.ts";
import { filesOf, root, textOf } from "./tree.ts";

/** The part of a page under a heading, as far as the next one. */
function section(page: string, heading: string): string {
  const after = textOf(page).split(`\n## ${heading}\n`)[1];
  if (after === undefined) throw new Error(`${page} has no part "${heading}"`);
  return after.split("\n## ")[0] ?? "";
}

/** The rows of the tables in a part, without their heads, as cells. */
const rowsOf = (page: string, heading: string): string[][] =>
  section(page, heading)
    .split("\n")
    .filter((line, index, all) => line.startsWith("| ") && !all[index + 1]?.startsWith("|---"))
    .map((line) => line.slice(2, -2).split(" | "));

const plain = (cell = ""): string => cell.replace(/^\s*`?|`?\s*$/g, "");

test("the table of settings is the one of config.ts", () => {
  const rows = textOf("docs/settings.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const written = settings.map(({ name, default: usual, meaning }) => [
    `| \`${name}\``,
    usual && `\`${usual}\``,
    `${meaning} |`,
  ]);
  expect(rows).toEqual(written.map((cells) => cells.join(" | ")));
});

test("the tables of dependencies name those of package.json and of the console's, each with a reason", () => {
  const { dependencies, optionalDependencies, devDependencies: own } = JSON.parse(textOf("package.json"));
  const devDependencies = { ...own, ...JSON.parse(textOf("console/package.json")).devDependencies };
  const named = rowsOf("docs/development.md", "Dependencies");
  expect(named.map(([name]) => plain(name))).toEqual(
    [dependencies, optionalDependencies, devDependencies].flatMap((some) => Object.keys(some).sort()),
  );
  for (const [name, reason = ""] of named) expect(reason.length, name).toBeGreaterThan(10);
});

test("the tree shows every folder and file at the top of src, and nothing that is not there", () => {
  const lines = section("docs/development.md", "The tree").split("\n");
  const shown = lines.flatMap((line) => /^ {2}(\S+)/.exec(line)?.[1] ?? []);
  const there = readdirSync(join(root, "src"), { withFileTypes: true });
  expect(shown.sort()).toEqual(there.map((entry) => entry.name + (entry.isDirectory() ? "/" : "")).sort());
  const outside = lines.flatMap((line) => /^([a-z]\S*)/.exec(line)?.[1] ?? []);
  expect(outside.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("the table of operations names every rpc of the contract", () => {
  const services = readdirSync(join(root, "proto/postern/v1"))
    .map((file) => ({ file, text: textOf(`proto/postern/v1/${file}`) }))
    .flatMap(({ file, text }) => {
      const service = /^service (\w+)/m.exec(text)?.[1];
      const rpcs = [...text.matchAll(/^ {2}rpc (\w+)/gm)].map(([, name]) => `\`${name}\``);
      return service ? [[`[\`${service}\`](../proto/postern/v1/${file})`, rpcs.join(", ")]] : [];
    });
  expect(rowsOf("docs/api.md", "Operations").sort()).toEqual(services.sort());
});

test("the table of roles is the one of permissions.ts", () => {
  const rows = rowsOf("docs/api.md", "Permissions");
  expect(rows.map(([role]) => plain(role))).toEqual(Object.keys(roles));
  for (const [role, cell = ""] of rows.filter(([, cell = ""]) => cell.startsWith("`"))) {
    const named = [...cell.matchAll(/`([a-z.]+)`/g)].map(([, permission]) => permission);
    expect(named, role).toEqual([...roles[plain(role) as keyof typeof roles]]);
  }
});

test("the operation that is shown is in the files, line by line", () => {
  const parts = section("docs/development.md", "Adding an operation").split("\n```");
  for (const [index, part] of parts.entries()) {
    if (!part.startsWith("diff\n")) continue;
    const file = /\(\.\.\/(\S+)\):?\s*$/.exec(parts[index - 1] ?? "")?.[1] ?? "";
    const text = textOf(file).split("\n");
    const added = part.split("\n").filter((line) => /^[+ ]/.test(line));
    expect(added.length).toBeGreaterThan(5);
    expect(
      added.map((line) => line.slice(1)).filter((line) => !text.includes(line)),
      file,
    ).toEqual([]);
  }
});

test("every snippet of a client is a piece of a program that is tested", () => {
  const parts = textOf("docs/clients.md").split("\n```");
  const snippets = parts.flatMap((text, index) => {
    const [file] = [...(parts[index - 1] ?? "").matchAll(/\(\.\.\/(test\/\S+)\)/g)]
      .flatMap(([, path = ""]) => path)
      .slice(-1);
    return index % 2 === 1 ? [{ file, text: text.replace(/^\w+\n/, "") }] : [];
  });
  expect(snippets.length).toBeGreaterThan(7);
  for (const { file = "", text } of snippets) expect(text, file).toBe(shownIn(textOf(file)));
});

/** The region that a program marks for the README, at the left margin. */
function shownIn(program: string): string {
  const [, marked = ""] = /region README[^\n]*\n(.*?)\n[^\n]*endregion/s.exec(program) ?? [];
  const margin = /^ */.exec(marked)?.[0] ?? "";
  return marked.replaceAll(new RegExp(`^${margin}`, "gm"), "").trim();
}

test("every link leads somewhere", () => {
  const pages = filesOf().filter((path) => /^docs\/\w+\.md$/.test(path));
  const files = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/README.md",
    "bench/log.md",
    "sdk/README.md",
    ...pages,
  ];
  const broken = files.flatMap((file) => {
    const links = [...textOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    return links.filter((link) => !leads(file, link)).map((link) => `${file}: ${link}`);
  });
  expect(broken).toEqual([]);
});

function leads(from: string, link: string): boolean {
  if (/^https:/.test(link)) return true;
  const [path, heading] = link.split("#");
  const target = path ? posix.join(posix.dirname(from), path) : from;
  if (!existsSync(join(root, target))) return false;
  const headings = heading ? [...textOf(target).matchAll(/^#+ (.*)$/gm)] : [];
  return !heading || headings.some(([, name = ""]) => name.toLowerCase().replaceAll(" ", "-") === heading);
}
