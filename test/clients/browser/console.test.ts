import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { issuerOf, type Person, verifier } from "../../provider/application.ts";
import { consoleUrl } from "../../provider/console.ts";
import { found } from "../toolchains.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";
import { shows, submit } from "./forms.ts";

const timeout = 300_000;
const addressOf = (page: Page) => page.run("(() => location.href)") as Promise<string>;

/** Waits until the page is at an address. While one goes and another comes nothing can be asked. */
const arrives = (page: Page, url: string) => vi.waitFor(async () => expect(await addressOf(page)).toBe(url), 60_000);

/** What a page may keep beyond its own memory. */
const kept = `(() => JSON.stringify([
  Object.entries(localStorage), Object.entries(sessionStorage), location.href, document.cookie, document.documentElement.outerHTML,
]))`;

/** Renews as the console does, and answers the status of the call that the new token makes. */
const renewed = `(async (url, form) => {
  const { url: answer } = await fetch(url, { redirect: "follow" });
  const code = new URL(answer).searchParams.get("code");
  const tokens = await fetch("/oauth/token", { method: "POST", body: new URLSearchParams({ ...form, code }) });
  const { access_token } = await tokens.json();
  const headers = { authorization: "Bearer " + access_token, "content-type": "application/json" };
  const call = await fetch("/postern.v1.AccountService/GetMe", { method: "POST", headers, body: "{}" });
  return [access_token.slice(0, 3), call.status];
})`;

describe.skipIf(!found("chromium"))("the console, in Chromium", () => {
  const opened = new AsyncDisposableStack();
  let chromium: Browser;
  let postern: Postern;
  let issuer: string;
  let person: Person;
  beforeAll(async () => {
    chromium = opened.use(await startChromium());
    postern = opened.use(await startPostern());
    issuer = issuerOf(postern);
    person = await signedUp(postern);
  }, timeout);
  afterAll(() => opened.disposeAsync());

  test("signs in from 127.0.0.1, renews without a page, keeps no token, and signs out without a question", {
    timeout,
  }, async () => {
    const page = await chromium.open(`http://127.0.0.1:${new URL(issuer).port}/console/`);
    await shows(page, pageText("password", "en"));
    await submit(page, { login_name: person.username, password: person.password }, "password");
    await arrives(page, `${issuer}/console/`);
    await shows(page, "You are not an administrator");
    expect(await page.run(kept)).not.toMatch(/cn_|oc_/);

    const form = {
      ...{ grant_type: "authorization_code", client_id: "postern console", redirect_uri: `${issuer}/console/` },
      code_verifier: verifier,
    };
    expect(await page.run(renewed, consoleUrl(issuer, issuer, { prompt: "none" }), form)).toEqual(["cn_", 200]);
    expect(page.messages).toEqual([]);

    const query = { client_id: "postern console", post_logout_redirect_uri: `${issuer}/console/` };
    const end = `${issuer}/oauth/end-session?${new URLSearchParams({ ...query, logout_hint: person.userId })}`;
    await page.run("((url) => { location.assign(url); })", end);
    // The console finds nobody signed in, and leads to the sign-in.
    await shows(page, pageText("password", "en"));
  });
});
