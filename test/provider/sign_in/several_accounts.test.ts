import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { codeOf } from "../../fixture/authenticator.ts";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
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
import { type Browser, openBrowser, type Shown, textIn } from "../browser.ts";
import { beginDevice, deviceApplication, enterCode, poll } from "../device_flow.ts";

const bye = "https://app.example/bye";
const settings = {
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  postLogoutRedirectUris: [bye],
};

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin, settings);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** Signs a person in at the application; answers what the application got. */
async function enter(browser: Browser, person: Person): Promise<{ readonly hint: string }> {
  const url = authorizeUrl(issuer, app, { prompt: "login" });
  const { code = "" } = answerIn(await signIn(browser, url, person));
  const { body } = await exchange(issuer, app, code);
  return { hint: body.id_token };
}

const endUrl = (parameters: Readonly<Record<string, string>>) =>
  `${issuer}/oauth/end-session?${new URLSearchParams(parameters)}`;

/** Whether the session of an ID token is open. */
async function isOpen({ hint }: { readonly hint: string }): Promise<boolean> {
  const { sub, sid } = decodeJwt(hint);
  const { body } = await postern.admin.get(`/v1/sessions?userId=${sub}`);
  return body.sessions.some(({ id }: { id: string }) => id === sid);
}

/** The usernames of the accounts of a browser, the present one first. */
async function accountsOf(browser: Browser): Promise<string[]> {
  const { text } = await browser.open(authorizeUrl(issuer, app, { prompt: "select_account" }));
  return [...text.matchAll(/<small>([^<]*)<\/small> <small>/g)].map(([, name = ""]) => name);
}

/** Chooses an account on a page. */
async function choose(browser: Browser, page: Shown, { username }: Person): Promise<Shown> {
  const account = textIn(page.text, new RegExp(`name="account" value="([^"]*)"[^>]*>[^<]*<small>${username}<`));
  return browser.submit(page, { account }, "choose");
}

test("a sign-out is about the account of the hint, and the others stay signed in", async () => {
  const [ada, ben, browser] = [await signedUp(postern), await signedUp(postern), openBrowser(issuer)];
  const [adas, bens] = [await enter(browser, ada), await enter(browser, ben)];
  const left = await browser.open(endUrl({ id_token_hint: adas.hint, post_logout_redirect_uri: bye }));
  expect([left.status, left.url]).toEqual([303, bye]);
  expect([await accountsOf(browser), browser.cookies.get("postern-accounts")]).toEqual([[ben.username], ""]);
  expect([await isOpen(adas), await isOpen(bens)]).toEqual([false, true]);
});

test("without a hint a sign-out is about the present account, which the page names", async () => {
  const [ada, ben, eve] = [await signedUp(postern), await signedUp(postern), await signedUp(postern)];
  const browser = openBrowser(issuer);
  for (const person of [ada, ben, eve]) await enter(browser, person);
  const page = await browser.open(endUrl({}));
  expect(page.text).toContain(pageText("continue_text", "en", { name: eve.username }));
  expect((await browser.submit(page, {}, "sign_out")).status).toBe(200);
  expect(await accountsOf(browser)).toEqual([ben.username, ada.username]);
  expect((await browser.submit(page, {}, "sign_out")).status).toBe(403);
  expect(await accountsOf(browser)).toEqual([ben.username, ada.username]);
});

test("after a sign-out the next request goes on with the account that is left, without a page", async () => {
  const [ada, ben, browser] = [await signedUp(postern), await signedUp(postern), openBrowser(issuer)];
  for (const person of [ada, ben]) await enter(browser, person);
  await browser.submit(await browser.open(endUrl({})), {}, "sign_out");
  const { code = "" } = answerIn(await browser.open(authorizeUrl(issuer, app, { scope: "openid" })));
  expect(decodeJwt((await exchange(issuer, app, code)).body.id_token).sub).toBe(ada.userId);
});

