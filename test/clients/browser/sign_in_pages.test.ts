import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { languages } from "../../../src/messages/language.ts";
import { type PageText, pageText } from "../../../src/messages/page.ts";
import { accountPaths } from "../../../src/provider/request/own_client.ts";
import { foreignApplication } from "../../fixture/connection.ts";
import { withTotp } from "../../fixture/factors.ts";
import { onePixel } from "../../fixture/images.ts";
import { latestCode, withMailbox } from "../../fixture/sign_in_mail.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { application, authorizeUrl, issuerOf } from "../../provider/application.ts";
import { invite, linkTo, newAddress } from "../../services/invitations/invited.ts";
import { give, giver, receiver } from "../../services/invitations/received.ts";
import { registering } from "../../services/registrations/registering.ts";
import { found } from "../toolchains.ts";
import { faultsIn } from "./axe.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";

const state = `(() => ({
  url: location.href, title: document.querySelector("h1")?.textContent, width: document.documentElement.scrollWidth,
}))`;
const go = "((url) => { location.href = url; })";
const click = `((button, values) => {
  for (const [name, value] of Object.entries(values)) document.querySelector('[name="' + name + '"]').value = value;
  document.querySelector(button).click();
})`;

type State = { readonly url: string; readonly title: string | null; readonly width: number };
const stateOf = async (page: Page) => (await page.run(state)) as State;

/** Waits until the page is at an address. While one goes and another comes nothing can be asked. */
const arrives = (page: Page, url: RegExp) =>
  vi.waitFor(async () => expect((await stateOf(page)).url).toMatch(url), 60_000);

/** Waits until the page has a heading. */
const shows = (page: Page, title: RegExp) =>
  vi.waitFor(async () => expect((await stateOf(page)).title).toMatch(title), 60_000);

/** Has axe judge the page in light colours on a desk, and in dark ones on a telephone; answers its heading. */
async function judged(page: Page): Promise<string | null> {
  for (const [screen, scheme] of [
    [1280, "light"],
    [360, "dark"],
  ] as const) {
    await page.onScreen(screen);
    await page.inColors(scheme);
    const { title, width } = await stateOf(page);
    expect([title, screen, scheme, await faultsIn(page)]).toEqual([title, screen, scheme, []]);
    // Beside a page that is long, a desk shows a bar.
    expect(width, `the width of ${title}`).toBeLessThanOrEqual(screen);
  }
  return (await stateOf(page)).title;
}

const links = {
  termsUri: "https://example.com/terms",
  privacyUri: "https://example.com/privacy",
  helpUri: "https://example.com/help",
};

const password = (loginName: string, secret: string) =>
  [click, "[value=password]", { login_name: loginName, password: secret }] as const;

/** The messages of the console but those for pages that are refusals. */
const withoutRefusals = (messages: readonly string[]) => messages.filter((text) => !/status of 40[01]/.test(text));

/** A server of an application, which remembers the targets of its requests. */
async function startApplication(opened: AsyncDisposableStack) {
  const targets: string[] = [];
  const server = createServer((request, response) => {
    targets.push(request.url ?? "");
    response.setHeader("content-type", "text/html").end("<!doctype html><title>App</title><h1>App</h1>");
  }).listen(0, "localhost");
  await once(server, "listening");
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { targets, redirectUri: `http://localhost:${(server.address() as AddressInfo).port}/cb` };
}

