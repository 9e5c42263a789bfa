import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  exchange,
  issuerOf,
  type Person,
  signIn,
} from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** A browser in which these persons signed in, one after the other. */
async function browserOf(...persons: readonly Person[]): Promise<Browser> {
  const browser = openBrowser(issuer);
  for (const person of persons) await signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), person);
  return browser;
}

const open = (browser: Browser, more: Readonly<Record<string, string>> = {}) =>
  browser.open(authorizeUrl(issuer, app, more));

/** The accounts that a page shows, in their order: the ids of their sessions by username. */
const accountsIn = ({ text }: Shown): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/name="account" value="([^"]*)"[^>]*>[^<]*<small>([^<]*)</g)].map(([, id = "", name = ""]) => [
      name,
      id,
    ]),
  );

const choose = (browser: Browser, page: Shown, { username }: Person) =>
  browser.submit(page, { account: accountsIn(page)[username] ?? "" }, "choose");

/** The tokens of the application say who signed in. */
async function userOf(shown: Shown): Promise<{ sub: string; hint: string }> {
  const { body } = await exchange(issuer, app, answerIn(shown).code ?? "");
  const { sub } = JSON.parse(Buffer.from(body.id_token.split(".")[1], "base64url").toString());
  return { sub, hint: body.id_token };
}

test("with several accounts the browser asks which, and goes on without a password", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada, ben);
  const page = await open(browser);
  expect([page.status, Object.keys(accountsIn(page))]).toEqual([200, [ben.username, ada.username]]);
  expect((await userOf(await choose(browser, page, ada))).sub).toBe(ada.userId);
  expect(Object.keys(accountsIn(await open(browser)))).toEqual([ada.username, ben.username]);
  expect(answerIn(await open(browser, { prompt: "none" })).error).toBe("account_selection_required");
});

test("the prompt select_account asks with one account, too, and another one can be used", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada);
  const page = await open(browser, { prompt: "select_account" });
  expect(Object.keys(accountsIn(page))).toEqual([ada.username]);
  const form = await browser.submit(page, {}, "other");
  const back = await browser.submit(form, { login_name: ben.username, password: ben.password });
  expect((await userOf(back)).sub).toBe(ben.userId);
  expect(Object.keys(accountsIn(await open(browser)))).toEqual([ben.username, ada.username]);
  expect((await openBrowser(issuer).open(authorizeUrl(issuer, app, { prompt: "select_account" }))).text).toContain(
    'name="password"',
  );
});

test("login_hint and id_token_hint pick the account", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada, ben);
  for (const login_hint of [ada.username, ada.username.toUpperCase(), `${ada.username}@example.com`])
    expect((await userOf(await open(browser, { login_hint, prompt: "none" }))).sub).toBe(ada.userId);
  const { hint } = await userOf(await open(browser, { login_hint: ben.username }));
  expect((await userOf(await open(browser, { id_token_hint: hint, prompt: "none" }))).sub).toBe(ben.userId);
});

test("a hint of somebody who is not signed in is no reason to send somebody else", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada);
  const hints = { login_hint: ben.username };
  expect(answerIn(await open(browser, { ...hints, prompt: "none" })).error).toBe("login_required");
  const page = await open(browser, hints);
  expect(Object.keys(accountsIn(page))).toEqual([ada.username]);
  const form = await browser.submit(page, {}, "other");
  expect(form.text).toContain(`value="${ben.username}"`);
  const { hint } = await userOf(await open(await browserOf(ben)));
  expect(answerIn(await open(browser, { id_token_hint: hint, prompt: "none" })).error).toBe("login_required");
});

