import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { issuerOf, type Person } from "../../provider/application.ts";
import { type ExampleServer, startExample } from "../../provider/example_server.ts";
import { found } from "../toolchains.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";
import { shows, submit } from "./forms.ts";

const timeout = 300_000;
const click = (page: Page, id: string) => page.run("((id) => document.getElementById(id).click())", id);

/** Clicks and fills in what it takes to sign in, from the page of the application back to it. */
async function signIn(page: Page, { username, password }: Person) {
  await shows(page, "Nobody is signed in");
  await click(page, "sign-in");
  await shows(page, pageText("password", "en"));
  await submit(page, { login_name: username, password }, "password");
  await shows(page, `Signed in as ${username}`);
}

/** Does what leads to another document, and waits until that shows a text. */
async function arrives(page: Page, act: string, text: string) {
  await page.run(`(() => { globalThis.isOld = true; ${act}; })`);
  const shown = () => page.run("(() => globalThis.isOld ? '' : document.body.innerText)");
  await vi.waitFor(async () => expect(await shown()).toContain(text), 60_000);
}

const tokenIn = (page: Page) => page.run("(() => JSON.parse(Object.values(sessionStorage)[0]).access_token)");

describe.skipIf(!found("chromium"))("the example of a single page, in Chromium", () => {
  const opened = new AsyncDisposableStack();
  let chromium: Browser;
  let person: Person;
  let postern: Postern;
  let app: ExampleServer;
  beforeAll(async () => {
    chromium = opened.use(await startChromium());
    postern = opened.use(await startPostern());
    app = opened.use(await startExample(postern, "single-page"));
    person = await signedUp(postern);
  }, timeout);
  afterAll(() => opened.disposeAsync());

  test("signs in from its own origin, learns of a role, survives a reload, and signs out", { timeout }, async () => {
    const page = await chromium.open(app.origin);
    await signIn(page, person);
    await shows(page, "roles: none");
    expect(await page.run("(() => location.href)")).toBe(`${app.origin}/`);

    await postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key: "editor", displayName: "Editor" });
    const grant = { projectId: app.projectId, roleKeys: ["editor"] };
    expect((await postern.admin.post(`/v1/users/${person.userId}/grants`, grant)).status).toBe(200);
    await click(page, "renew");
    await shows(page, "roles: editor");
    await arrives(page, "location.reload()", "roles: editor");

    await arrives(page, "document.getElementById('sign-out').click()", "Nobody is signed in");
    expect(await page.run("(() => location.href)")).toBe(`${app.origin}/`);
    await click(page, "sign-in");
    await shows(page, pageText("password", "en"));
    expect(page.requests).toEqual(
      expect.arrayContaining(["POST /oauth/token", "OPTIONS /oauth/userinfo", "GET /oauth/userinfo"]),
    );
    expect(page.messages.filter((text) => !/favicon|404/.test(text))).toEqual([]);
  });

  test("renews its tokens by itself before they expire", { timeout }, async () => {
    // The library renews a minute before the end.
    await using quick = await startPostern({ oauthTokenLifetimeSeconds: 63 });
    await using app = await startExample(quick, "single-page");
    const page = await chromium.open(app.origin);
    await signIn(page, await signedUp(quick));
    const first = await tokenIn(page);
    await vi.waitFor(async () => expect(await tokenIn(page)).not.toBe(first), 60_000);
    await shows(page, "Signed in as");
  });

  test("reads that its token is no longer in force, and says that nobody is signed in, once the sign-in has ended", {
    timeout,
  }, async () => {
    const person = await signedUp(postern);
    const page = await chromium.open(app.origin);
    await signIn(page, person);
    // One session that ends leaves what the user asked for while away (offline_access); this ends all of it.
    expect((await postern.admin.delete(`/v1/users/${person.userId}/sessions`)).status).toBe(200);
    const token = await tokenIn(page);
    const userinfo = `${issuerOf(postern)}/oauth/userinfo`;
    const ask = "async (url, token) => (await fetch(url, { headers: { authorization: 'Bearer ' + token } })).json()";
    expect(await page.run(`(${ask})`, userinfo, token)).toMatchObject({ error: "invalid_token" });
    await click(page, "renew");
    await shows(page, "Nobody is signed in");
  });
});
