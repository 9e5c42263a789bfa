import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "./chromium.ts";

const source = await readFile(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

// With `preload`, axe would load the styles of the branding's preview into the page, which its policy forbids.
const judge = `(async (selector) => {
  const around = selector === null ? document : document.querySelector(selector);
  const { passes, violations } = await axe.run(around, { preload: false, resultTypes: ["violations"] });
  const faults = violations.map(({ id, nodes }) =>
    id + ": " + nodes.map(({ html, failureSummary }) => html + " " + failureSummary).join("; "));
  return [passes.length, faults];
})`;

const prepared = new WeakSet<Page>();

/** Has axe judge a page, or the part of it that a selector names; returns the faults. */
export async function faultsIn(page: Page, selector: string | null = null): Promise<readonly string[]> {
  // The script runs beside the policy of the page, which allows none of the tests. Pages that follow in the same window have it, too.
  if (!prepared.has(page)) await page.raw("Page.addScriptToEvaluateOnNewDocument", { source, runImmediately: true });
  prepared.add(page);
  const [passed, faults] = (await page.run(judge, selector)) as [number, string[]];
  if (selector === null && passed < 10) throw new Error("axe judged hardly anything");
  return faults;
}
