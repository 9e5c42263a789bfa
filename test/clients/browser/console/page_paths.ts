import { textOf } from "../../../rules/tree.ts";
import type { Page } from "../chromium.ts";

/** The objects by which the addresses of pages name what they show. */
export type Shown = Readonly<Record<"userId" | "projectId" | "appId" | "organizationId", string>>;

/** The addresses of all pages, as the console routes them; parts of a page are tabs, which it names itself. */
export function pagePaths(shown: Shown): readonly string[] {
  const routes = [...textOf("console/pages.ts").matchAll(/^ *(?:\{ )?path: "([^"]+)"/gm)].map(([, path = ""]) => path);
  return routes.map((route) =>
    route.replace(/\/:\w+\?/g, "").replace(/:(\w+)/g, (_, name: string) => {
      const id = (shown as Readonly<Record<string, string>>)[name];
      if (!id) throw new Error(`the scenes know no ${name}`);
      return id;
    }),
  );
}

const tabs = `(() => [...document.querySelectorAll("main nav.tabs a")].map(({ pathname }) => pathname.replace(/^\\/console/, "")))`;
const entries = `(() => [...document.querySelectorAll("nav.navigation a")].map(({ pathname }) => pathname.replace(/^\\/console/, "")))`;

/** The tabs of the page that is open. */
export const tabsOf = (page: Page) => page.run(tabs) as Promise<string[]>;

/** The pages that the navigation offers. */
export const entriesOf = (page: Page) => page.run(entries) as Promise<string[]>;
