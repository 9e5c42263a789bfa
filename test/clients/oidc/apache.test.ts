import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Application, application, issuerOf, type Person } from "../../provider/application.ts";
import { type Browser, type Page, startChromium } from "../browser/chromium.ts";
import { shows, submit } from "../browser/forms.ts";
import { found } from "../toolchains.ts";
import { type Apache, apacheOrigin, startApache } from "./apache.ts";
import { openFront } from "./front.ts";

const timeout = 300_000;

describe.skipIf(!found("apache") || !found("chromium"))("mod_auth_openidc", () => {
  const opened = new AsyncDisposableStack();
  let chromium: Browser;
  let postern: Postern;
  let apache: Apache;
  let app: Application;
  let person: Person;
  beforeAll(async () => {
    chromium = opened.use(await startChromium());
    const front = opened.use(await openFront());
    postern = opened.use(await startPostern(front.settings));
    const origin = await apacheOrigin();
    app = await application(postern.admin, {
      devMode: true,
      redirectUris: [`${origin}/callback`],
      postLogoutRedirectUris: [`${origin}/bye`],
      backChannelLogoutUri: `${front.url}/callback?logout=backchannel`,
    });
    front.sendTo(origin);
    apache = opened.use(await startApache(origin, { issuer: issuerOf(postern), ...app }));
    person = await signedUp(postern);
  }, timeout);
  afterAll(() => opened.disposeAsync());

  /** Signs the person in at a page of the application, from its address to what it shows. */
  async function signedIn(path: string): Promise<Page> {
    const page = await chromium.open(apache.origin + path);
    await signIn(page);
    await shows(page, `"page":"${path}"`);
    return page;
  }

  async function signIn(page: Page) {
    await shows(page, pageText("password", "en"));
    await submit(page, { login_name: person.username, password: person.password }, "password");
  }

  const goTo = (page: Page, path: string) => page.leave("((url) => { location.href = url; })", apache.origin + path);
  const signOut = (page: Page) => goTo(page, `/callback?logout=${encodeURIComponent(`${apache.origin}/bye`)}`);

  test("signs in, and the application hears of the user and of roles, which guard a page", { timeout }, async () => {
    const page = await signedIn("/notes?of=today");
    const claims = { sub: person.userId, email: `${person.username}@example.com` };
    const read = async () => JSON.parse(String(await page.run("(() => document.body.innerText)")));
    expect(await read()).toMatchObject(claims);
    await goTo(page, "/edit");
    expect(await page.run("(() => document.body.innerText)")).not.toContain('"page"');

    const role = { key: "editor", displayName: "Editor" };
    expect((await postern.admin.post(`/v1/projects/${app.projectId}/roles`, role)).status).toBe(200);
    const grant = { projectId: app.projectId, roleKeys: ["editor"] };
    expect((await postern.admin.post(`/v1/users/${person.userId}/grants`, grant)).status).toBe(200);
    await signOut(page);
    await shows(page, "/bye");
    await goTo(page, "/edit");
    await signIn(page);
    await shows(page, '"page":"/edit"');
    expect(await read()).toMatchObject({ ...claims, roles: "editor" });
    await signOut(page);
  });

  test("asks for the password again after a sign-out, for pages that the browser has seen too", {
    timeout,
  }, async () => {
    const page = await signedIn("/notes");
    await goTo(page, "/other");
    await shows(page, '"page":"/other"');
    await signOut(page);
    await shows(page, "/bye");
    // Chromium keeps what one page of a site leads to apart from what other sites lead to, such as the sign-in.
    await goTo(page, "/other");
    await shows(page, pageText("password", "en"));
  });

  test("is signed out with the session at Postern", { timeout }, async () => {
    const page = await signedIn("/notes");
    const { body } = await postern.admin.get(`/v1/sessions?userId=${person.userId}`);
    for (const { id } of body.sessions) expect((await postern.admin.delete(`/v1/sessions/${id}`)).status).toBe(200);
    const isOut = async () => {
      await goTo(page, "/notes");
      expect(await page.run("(() => document.body.innerText)")).toContain(pageText("password", "en"));
    };
    await vi.waitFor(isOut, { timeout: 60_000, interval: 500 });
  });
});