test("a sign-in replaces the session of its user alone, and a sign-out ends both, at an application and at the account", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const byHint = openBrowser(issuer);
  const [first, bens, again] = [await enter(byHint, ada), await enter(byHint, ben), await enter(byHint, ada)];
  await byHint.open(endUrl({ id_token_hint: again.hint }));
  expect([await isOpen(first), await isOpen(again)]).toEqual([false, false]);
  expect([await isOpen(bens), await accountsOf(byHint)]).toEqual([true, [ben.username]]);
  const atAccount = openBrowser(issuer);
  const [before] = [await enter(atAccount, ada), await enter(atAccount, ben), await enter(atAccount, ada)];
  await atAccount.submit(await atAccount.open(`${issuer}/account`), {}, "sign_out");
  expect([await isOpen(before), await accountsOf(atAccount)]).toEqual([false, [ben.username]]);
});

test("on a device the chosen account is confirmed with the code all the same", async () => {
  const [ada, ben, browser] = [await signedUp(postern), await signedUp(postern), openBrowser(issuer)];
  for (const person of [ada, ben]) await enter(browser, person);
  const devices = await deviceApplication(postern.admin);
  const codes = await beginDevice(issuer, devices);
  const { page } = await enterCode(issuer, codes.user_code, browser);
  const confirmation = await choose(browser, page, ada);
  expect(confirmation.text).toContain(`Your device shows the code ${codes.user_code}.`);
  expect(confirmation.text).toContain(pageText("continue_text", "en", { name: ada.username }));
  expect((await poll(issuer, devices, codes)).body.error).toBe("authorization_pending");
  await browser.submit(confirmation, {}, "continue");
  expect(decodeJwt((await poll(issuer, devices, codes)).body.id_token).sub).toBe(ada.userId);
});

test("the application of another organization asks for consent after the device is confirmed, and a denial denies it", async () => {
  const organizationId = await organization(postern);
  const person = await signedUp(postern, { organizationId });
  const devices = await deviceApplication(postern.admin);
  const granted = { grantedOrganizationId: organizationId };
  expect((await postern.admin.post(`/v1/projects/${devices.projectId}/grants`, granted)).status).toBe(200);
  const codes = await beginDevice(issuer, devices);
  const { browser, page } = await enterCode(issuer, codes.user_code);
  const confirmation = await browser.submit(page, { login_name: person.username, password: person.password });
  expect(confirmation.text).toContain(`Your device shows the code ${codes.user_code}.`);
  const asked = await browser.submit(confirmation, {}, "continue");
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('value="allow"')]);
  expect((await browser.submit(asked, {}, "cancel")).text).toContain("<h1>");
  expect((await poll(issuer, devices, codes)).body.error).toBe("access_denied");
});

test("who enrols a factor on the way to the application keeps the other accounts of the browser", async () => {
  const organizationId = await organization(postern);
  const [ada, ben] = [await signedUp(postern), await signedUp(postern, { organizationId })];
  const policy = { policy: { requirement: "FACTOR_REQUIREMENT_REQUIRED" } };
  const header = { "x-service-orgid": organizationId };
  expect((await postern.admin.put("/v1/policies/factor", policy, header)).status).toBe(200);
  const browser = openBrowser(issuer);
  await enter(browser, ada);
  const form = await browser.submit(await browser.open(`${issuer}/account`), {}, "switch");
  const other = await browser.submit(form, {}, "other");
  const enrolment = await browser.submit(other, { login_name: ben.username, password: ben.password });
  expect(await accountsOf(browser)).toEqual([ada.username]);
  const shown = await browser.submit(enrolment, {}, "app");
  const secret = textIn(shown.text, /<code>([A-Z2-7 ]+)<\/code>/).replaceAll(" ", "");
  const added = await browser.submit(shown, { code: codeOf(secret) }, "confirm_app");
  const home = await browser.submit(added, {}, "done");
  expect([home.url, home.text]).toEqual([`${issuer}/account`, expect.stringContaining(ben.username)]);
  expect(await accountsOf(browser)).toEqual([ben.username, ada.username]);
});
