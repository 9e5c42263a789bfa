import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { chartSettings } from "../../docs/chart_settings.ts";
import { errorsPage } from "../../docs/errors_page.ts";
import { textKeys } from "../../src/messages/catalogue.ts";
import { reasons } from "../../src/reasons.ts";

test("docs/errors.md is what `node docs/generate.ts` writes", async () => {
  expect(await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8")).toBe(errorsPage());
});

test("the page has every reason and every text once, with all parameters named", () => {
  const listed = [...errorsPage().matchAll(/^\| `(\w+)` \|/gm)].map(([, key]) => key);
  expect(listed.toSorted()).toEqual([...textKeys()].sort());
  expect(listed).toEqual(expect.arrayContaining(Object.keys(reasons)));
  expect(errorsPage()).not.toContain("…");
});

test("the chart of Helm knows the settings that there are", async () => {
  const path = new URL("../../deploy/helm/templates/_settings.tpl", import.meta.url);
  expect(await readFile(path, "utf8"), "npm run generate writes it").toBe(chartSettings());
});
