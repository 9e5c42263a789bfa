import { setTimeout as after } from "node:timers/promises";
import type { Page } from "../chromium.ts";

/** Waits until a function of the page answers true. While one page goes and another comes nothing can be asked. */
export async function until(page: Page, what: string, name: string, ...given: unknown[]): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await page.run(name, ...given).catch(() => false)) return;
    await after(100);
  }
  throw new Error(`the page never came to this: ${what}`);
}
