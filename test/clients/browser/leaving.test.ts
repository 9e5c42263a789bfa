import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Application, application, authorizeUrl, exchange, issuerOf } from "../../provider/application.ts";
import { found } from "../toolchains.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";
import { shows, submit } from "./forms.ts";
import { startWebSite, type WebSite } from "./web_sites.ts";

const timeout = 120_000;

const go = (page: Page, url: string) => page.run("((url) => { location.href = url; })", url);
const addressOf = (page: Page) => page.run("(() => location.href)");

/** The refusals of policies among the messages of the console. */
const refusals = ({ messages }: Page) => messages.filter((text) => /violates|Refused/.test(text));

// Chromium holds each redirect that follows a form against the form-action of the page that the form was on.
describe.skipIf(!found("chromium"))("a browser that leaves the pages for an application, in Chromium", () => {
  const opened = new AsyncDisposableStack();
  let [postern, chromium]: [Postern, Browser] = [] as never;
  let [callback, second, home]: [WebSite, WebSite, WebSite] = [] as never;
  let app: Application;
  let person: Awaited<ReturnType<typeof signedUp>>;
  let page: Page;

  beforeAll(async () => {
    [postern, chromium] = [opened.use(await startPostern()), opened.use(await startChromium())];
    home = opened.use(await startWebSite("localhost", () => ({ text: "Home" })));
    second = opened.use(await startWebSite("127.0.0.1", () => ({ to: `${home.origin}/home` })));
    callback = opened.use(
      await startWebSite("localhost", (target) =>
        target.startsWith("/here") ? { text: "Here" } : { to: `${second.origin}/second` },
      ),
    );
    const uris = [`${callback.origin}/cb`];
    const settings = { redirectUris: uris, postLogoutRedirectUris: [`${callback.origin}/bye`], devMode: true };
    app = await application(postern.admin, { ...settings, name: "Shop" });
    person = await signedUp(postern);
  }, timeout);
  afterAll(() => opened.disposeAsync());
  beforeEach(async () => {
    page = await chromium.open("about:blank");
    await page.clearCookies();
  });

  const password = () => submit(page, { login_name: person.username, password: person.password }, "password");
  const signInUrl = (more: Readonly<Record<string, string>> = {}) => authorizeUrl(issuerOf(postern), app, more);

  /** The parameters of the last request to the callback. */
  const answered = () => {
    const target = callback.requests.at(-1)?.split(" ")[1] ?? "";
    return Object.fromEntries(new URL(target, callback.origin).searchParams);
  };

  test("reaches what a callback redirects to over two more origins, by password and by cancel", {
    timeout,
  }, async () => {
    await go(page, signInUrl());
    await shows(page, pageText("password", "en"));
    await password();
    await shows(page, "Home");
    expect(await addressOf(page)).toBe(`${home.origin}/home`);
    expect((await exchange(issuerOf(postern), app, answered().code ?? "")).status).toBe(200);
    await go(page, signInUrl({ prompt: "consent" }));
    await shows(page, "Shop");
    await submit(page, {}, "cancel");
    await shows(page, "Home");
    expect(answered().error).toBe("access_denied");
    expect(refusals(page)).toEqual([]);
  });

  test("reaches it without JavaScript too, tells it no referrer, and goes back to the form", { timeout }, async () => {
    await page.withoutScript();
    // A user who is signed in would be sent on at once.
    const url = signInUrl({ prompt: "login" });
    await go(page, url);
    await shows(page, pageText("password", "en"));
    await password();
    await shows(page, "Home");
    expect([callback.headers().referer, refusals(page)]).toEqual([undefined, []]);
    await page.run("(() => history.back())");
    await shows(page, "Shop");
    expect(await addressOf(page)).toBe(url);
  });

  test("goes through a broker to the application that asked the broker", { timeout }, async () => {
    const asked = `${home.origin}/shop/callback`;
    const broker: WebSite = await startWebSite("127.0.0.1", async (target) => {
      const { searchParams, pathname } = new URL(target, "http://broker");
      if (pathname === "/authorize") return { to: authorizeUrl(issuerOf(postern), brokerApp) };
      const code = searchParams.get("code") ?? "";
      const { status } = await exchange(issuerOf(postern), brokerApp, code);
      return { to: `${asked}?tokens=${status}` };
    });
    await using _ = broker;
    const settings = { redirectUris: [`${broker.origin}/endpoint`], devMode: true, name: "Broker" };
    const brokerApp = await application(postern.admin, settings);
    await go(page, `${broker.origin}/authorize`);
    await shows(page, pageText("password", "en"));
    await password();
    await shows(page, "Home");
    expect([await addressOf(page), refusals(page)]).toEqual([`${asked}?tokens=200`, []]);
  });

  test("reaches what the place after a sign-out redirects to", { timeout }, async () => {
    await go(page, signInUrl());
    await shows(page, pageText("password", "en"));
    await password();
    await shows(page, "Home");
    const { body } = await exchange(issuerOf(postern), app, answered().code ?? "");
    await go(page, signInUrl({ prompt: "login" }));
    await shows(page, pageText("password", "en"));
    await password();
    await shows(page, "Home");
    // The hint is of the session before: so the user is asked.
    const bye = `${callback.origin}/bye`;
    const asked = new URLSearchParams({ id_token_hint: body.id_token, post_logout_redirect_uri: bye, state: "s" });
    await go(page, `${issuerOf(postern)}/oauth/end-session?${asked}`);
    await shows(page, pageText("sign_out_title", "en"));
    await submit(page, {}, "sign_out");
    await shows(page, "Home");
    expect([callback.requests.at(-1), refusals(page)]).toEqual(["GET /bye?state=s", []]);
  });

  test("takes the response of form_post to a callback that redirects, with and without JavaScript", {
    timeout,
  }, async () => {
    await go(page, signInUrl({ response_mode: "form_post" }));
    await shows(page, pageText("password", "en"));
    await password();
    await shows(page, "Home");
    await page.withoutScript();
    await go(page, signInUrl({ response_mode: "form_post" }));
    await shows(page, "Open Shop");
    await page.run(`(() => document.querySelector("button").click())`);
    await shows(page, "Home");
    expect(callback.requests.slice(-2)).toEqual(["POST /cb", "POST /cb"]);
    expect(refusals(page)).toEqual([]);
  });
});
