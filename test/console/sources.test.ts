import { expect, test } from "vitest";
import { languages } from "../../src/messages/language.ts";
import { filesOf, textOf } from "../rules/tree.ts";

const sources = filesOf("console").filter((path) => /\.tsx?$/.test(path) && !path.startsWith("console/gen/"));
const inBrowser = sources.filter((path) => !/^console\/(build|generate)\.ts$/.test(path));

const importsOf = (path: string) => [...textOf(path).matchAll(/^(?:import|export)[^;]*?from "([^"]+)";/gms)];

test("the console imports nothing of the server, and of the contract only types of JSON", () => {
  const outside = inBrowser.flatMap((path) =>
    importsOf(path)
      .filter(([, to = ""]) => /^(\.\.\/)+(src|gen|packages|test|node_modules)\//.test(to) && !isInside(path, to))
      .map(([statement, to = ""]) => ({ path, statement, to })),
  );
  expect(outside.length).toBeGreaterThan(10);
  const wrong = outside.filter(
    ({ statement, to }) => !statement.startsWith("import type") || !/\/gen\/postern\/v1\/\w+_pb\.ts$/.test(to),
  );
  expect(wrong).toEqual([]);
  const names = outside.flatMap(({ statement }) => /\{([^}]*)\}/s.exec(statement)?.[1]?.split(",") ?? []);
  expect(names.map((name) => name.trim()).filter((name) => name && !name.endsWith("Json"))).toEqual([]);
});

/** The console has generated files of its own. */
const isInside = (path: string, to: string): boolean => new URL(to, `file:///${path}`).pathname.startsWith("/console/");

test("the console has the languages of the server", () => {
  const written = /export const languages = \[(.*?)\]/.exec(textOf("console/languages.ts"))?.[1];
  expect(written).toBe(languages.map((language) => `"${language}"`).join(", "));
});

test("the console has the colours of the sign-in pages", () => {
  const colors = (path: string) => [...textOf(path).matchAll(/--([\w-]+): (#\w+);/g)].map(([whole]) => whole);
  const own = new Set(colors("console/styles/1-colors.css"));
  expect(colors("src/provider/pages/page.css").filter((color) => !own.has(color))).toEqual([]);
});

test("no token is kept where another page could read it", () => {
  const kept = inBrowser.filter((path) =>
    /\b(localStorage|sessionStorage|indexedDB|document\.cookie)\b/.test(textOf(path)),
  );
  // The language, and where a sign-in goes on.
  expect(kept).toEqual(["console/sign_in/sign_in.ts", "console/texts/text.ts"]);
});

test("no file of the console has more than 300 lines, texts aside, and no folder or file is a drawer for everything", () => {
  const most = (path: string) => (path.startsWith("console/texts/") ? 500 : 300);
  expect(sources.filter((path) => textOf(path).split("\n").length > most(path))).toEqual([]);
  const drawers = /(^|\/)(utils?|helpers?|common|core|types|misc|shared|lib|index)(\.|\/)/;
  expect(sources.filter((path) => drawers.test(path))).toEqual([]);
});
