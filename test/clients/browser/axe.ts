import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "./chromium.ts";

const source = await readFile(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** What depends on the colours and the width of a page alone, and on nothing that it is made of. */
const ofTheLook = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"];

// It would load the styles of the preview, which is a picture, with a style that the policy forbids.
const judge = `(async (selector, rules) => {
  const around = selector === null ? document : document.querySelector(selector);
  const runOnly = rules.length > 0 ? { runOnly: { type: "rule", values: rules } } : {};
  const { passes, violations } = await axe.run(around, { preload: false, resultTypes: ["violations"], ...runOnly });
  const faults = violations.map(({ id, nodes }) =>
    id + ": " + nodes.map(({ html, failureSummary }) => html + " " + failureSummary).join("; "));
  return [passes.length + violations.length, faults];
})`;

const prepared = new WeakSet<Page>();

/** Has axe judge the page by all of its rules, or after that by those of the look alone; a part of it if a selector is given. */
export async function faultsIn(
  page: Page,
  rules: "all" | "of the look",
  selector: string | null = null,
): Promise<readonly string[]> {
  // The script of the tests runs beside the policy of the page, which lets none of the page's own run. Every page that comes has it.
  if (!prepared.has(page)) await page.raw("Page.addScriptToEvaluateOnNewDocument", { source, runImmediately: true });
  prepared.add(page);
  const [judged, faults] = (await page.run(judge, selector, rules === "all" ? [] : ofTheLook)) as [number, string[]];
  if (judged < (rules === "all" && selector === null ? 10 : 1)) throw new Error("axe judged hardly anything");
  return faults;
}
