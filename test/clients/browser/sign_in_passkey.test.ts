import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Application, application, authorizeUrl, exchange } from "../../provider/application.ts";
import { freePort } from "../../wire/free_port.ts";
import { found } from "../toolchains.ts";
import { type Page, startChromium } from "./chromium.ts";
import { shows, submit } from "./forms.ts";

/** Clicks the button of the form that a script shows. */
const clickPasskey = (page: Page) =>
  page.run("(() => document.querySelector('form[data-passkey]:not([hidden]) button').click())");

const claimsOf = async (issuer: string, app: Application, page: Page) => {
  await vi.waitFor(async () => expect(await page.run("(() => location.pathname)")).toBe("/done"), 60_000);
  const code = new URLSearchParams(String(await page.run("(() => location.search)"))).get("code") ?? "";
  return decodeJwt((await exchange(issuer, app, code)).body.id_token);
};

describe.skipIf(!found("chromium"))("the pages in Chromium, with its virtual authenticator", () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  let [postern, page, app, issuer] = [{} as Postern, {} as Page, {} as Application, ""];
  let person: Awaited<ReturnType<typeof signedUp>>;
  let present: (isThere: boolean) => Promise<void>;
  const authorize = (more: Record<string, string> = {}) => authorizeUrl(issuer, app, more);
  const go = (url: string) => page.run("((url) => void (location.href = url))", url);

  beforeAll(async () => {
    const port = await freePort();
    issuer = `http://localhost:${port}`;
    postern = opened.use(await startPostern({ port }));
    const redirectUris = [`${issuer}/done`];
    app = await application(postern.admin, { redirectUris, devMode: true });
    const organizationId = await organization(postern);
    person = await signedUp(postern, { organizationId });
    const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
    await postern.admin.put("/v1/policies/factor", { policy }, { "x-service-orgid": organizationId });
    await postern.admin.post(`/v1/projects/${app.projectId}/grants`, { grantedOrganizationId: organizationId });
    page = await opened.use(await startChromium()).open(authorize());
    present = await page.withAuthenticator();
  }, 600_000);

  test("a passkey is enrolled on the way to the application", { timeout: 600_000 }, async () => {
    await submit(page, { login_name: person.username, password: person.password }, "password");
    await shows(page, pageText("enrol_choose", "en"));
    await submit(page, {}, "new_passkey");
    await shows(page, pageText("passkey_create", "en"));
    await clickPasskey(page);
    await shows(page, pageText("codes_text", "en"));
    expect(await page.run("(() => document.querySelectorAll('.codes li').length)")).toBe(10);
    await submit(page, {}, "done");
    // The application is another organization's.
    await shows(page, "Allow App");
    await submit(page, {}, "allow");
    const claims = await claimsOf(issuer, app, page);
    expect(claims).toMatchObject({ sub: person.userId, amr: ["pwd", "hwk", "user", "mfa"] });
  });

  test("it signs in alone by a button, beside a form for the password", { timeout: 600_000 }, async () => {
    // Otherwise the passkey that the field of the login name offers is taken at once.
    await present(false);
    await go(authorize({ prompt: "login" }));
    await shows(page, pageText("passkey_use", "en"));
    expect(await page.run("(() => document.forms[0].elements.namedItem('password').type)")).toBe("password");
    await present(true);
    await clickPasskey(page);
    expect((await claimsOf(issuer, app, page)).amr).toEqual(["hwk", "user", "mfa"]);
  });

  test("it signs in alone from the list of the login name", { timeout: 600_000 }, async () => {
    await go(authorize({ prompt: "login", state: "list" }));
    await vi.waitFor(async () => expect(await page.run("(() => location.search)")).toContain("state=list&iss"), 60_000);
    expect((await claimsOf(issuer, app, page)).amr).toEqual(["hwk", "user", "mfa"]);
  });

  test("it completes a sign-in with the password", { timeout: 600_000 }, async () => {
    await present(false);
    await go(authorize({ prompt: "login" }));
    await shows(page, pageText("passkey_use", "en"));
    await submit(page, { login_name: person.username, password: person.password }, "password");
    await shows(page, pageText("factor_title", "en"));
    await present(true);
    await clickPasskey(page);
    expect((await claimsOf(issuer, app, page)).amr).toEqual(["pwd", "hwk", "user", "mfa"]);
  });

  test("the page for an app draws its code, and fits a screen of 360 pixels", { timeout: 600_000 }, async () => {
    await go(`${issuer}/account/factors/add`);
    await shows(page, pageText("enrol_app", "en"));
    await submit(page, {}, "app");
    await shows(page, pageText("secret", "en"));
    await page.onScreen(360);
    const size =
      "(() => [innerWidth, document.documentElement.scrollWidth, document.querySelector('.qr').clientWidth])";
    const [width, scrolled, drawn] = (await page.run(size)) as number[];
    expect([width, scrolled]).toEqual([360, 360]);
    expect(drawn).toBeGreaterThan(150);
  });

  test("no policy refused anything that the pages need", () => {
    expect(page.messages.filter((text) => !/404/.test(text))).toEqual([]);
  });
});
