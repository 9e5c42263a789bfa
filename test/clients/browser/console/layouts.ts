import { expect, test } from "vitest";
import type { Page } from "../chromium.ts";
import { pagePaths, tabsOf } from "./page_paths.ts";
import { follow, type Stage } from "./stage.ts";

const languages = ["en", "de", "fr", "es"] as const;

/** How a page stands: its width, and what is written in no language or was not filled in. */
const stands = `(async ({ language, dir }) => {
  const chooser = document.querySelector(".language select");
  chooser.value = language;
  chooser.dispatchEvent(new Event("change", { bubbles: true }));
  document.documentElement.dir = dir;
  // The file of a language comes first.
  do await new Promise(requestAnimationFrame);
  while (document.documentElement.lang !== language);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const strange = /\\{\\w+\\}|undefined|\\[object/.exec(document.querySelector("main").innerText)?.[0];
  return [document.documentElement.lang, Math.max(wide, 0), strange ?? ""];
})`;

const narrow = { width: 360, text: 16, dir: "ltr" };
const shapes = [
  ...languages.map((language) => ({ ...narrow, language })),
  { ...narrow, dir: "rtl", language: "en" },
  { width: 1280, text: 32, dir: "ltr", language: "de" },
  { width: 1280, text: 32, dir: "rtl", language: "en" },
] as const;

/** Every page on a telephone, in large text, in every language, and from right to left. */
export function layouts(stage: () => Stage): void {
  test("who goes from page to page for long needs no more memory", async () => {
    const { signIn, owner, projectId, appId, nodes } = stage();
    const page = await signIn(owner);
    const paths = pagePaths({ userId: owner.userId, projectId, appId, organizationId: nodes.one.organizationId });
    const heapAfter = async (changes: number): Promise<number> => {
      for (let at = 0; at < changes; at++) await follow(page, paths[at % paths.length] ?? "/");
      await page.raw("HeapProfiler.collectGarbage");
      return Number((await page.raw("Runtime.getHeapUsage")).usedSize);
    };
    // The first round loads what each page needs.
    const [early, late] = [await heapAfter(paths.length), await heapAfter(4 * paths.length)];
    expect(late, `${late} bytes after ${early}`).toBeLessThan(1.3 * early);
  });

  test("no page is wider than its screen, in any language, at 200 % text and from right to left", async () => {
    const { signIn, owner, projectId, appId, nodes } = stage();
    const page = await signIn(owner);
    await page.inColors("dark");
    const shown = { userId: owner.userId, projectId, appId, organizationId: nodes.one.organizationId };
    const paths = new Set(pagePaths(shown));
    const wrong: unknown[] = [];
    for (const path of paths) {
      await page.onScreen(1280);
      await page.raw("Page.setFontSizes", { fontSizes: { standard: 16 } });
      await follow(page, path);
      for (const tab of await tabsOf(page)) paths.add(tab);
      for (const shape of shapes) wrong.push(...(await faultsOf(page, path, shape)));
    }
    expect(paths.size).toBeGreaterThan(20);
    expect(wrong).toEqual([]);
    // Nothing that a page asks for is refused or missing.
    expect(page.refused).toEqual([]);
  });
}

async function faultsOf(page: Page, path: string, shape: (typeof shapes)[number]): Promise<unknown[]> {
  await page.onScreen(shape.width);
  // As whoever needs larger text has told the browser, so that what depends on its size follows.
  await page.raw("Page.setFontSizes", { fontSizes: { standard: shape.text } });
  const [language, wide, strange] = (await page.run(stands, shape)) as [string, number, string];
  return language === shape.language && wide === 0 && strange === "" ? [] : [{ path, shape, wide, strange }];
}
