import { expect, vi } from "vitest";
import { pageText } from "../../../../src/messages/page.ts";
import { signedUp } from "../../../harness.ts";
import type { Person } from "../../../provider/application.ts";
import { startTwoNodes, type TwoNodes } from "../../../two_nodes.ts";
import { type Browser, type Page, startChromium } from "../chromium.ts";
import { shows, submit } from "../forms.ts";
import { type SeeingProxy, startProxy } from "./proxy.ts";

/** What all scenes of the console share: two nodes behind a proxy that sees every call, and one browser. */
export type Stage = AsyncDisposable & {
  readonly nodes: TwoNodes;
  readonly proxy: SeeingProxy;
  readonly chromium: Browser;
  readonly owner: Person;
  /** A project of the first organization, with a role and an application. */
  readonly projectId: string;
  readonly appId: string;
  /** Opens the console and signs in, in windows of its own unless some are given. */
  readonly signIn: (person: Pick<Person, "username" | "password">, path?: string, windows?: Windows) => Promise<Page>;
  /** Looks at every page of a scene, and closes it. */
  readonly endScene: () => Promise<void>;
};

export type Windows = Pick<Browser, "open">;

/** What the browser says by itself about an answer that is an error, which scenes ask for. */
const isAnswer = (text: string): boolean => text.startsWith("Failed to load resource");

export async function openStage(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const proxy = opened.use(await startProxy());
  const nodes = opened.use(await startTwoNodes({ publicUrl: proxy.url }));
  proxy.toward = nodes.one.url;
  const chromium = opened.use(await startChromium());
  const { admin } = nodes.one;
  const owner = await signedUp(nodes.one);
  await admin.post("/v1/members", { userId: owner.userId, roles: ["INSTANCE_OWNER"], instance: true });
  const projectId = (await admin.post("/v1/projects", { name: "Shop" })).body.projectId;
  await admin.post(`/v1/projects/${projectId}/roles`, { key: "viewer", displayName: "Viewer" });
  const app = { name: "Storefront", redirectUris: ["https://shop.example.com/callback"] };
  const appId = (await admin.post(`/v1/projects/${projectId}/applications/oidc`, app)).body.appId;
  const pages = new Set<Page>();
  const stack = opened.move();
  return {
    ...{ nodes, proxy, chromium, owner, projectId, appId },
    async signIn(person, path = "/", windows) {
      const page = await (windows ?? (await chromium.apart())).open(`${proxy.url}/console${path}`);
      pages.add(page);
      await shows(page, pageText("password", "en"));
      await submit(page, { login_name: person.username, password: person.password }, "password");
      await has(page, ".frame main h1, main.notice h1");
      return page;
    },
    async endScene() {
      proxy.between = () => undefined;
      const seen = await Promise.all([...pages].map(keptBy));
      const said = [...pages].flatMap(({ messages }) => messages.filter((text) => !isAnswer(text)));
      await Promise.all([...pages].map((page) => page.close()));
      pages.clear();
      expect(seen.flatMap((text) => text.match(/.{0,200}((?<![\w-])(cn|oc)_[0-9A-Za-z]{27}|[?&]code=)/) ?? [])).toEqual(
        [],
      );
      expect(said).toEqual([]);
      expect(proxy.faults).toEqual([]);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What a page keeps beyond its own memory: storages, databases, cookies that it can read, the address and those before. */
async function keptBy(page: Page): Promise<string> {
  const stored = await page.run(`(async () => JSON.stringify([
    Object.entries(localStorage), Object.entries(sessionStorage), await indexedDB.databases(), await caches.keys(),
    document.cookie, location.href, document.documentElement.outerHTML,
  ]))`);
  const { entries } = await page.raw("Page.getNavigationHistory");
  // What Chromium keeps as typed is the address that was first asked for, with a code that has been used.
  const visited = (entries as { url: string; title: string }[]).map(({ url, title }) => [url, title]);
  return `${stored} ${JSON.stringify(visited)}`;
}

const count = "((selector) => document.querySelectorAll(selector).length)";

export const has = (page: Page, selector: string) =>
  vi.waitFor(async () => expect(await page.run(count, selector), selector).toBeGreaterThan(0), 60_000);

export const hasNot = (page: Page, selector: string) =>
  vi.waitFor(async () => expect(await page.run(count, selector), selector).toBe(0), 60_000);

const addressOf = (page: Page) => page.run("(() => location.pathname)");

const isDrawn = `(async () => {
  for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
  return document.querySelector("main h1, main .trouble") !== null && document.querySelector(".waiting") === null;
})`;

/** Waits until a page has read what it shows. */
export const isRead = (page: Page) =>
  vi.waitFor(
    async () =>
      expect([await addressOf(page), await page.run(isDrawn), page.pending()]).toEqual([expect.any(String), true, 0]),
    {
      timeout: 60_000,
      interval: 20,
    },
  );

/** Goes to another page of the console, as a link of it does. */
export async function follow(page: Page, path: string): Promise<void> {
  // A tab behind another one is not drawn.
  await page.raw("Page.bringToFront");
  const address = `/console${path}`;
  await page.run(goTo, address);
  // The console gives the focus to a page that it has come to.
  await vi.waitFor(async () => expect(await page.run(place)).toEqual([address, "content"]), 60_000);
  await isRead(page);
}

const place = "(() => [location.pathname + location.search, document.activeElement?.id])";
const goTo = `((address) => {
  if (location.pathname + location.search === address) return document.getElementById("content").focus();
  document.activeElement?.blur();
  const link = document.body.appendChild(document.createElement("a"));
  link.href = address;
  link.click();
  link.remove();
})`;

export async function press(page: Page, selector: string): Promise<void> {
  await has(page, selector);
  await page.run("((selector) => document.querySelector(selector).click())", selector);
}

/** Writes into the field with this label. */
export const write = (page: Page, label: string, text: string) =>
  page.run(
    `((label, text) => {
      const named = [...document.querySelectorAll("dialog label, main label")].find((one) => one.textContent.trim().startsWith(label));
      const field = named.control ?? named.querySelector("input, textarea");
      field.focus();
      field.value = text;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    })`,
    label,
    text,
  );

/** What is written in the field with this label. */
export const written = (page: Page, label: string) =>
  page.run(
    `((label) => [...document.querySelectorAll("dialog label, main label")].find((one) => one.textContent.trim().startsWith(label))?.control.value)`,
    label,
  );

export const send = (page: Page) =>
  page.run(`(() => document.querySelector("dialog[open] form, main form").requestSubmit())`);

export const textOf = async (page: Page): Promise<string> =>
  String(await page.run("(() => document.body.textContent)"));
