import type { Browser } from "../../test/provider/browser.ts";

/** The cookies of a browser as it sends them; those that were taken away are left out. */
export const cookieOf = ({ cookies }: Browser): string =>
  [...cookies]
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