test("an account whose sign-in is not fresh enough needs its password, with its name filled in", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada, ben);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update browser_sessions set auth_time = auth_time - interval '1 hour' where user_id = ${ada.userId}`;
  const page = await open(browser, { max_age: "600", prompt: "select_account" });
  const form = await choose(browser, page, ada);
  expect([form.status, form.text]).toEqual([200, expect.stringContaining(`value="${ada.username}"`)]);
  const back = await browser.submit(form, { login_name: ada.username, password: ada.password });
  expect((await userOf(back)).sub).toBe(ada.userId);
  expect(answerIn(await choose(browser, page, ben)).code).toEqual(expect.any(String));
});

test("an account that was signed out elsewhere is not shown, and choosing it asks for the password", async () => {
  const [ada, ben, eve] = [await signedUp(postern), await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada, ben, eve);
  const page = await open(browser);
  await postern.admin.put(`/v1/users/${ada.userId}/password`, { newPassword: "Green-Teapot-77" });
  expect(Object.keys(accountsIn(await open(browser)))).toEqual([eve.username, ben.username]);
  expect((await choose(browser, page, ada)).text).toContain('name="password"');
});

test("who signs in again takes the place of the account before", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada, ben, ada);
  expect(Object.keys(accountsIn(await open(browser)))).toEqual([ada.username, ben.username]);
});

test("a browser keeps eight accounts, the latest ones", async () => {
  const persons = await Promise.all(Array.from({ length: 9 }, () => signedUp(postern)));
  const browser = await browserOf(...persons);
  const names = Object.keys(accountsIn(await open(browser)));
  expect(names).toEqual(
    persons
      .slice(1)
      .reverse()
      .map(({ username }) => username),
  );
  // The first one is not in the cookie any more, and its session goes on all the same.
  const kept = await persons[0]?.client.get("/v1/sessions");
  expect(kept?.body.sessions).toHaveLength(2);
});

test("the accounts of another browser cannot be chosen, nor those that a cookie makes up", async () => {
  const [ada, ben, eve] = [await signedUp(postern), await signedUp(postern), await signedUp(postern)];
  const [theirs, own] = [await browserOf(ada, ben), await browserOf(eve)];
  const [shown, page] = [await open(theirs), await open(own, { prompt: "select_account" })];
  const stolen = await own.submit(page, { account: accountsIn(shown)[ada.username] ?? "" }, "choose");
  expect(stolen.text).toContain('name="password"');
  expect((await own.submit(shown, { account: accountsIn(shown)[ada.username] ?? "" }, "choose")).status).toBe(403);
  own.cookies.set("postern-accounts", Array(100).fill(own.cookies.get("postern-session")).join("."));
  expect(answerIn(await open(own)).code).toEqual(expect.any(String));
  own.cookies.set("postern-accounts", "os_nothing..;..");
  expect(answerIn(await open(own)).code).toEqual(expect.any(String));
});

const native = { appType: "OIDC_APP_TYPE_NATIVE", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" };

test.each([true, false])(
  "a native application needs a click of a user who is signed in (skipNativeAppSuccessPage: %s)",
  async (skipNativeAppSuccessPage) => {
    const redirectUris = ["com.example.app:/cb"];
    const phone = await application(postern.admin, { ...native, redirectUris, skipNativeAppSuccessPage });
    const browser = await browserOf(await signedUp(postern));
    const silent = await browser.open(authorizeUrl(issuer, phone, { prompt: "none" }));
    expect(answerIn(silent).error).toBe("interaction_required");
    const asked = await browser.open(authorizeUrl(issuer, phone));
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('value="continue"')]);
    const end = await browser.submit(asked, {}, "continue");
    if (skipNativeAppSuccessPage) return expect(end.url).toMatch(/^com\.example\.app:\/cb\?code=/);
    expect([end.status, end.text]).toEqual([200, expect.stringContaining(`<h1>${pageText("signed_in", "en")}</h1>`)]);
    expect(end.text).toMatch(/<a class="button" href="com\.example\.app:\/cb\?code=/);
  },
);

test("the click on an account is the click that a native application needs", async () => {
  const phone = await application(postern.admin, { ...native, redirectUris: ["com.example.app:/cb"] });
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = await browserOf(ada, ben);
  const page = await browser.open(authorizeUrl(issuer, phone));
  expect((await choose(browser, page, ada)).text).toContain(`<h1>${pageText("signed_in", "en")}</h1>`);
});