// One browser for all tests, whose windows have cookies of their own, and one server but for whoever changes its pages.
describe.skipIf(!found("chromium"))("in Chromium", () => {
  const all = new AsyncDisposableStack();
  let chromium: Browser;
  let postern: Postern;
  let issuer: string;
  beforeAll(async () => {
    chromium = all.use(await startChromium());
    postern = all.use(await startPostern());
    issuer = issuerOf(postern);
  }, 120_000);
  afterAll(() => all.disposeAsync());

  async function opens(url: string, opened: AsyncDisposableStack): Promise<Page> {
    const page = await (await chromium.apart()).open(url);
    opened.defer(page.close);
    return page;
  }

  test("the policy lets a consent lead back to the application, and no script is needed", {
    timeout: 120_000,
  }, async () => {
    await using opened = new AsyncDisposableStack();
    const { targets, redirectUri } = await startApplication(opened);
    const settings = { redirectUris: [redirectUri], devMode: true };
    const app = await foreignApplication(postern, postern.organizationId, settings);
    const person = await signedUp(postern);
    const page = await opens(authorizeUrl(issuer, app), opened);
    await page.leave(...password(person.username, person.password));
    expect((await stateOf(page)).title).toMatch(/^Allow App .* access\?$/);
    await page.run(click, "[value=allow]", {});
    await arrives(page, /\/cb\?code=/);
    await page.leave(go, authorizeUrl(issuer, app, { prompt: "consent" }));
    // The application's page may end its loading after the address that it was asked at.
    await shows(page, /^Allow App .* access\?$/);
    await page.run(click, "[value=cancel]", {});
    await arrives(page, /\/cb\?error=/);
    expect(targets.filter((target) => target.startsWith("/cb")).map((target) => target.slice(0, 9))).toEqual([
      "/cb?code=",
      "/cb?error",
    ]);
    expect(withoutRefusals(page.messages)).toEqual([]);
  });

  test("axe finds nothing in any page, in light colours on a desk and in dark ones on a telephone", {
    timeout: 300_000,
  }, async () => {
    await using opened = new AsyncDisposableStack();
    const postern = opened.use(await startPostern());
    const issuer = issuerOf(postern);
    const branding = { productName: "Harbour Cloud", signInText: "Call 555.", ...links, accentColor: "#0a7a5c" };
    const own = { instance: true, branding, logo: onePixel, favicon: onePixel };
    expect((await postern.admin.put("/v1/branding", own)).status).toBe(200);
    const policy = { restoreDays: 7, selfErasure: true };
    expect((await postern.admin.put("/v1/policies/privacy", { policy })).status).toBe(200);
    const app = await foreignApplication(postern, postern.organizationId, { name: "Shop" });
    const native = await application(postern.admin, {
      ...{ appType: "OIDC_APP_TYPE_NATIVE", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
      ...{ redirectUris: ["com.example.app:/cb"], name: "Tool" },
    });
    const [ada, ben] = [await signedUp(postern), await withTotp(postern)];
    const scope = "openid profile email phone roles offline_access";
    const page = await opens(authorizeUrl(issuer, app, { scope }), opened);
    const titles = [await judged(page)];
    const shown = async (...step: readonly [string, ...unknown[]]) => {
      await page.leave(...step);
      titles.push(await judged(page));
    };

    await shown(...password(ada.username, "wrong"));
    await shown(...password(ada.username, ada.password));
    await shown(go, `${issuer}/oauth/authorize?client_id=none`);
    await page.leave(go, authorizeUrl(issuer, app, { scope, prompt: "login" }));
    await shown(...password(ben.username, ben.password));
    await shown(click, "[value=factor]", { code: ben.code() });
    await shown(go, authorizeUrl(issuer, native));
    await page.leave(click, "[value=other]", {});
    await page.leave(...password(ada.username, ada.password));
    titles.push(await judged(page));
    await page.leave(go, `${issuer}/account`);
    titles.push(await judged(page));
    await shown(click, "[value=ask_everywhere]", {});
    await shown(go, `${issuer}/account/profile`);
    await shown(click, "[value=save]", { postal_code: "9".repeat(51) });
    await shown(go, `${issuer}/account/email`);
    await shown(go, `${issuer}/account/phone`);
    await shown(click, "[value=change]", { phone: "12" });
    await shown(go, `${issuer}/account/password`);
    await shown(click, "[value=change]", { old_password: "x", new_password: "y" });
    await shown(go, `${issuer}/account/delete`);
    await shown(click, "[value=ask]", {});
    await shown(go, `${issuer}/account/sessions`);
    await shown(click, "[name=ask_session]", {});
    await page.leave(go, `${issuer}/account/sessions`);
    await shown(click, "[value=ask_others]", {});
    await shown(go, `${issuer}/account/applications`);
    await shown(click, "[name=ask_application]", {});
    await shown(go, authorizeUrl(issuer, native, { login_hint: ada.username }));
    await shown(go, authorizeUrl(issuer, app, { scope, login_hint: ben.username }));
    await page.leave(go, `${issuer}/account?x=1`);
    await page.leave(click, "[value=switch]", {});
    titles.push(await judged(page));
    await page.leave(click, "button[name=account]:nth-of-type(2)", {});
    await shown(go, `${issuer}/account/factors`);
    await shown(click, "[value=ask_remove]", {});
    await page.leave(go, `${issuer}/account/factors`);
    await shown(click, "[value=codes]", {});
    await shown(go, `${issuer}/account/factors`);
    await shown(click, '[href="/account/factors/add"]', {});
    await shown(go, `${issuer}/device`);
    await shown(go, `${issuer}/password/forgotten`);
    await shown(go, `${issuer}/password`);
    const mailed = await withMailbox(postern, { organizationId: postern.organizationId });
    await page.leave(go, authorizeUrl(issuer, app, { prompt: "login" }));
    await shown(click, "[value=mail]", { login_name: mailed.username });
    await shown(click, "[value=code]", { code: "2222-2222" });
    const link = `${issuer}/sign-in/code?code=${await latestCode(postern, mailed.email)}`;
    await shown(go, link);
    const email = newAddress();
    const grants = [{ projectId: native.projectId, roleKeys: [] }];
    await invite(postern.admin, { email, memberships: [{ roles: ["ORG_VIEWER"] }], grants });
    await page.leave(go, await linkTo(postern, email));
    titles.push(await judged(page));
    await shown(click, '[href$="?new=1"]', {});
    const names = { given_name: "Grace", family_name: "Hopper", username: email };
    await shown(click, "[value=join]", { ...names, new_password: "short" });
    await shown(click, "[value=join]", { ...names, new_password: "Green-Teapot-77" });
    await shown(go, `${issuer}/invitation/organization`);
    const organizationId = await registering(postern);
    const open = await application(postern.admin, {}, { "x-service-orgid": organizationId });
    await shown(go, authorizeUrl(issuer, open, { prompt: "create" }));
    const newcomer = newAddress();
    await shown(click, "[value=send]", { email: newcomer });
    await page.leave(go, await linkTo(postern, newcomer));
    titles.push(await judged(page));
    const person = { given_name: "Grace", family_name: "Hopper", new_password: "short" };
    await shown(click, "[value=create]", person);
    await shown(go, `${issuer}/oauth/end-session`);
    await page.leave(go, `${issuer}/account`);
    await shown(click, "[value=sign_out]", {});
    await page.clearCookies();
    await shown(go, link);
    const consent = pageText("consent_title", "en", { application: "Shop" });
    const of = (...keys: readonly PageText[]) => keys.map((key) => pageText(key, "en", { application: "Tool" }));
    expect(titles).toEqual([
      ...[...of("sign_in", "sign_in"), consent, ...of("error", "factor_title"), consent, ...of("choose_account")],
      ...of("signed_in", "account", "everywhere_title", "account_profile", "account_profile"),
      ...of("account_email", "account_phone", "account_phone", "account_password", "account_password"),
      ...of("account_delete", "delete_title"),
      ...of("account_sessions", "end_title", "others_title", "account_applications", "disconnect_title"),
      ...[...of("continue_title"), consent],
      ...of("choose_account", "account_factors", "remove_title", "codes_title", "account_factors"),
      ...of("enrol_title", "device_title", "forgotten_title", "new_title"),
      ...of("mail_title", "mail_title", "mailed_title"),
      ...of("invited_title", "invited_title", "invited_title", "joined_title", "invited_title"),
      ...of("register", "mail_title", "register", "register"),
      ...of("sign_out_title", "signed_out", "mailed_title"),
    ]);
    expect(withoutRefusals(page.messages)).toEqual([]);
  });

  test.each(languages)(
    "axe finds nothing in a page of an account or of a mail, and none is too wide: %s",
    {
      timeout: 120_000,
    },
    async (language) => {
      await using opened = new AsyncDisposableStack();
      const between = { from: await giver(postern), to: await receiver(postern) };
      const { person } = between.to;
      for (const gift of ["a user grant", "a membership of a project"] as const)
        await give(between.from.owner.client, gift, between);
      const [organizationId, newcomer, guest] = [await registering(postern), newAddress(), newAddress()];
      const open = await application(postern.admin, {}, { "x-service-orgid": organizationId });
      const mailed = await withMailbox(postern, { organizationId: postern.organizationId });
      const app = await application(postern.admin);
      await invite(postern.admin, { email: guest, memberships: [{ roles: ["ORG_VIEWER"] }] });
      const page = await opens(`${issuer}/account?page_language=${language}`, opened);
      const fine = async (...step: readonly [string, ...unknown[]]) => {
        await page.leave(...step);
        await page.onScreen(360);
        const { title, width } = await stateOf(page);
        const tag = await page.run("(() => document.documentElement.lang)");
        expect([title, tag, width, await faultsIn(page)]).toEqual([title, language, 360, []]);
      };
      await fine(go, authorizeUrl(issuer, open, { prompt: "create" }));
      await fine(click, "[value=send]", { email: newcomer });
      await fine(go, await linkTo(postern, newcomer));
      await fine(click, "[value=create]", { given_name: "Grace", family_name: "Hopper", new_password: "short" });
      await fine(go, await linkTo(postern, guest));
      await fine(go, authorizeUrl(issuer, app, { prompt: "login" }));
      await fine(click, "[value=mail]", { login_name: mailed.username });
      await fine(click, "[value=code]", { code: "2222-2222" });
      await fine(go, `${issuer}/sign-in/code?code=2222-2222`);
      await page.leave(go, `${issuer}/account/invitations`);
      await fine(...password(person.username, person.password));
      await fine(click, "[name=ask_decline]", {});
      for (const path of accountPaths) await fine(go, issuer + path);
    },
  );
});
