import { expect, vi } from "vitest";
import type { Page } from "./chromium.ts";

/** Waits for a page that shows a text and has run its script. While a page goes and another comes nothing can be asked. */
export const shows = (page: Page, text: string) =>
  vi.waitFor(
    async () =>
      expect(await page.run("(() => (document.readyState === 'complete' ? document.body.innerText : ''))")).toContain(
        text,
      ),
    60_000,
  );

/** Fills fields of the first form and clicks its button of this value. */
export const submit = (page: Page, fields: Readonly<Record<string, string>>, action: string) =>
  page.run(
    `((fields, action) => {
      for (const [name, value] of Object.entries(fields)) document.forms[0].elements.namedItem(name).value = value;
      document.querySelector('button[value="' + action + '"]').click();
    })`,
    fields,
    action,
  );
