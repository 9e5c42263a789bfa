import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildConsole } from "../../console/build.ts";
import { languages } from "../../console/languages.ts";

let into = "";
let assets: readonly { readonly name: string; readonly text: string; readonly size: number }[] = [];
let page = "";

beforeAll(async () => {
  into = await mkdtemp(join(tmpdir(), "postern-console-"));
  await buildConsole({ into });
  page = await readFile(join(into, "index.html"), "utf8");
  const names = (await readdir(join(into, "assets"))).filter((name) => /\.(js|css)$/.test(name));
  assets = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(into, "assets", name), "utf8");
      return { name, text, size: gzipSync(text, { level: 9 }).length };
    }),
  );
});
afterAll(() => rm(into, { recursive: true, force: true }));

const kilobyte = 1024;
const isLanguage = ({ name }: { readonly name: string }) => name.startsWith("words-of-");
const sum = (sizes: readonly { readonly size: number }[]) => sizes.reduce((total, { size }) => total + size, 0);
const scripts = () => assets.filter((one) => one.name.endsWith(".js") && !isLanguage(one));
// A browser loads the file of one language.
const largestLanguage = () => Math.max(...assets.filter(isLanguage).map(({ size }) => size));
const named = (name: string) => assets.find((one) => one.name === name);

/** The scripts that a script loads with it, itself included. */
function loadedBy(name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  const statically = (named(name)?.text ?? "").matchAll(
    /(?:^|[;}\s])import(?:[\w{},$*\s]*from)?\s*["'`]\.\/([^"'`]+)["'`]/g,
  );
  for (const [, other = ""] of statically) loadedBy(other, seen);
  return seen;
}

test("the scripts of the whole console take at most 110 KB, and its styles 14", () => {
  expect(sum(scripts()) + largestLanguage()).toBeLessThanOrEqual(110 * kilobyte);
  expect(sum(assets.filter(({ name }) => name.endsWith(".css")))).toBeLessThanOrEqual(14 * kilobyte);
});

test("whatever page is opened first, its scripts take at most 60 KB, and it makes at most six requests for files", () => {
  const entry = /src="\/console\/assets\/([^"]+)"/.exec(page)?.[1] ?? "";
  const atOnce = loadedBy(entry);
  const pages = assets
    .filter(({ name }) => atOnce.has(name))
    .flatMap(({ text }) => [...text.matchAll(/import\(["'`]\.\/([^"'`]+)["'`]\)/g)].map(([, name = ""]) => name))
    .filter((name) => !isLanguage({ name }));
  expect(pages.length).toBeGreaterThan(5);
  for (const name of pages) {
    const loaded = loadedBy(name, new Set(atOnce));
    const size = sum(assets.filter((one) => loaded.has(one.name)));
    expect(size + largestLanguage(), name).toBeLessThanOrEqual(60 * kilobyte);
    // The page itself, its styles, and its language.
    expect(loaded.size + 3, `${name}: ${[...loaded]}`).toBeLessThanOrEqual(6);
  }
});

test("each language is a file with every text, and no other script has one", async () => {
  const files = assets.filter(isLanguage);
  expect(files.map(({ name }) => name.slice(9, 11)).sort()).toEqual([...languages].sort());
  const words = await Promise.all(
    files.map(async ({ name }) => (await import(join(into, "assets", name))).default as string[]),
  );
  expect(new Set(words.map(({ length }) => length)).size).toBe(1);
  for (const all of words) expect(all.filter((word) => word !== "").length).toBeGreaterThan(900);
  // A single word may be a name of the contract, too.
  const long = words.flat().filter((word) => word.includes(" "));
  const written = scripts().flatMap(({ name, text }) =>
    long.filter((word) => text.includes(word)).map((word) => [name, word]),
  );
  expect(written).toEqual([]);
});

test("nothing of the page is inline or foreign, so that its policy can forbid both", () => {
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  expect(page.match(/(?:src|href)="(?!\/console\/assets\/|data:)/g)).toBeNull();
  expect(page).toMatch(/<html lang="en" data-issuer="" data-version="">/);
});

test("each file is there as it is, and twice compressed", async () => {
  const names = await readdir(join(into, "assets"));
  for (const { name } of assets) expect(names).toEqual(expect.arrayContaining([name, `${name}.br`, `${name}.gz`]));
});

test("a node keeps less than two megabytes of it: every file as it is, and compressed in both ways", async () => {
  const names = await readdir(into, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile()).map(({ parentPath, name }) => stat(join(parentPath, name)));
  const kept = sum(await Promise.all(files));
  expect(kept).toBeGreaterThan(100 * kilobyte);
  expect(kept).toBeLessThan(2 * kilobyte * kilobyte);
});
