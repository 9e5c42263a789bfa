import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { text } from "../../../src/messages/catalogue.ts";
import { pageText } from "../../../src/messages/page.ts";
import { codeOf } from "../../fixture/authenticator.ts";
import { keyFor, withTotp, wrongCodeOf } from "../../fixture/factors.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
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
import { type Browser, hiddenIn, openBrowser, type Shown, textIn } from "../browser.ts";
import { beginDevice, deviceApplication, poll, untilConfirmation } from "../device_flow.ts";
import { optionsIn, sendPasskey } from "../passkey_page.ts";
import { qrTextIn } from "../qr_reader.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const addUrl = () => `${issuer}/account/factors/add`;
const secretIn = ({ text }: Shown) => textIn(text, /<code>([A-Z2-7 ]+)<\/code>/).replaceAll(" ", "");
const codesIn = ({ text }: Shown) => [...text.matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, code = ""]) => code);

/** A person of an organization with a factor policy, whose project is granted to it. */
async function personUnder(requirement: string): Promise<Person> {
  const organizationId = await organization(postern);
  const header = { "x-service-orgid": organizationId };
  const person = await signedUp(postern, { organizationId });
  const policy = { requirement: `FACTOR_REQUIREMENT_${requirement}` };
  expect((await postern.admin.put("/v1/policies/factor", { policy }, header)).status).toBe(200);
  const granted = { grantedOrganizationId: organizationId };
  expect((await postern.admin.post(`/v1/projects/${app.projectId}/grants`, granted)).status).toBe(200);
  return person;
}

/** A browser in which a person signed in with the password, and the page that it shows. */
async function entered(person: Person, more: Record<string, string> = {}) {
  const browser = openBrowser(issuer);
  return { browser, page: await signIn(browser, authorizeUrl(issuer, app, more), person) };
}

async function idToken({ url }: Shown) {
  const { body } = await exchange(issuer, app, answerIn({ url }).code ?? "");
  return decodeJwt(body.id_token);
}

/** Goes on after an enrolment, and allows the application of another organization what it asks for. */
async function doneAndAllowed(browser: Browser, added: Shown): Promise<Shown> {
  return browser.submit(await browser.submit(added, {}, "done"), {}, "allow");
}

const silently = async (browser: Browser) =>
  answerIn(await browser.open(authorizeUrl(issuer, app, { prompt: "none" }))).error;

test("who has to have a factor enrols an app on the way to the application", async () => {
  const person = await personUnder("REQUIRED");
  const { browser, page } = await entered(person);
  expect([page.status, page.text]).toEqual([200, expect.stringMatching(patternOf(pageText("enrol_needed", "en")))]);
  expect(await silently(browser)).toBe("login_required");
  const shown = await browser.submit(page, {}, "app");
  const secret = secretIn(shown);
  expect(qrTextIn(shown.text)).toBe(`otpauth://totp/localhost:${person.username}?secret=${secret}&issuer=localhost`);
  const wrong = await browser.submit(shown, { code: wrongCodeOf(secret) }, "confirm_app");
  expect([wrong.status, secretIn(wrong)]).toEqual([400, secret]);
  const added = await browser.submit(wrong, { code: codeOf(secret), name: "Phone" }, "confirm_app");
  const codes = codesIn(added);
  expect([added.status, codes.length, new Set(codes).size]).toEqual([200, 10, 10]);
  const file = decodeURIComponent(textIn(added.text, /href="data:text\/plain;charset=utf-8,([^"]*)" download=/));
  expect(file.trim().split("\r\n")).toEqual(codes);
  const claims = await idToken(await doneAndAllowed(browser, added));
  expect(claims).toMatchObject({ sub: person.userId, amr: ["pwd", "otp", "mfa"], acr: "urn:postern:acr:multi-factor" });
  expect(await silently(browser)).toBe(undefined);
  const again = await entered(person);
  const back = await again.browser.submit(again.page, { code: codes[0] ?? "" }, "factor");
  expect(answerIn(back).code).toEqual(expect.any(String));
});

test("who has to have a factor enrols a passkey on the way to the application, and signs in with it", async () => {
  const person = await personUnder("REQUIRED");
  const { browser, page } = await entered(person);
  const shown = await browser.submit(page, {}, "new_passkey");
  const key = keyFor(postern);
  const added = await sendPasskey(browser, shown, key.create(optionsIn(shown)), { name: "Key" });
  expect(codesIn(added)).toHaveLength(10);
  const claims = await idToken(await doneAndAllowed(browser, added));
  expect(claims).toMatchObject({ sub: person.userId, amr: ["pwd", "hwk", "user", "mfa"] });
  const next = openBrowser(issuer);
  const asked = await next.open(authorizeUrl(issuer, app));
  expect((await idToken(await sendPasskey(next, asked, key.get(optionsIn(asked))))).sub).toBe(person.userId);
});

test("a session that may only enrol is worth nothing else: no code, no other page, no confirmation", async () => {
  const { browser, page } = await entered(await personUnder("REQUIRED"));
  expect(await silently(browser)).toBe("login_required");
  expect((await browser.open(addUrl())).text).toContain('name="password"');
  const done = await browser.submit(page, {}, "done");
  expect([done.status, done.text]).toEqual([200, expect.stringContaining('name="password"')]);
  const values = new URLSearchParams({ ...hiddenIn(page.text), action: "continue" });
  expect((await browser.send(`${issuer}/sign-in`, { method: "POST", body: values })).status).toBe(403);
});

test("who signs in on a device enrols a factor on the way, and confirms the device after it", async () => {
  const person = await personUnder("REQUIRED");
  const devices = await deviceApplication(postern.admin);
  const { grantedOrganizationId } = await grantTo(devices.projectId, person);
  expect(grantedOrganizationId).not.toBe(postern.organizationId);
  const codes = await beginDevice(issuer, devices);
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  const shown = await browser.submit(page, {}, "app");
  const added = await browser.submit(shown, { code: codeOf(secretIn(shown)) }, "confirm_app");
  const confirmation = await browser.submit(added, {}, "done");
  expect(confirmation.text).toContain(pageText("device_confirm_text", "en", { code: codes.user_code }));
  await browser.submit(await browser.submit(confirmation, {}, "continue"), {}, "allow");
  const { status, body } = await poll(issuer, devices, codes);
  expect([status, decodeJwt(body.id_token).amr]).toEqual([200, ["pwd", "otp", "mfa"]]);
});

/** Grants a project to the organization of a person. */
async function grantTo(projectId: string, { client }: Person) {
  const { sessions } = (await client.get("/v1/sessions")).body;
  const granted = { grantedOrganizationId: sessions[0].details.resourceOwner as string };
  expect((await postern.admin.post(`/v1/projects/${projectId}/grants`, granted)).status).toBe(200);
  return granted;
}

test("administrators have to, where the policy is for them, and others do not", async () => {
  const person = await personUnder("REQUIRED_FOR_ADMINISTRATORS");
  const { browser, page } = await entered(person);
  expect(answerIn(await browser.submit(page, {}, "allow")).code).toEqual(expect.any(String));
  const member = { userId: person.userId, roles: ["PROJECT_OWNER"], projectId: app.projectId };
  const added = await postern.admin.post(`/v1/projects/${app.projectId}/members`, member);
  expect([added.status, added.body]).toEqual([200, expect.anything()]);
  expect((await entered(person)).page.text).toMatch(patternOf(pageText("enrol_needed", "en")));
});

test("a passkey of a page that is not ours is not enrolled, and the page asks again", async () => {
  const { browser, page } = await entered(await personUnder("REQUIRED"));
  const shown = await browser.submit(page, {}, "new_passkey");
  const options = optionsIn(shown);
  for (const different of [{ origin: "https://evil.example" }, { rpId: "evil.example" }, { isVerified: false }]) {
    const refused = await sendPasskey(browser, shown, keyFor(postern).create(options, different));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(pageText("passkey_wrong", "en"))]);
  }
  const challenge = Buffer.alloc(32).toString("base64url");
  expect((await sendPasskey(browser, shown, keyFor(postern).create(options, { challenge }))).status).toBe(400);
  expect((await sendPasskey(browser, shown, [])).status).toBe(400);
  expect(codesIn(await sendPasskey(browser, shown, keyFor(postern).create(options)))).toHaveLength(10);
});

test("who is signed in adds factors, at first with recovery codes, as long as the sign-in is fresh", async () => {
  const person = await signedUp(postern);
  const { browser } = await entered(person);
  const choice = await browser.open(addUrl());
  expect([choice.status, choice.text]).toEqual([200, expect.stringContaining('value="app"')]);
  const shown = await browser.submit(choice, {}, "app");
  const secret = secretIn(shown);
  expect(codesIn(await browser.submit(shown, { code: codeOf(secret) }, "confirm_app"))).toHaveLength(10);
  const more = await browser.open(addUrl());
  expect(more.text).not.toContain('value="app"');
  const asked = await browser.submit(more, {}, "new_passkey");
  const added = await sendPasskey(browser, asked, keyFor(postern).create(optionsIn(asked)));
  expect([added.status, codesIn(added)]).toEqual([200, []]);
  for (const { text } of [more, added])
    expect(text).toContain(`<a class="button plain" href="/account/factors">${pageText("account_factors", "en")}</a>`);
  const { factors } = (await person.client.get("/v1/users/me/factors")).body;
  expect(factors.map(({ kind }: { kind: string }) => kind).sort()).toEqual(
    ["FACTOR_KIND_PASSKEY", "FACTOR_KIND_RECOVERY_CODES", "FACTOR_KIND_TOTP"].sort(),
  );
  await ask(
    postern.databaseUrl,
    `update browser_sessions set auth_time = auth_time - interval '1 hour' where user_id = '${person.userId}';
     update sessions set created = created - interval '1 hour' where user_id = '${person.userId}'`,
  );
  const form = await browser.open(addUrl());
  expect([form.status, form.text]).toEqual([200, expect.stringContaining(`value="${person.username}"`)]);
  const late = await browser.submit(more, {}, "new_passkey");
  expect([late.status, late.text]).toEqual([200, expect.stringContaining(`value="${person.username}"`)]);
  const cancelled = await browser.submit(late, {}, "cancel");
  expect([cancelled.url, cancelled.text]).toEqual([
    `${issuer}/account/factors`,
    expect.stringContaining('href="/account/factors/add"'),
  ]);
  const { username: login_name, password } = person;
  const factor = await browser.submit(late, { login_name, password });
  const again = await browser.submit(factor, { code: codeOf(secret, 1) }, "factor");
  expect([again.url, again.text]).toEqual([addUrl(), expect.stringContaining('value="new_passkey"')]);
});

test("nobody who is signed out sees the page, or sends its forms", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(addUrl());
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('name="password"')]);
  const cancelled = await browser.submit(page, {}, "cancel");
  expect([cancelled.status, cancelled.text]).toEqual([
    200,
    expect.stringContaining(`<a class="button" href="/account/factors/add">${pageText("sign_in", "en")}</a>`),
  ]);
  const form = new URLSearchParams({ action: "app", token: "AAAA" });
  expect((await browser.send(addUrl(), { method: "POST", body: form })).status).toBe(403);
});

test("a form that another site sends, or that another browser or session was shown, enrols nothing", async () => {
  const [victim, attacker] = [await entered(await signedUp(postern)), await entered(await signedUp(postern))];
  const [mine, theirs] = [await victim.browser.open(addUrl()), await attacker.browser.open(addUrl())];
  const send = async (page: Shown, headers: Record<string, string>, more = {}) => {
    const body = new URLSearchParams({ ...hiddenIn(page.text), action: "app", ...more });
    return (await victim.browser.send(addUrl(), { method: "POST", body, headers })).status;
  };
  expect(await send(theirs, { origin: issuer })).toBe(403);
  expect(await send(mine, { origin: "https://evil.example" })).toBe(403);
  expect(await send(mine, { origin: issuer }, { token: "AAAA" })).toBe(403);
  expect(await send(mine, { origin: issuer }, { request: "AAAA" })).toBe(400);
  expect(await send(mine, { origin: issuer })).toBe(200);
});

test("an enrolment that is not there any more, a second app, and a policy that allows none are said so", async () => {
  const person = await signedUp(postern);
  const { browser } = await entered(person);
  const page = await browser.open(addUrl());
  const late = await browser.submit(page, { code: "123456" }, "confirm_app");
  expect([late.status, late.text]).toEqual([400, expect.stringContaining(text("ENROLMENT_EXPIRED", "en"))]);
  const other = await withTotp(postern);
  const second = await signedInWithCode(other);
  const refused = await second.submit(await second.open(addUrl()), {}, "app");
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(text("FACTOR_EXISTS", "en"))]);
  const off = await entered(await personUnder("OFF"));
  const none = await off.browser.submit(await off.browser.open(addUrl()), {}, "app");
  expect([none.status, none.text]).toEqual([400, expect.stringContaining(text("FACTORS_OFF", "en"))]);
});

async function signedInWithCode(person: Awaited<ReturnType<typeof withTotp>>) {
  const { browser, page } = await entered(person);
  await browser.submit(page, { code: person.code(0) }, "factor");
  return browser;
}

test("fields of a form that are too long are refused", async () => {
  const { browser } = await entered(await signedUp(postern));
  const shown = await browser.submit(await browser.open(addUrl()), {}, "app");
  expect((await browser.submit(shown, { code: "1".repeat(21) }, "confirm_app")).status).toBe(400);
  const code = codeOf(secretIn(shown));
  expect((await browser.submit(shown, { code, name: "n".repeat(201) }, "confirm_app")).status).toBe(400);
  expect((await browser.submit(shown, { code, name: "n".repeat(200) }, "confirm_app")).status).toBe(200);
});

test.each(["de", "fr", "es"] as const)("the pages speak the language %s", async (language) => {
  const { browser } = await entered(await signedUp(postern));
  const page = await browser.open(addUrl(), { "accept-language": language });
  expect(page.text).toContain(`<h1>${pageText("enrol_title", language)}</h1>`);
});

test("no page of an enrolment has inline script or style, or loads anything from elsewhere", async () => {
  const person = await personUnder("REQUIRED");
  const { browser, page } = await entered(person);
  const app = await browser.submit(page, {}, "app");
  const passkey = await browser.submit(page, {}, "new_passkey");
  for (const { text, headers } of [page, app, passkey]) {
    const policy = headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; style-src 'self';");
    expect(policy).toContain("form-action 'self'; frame-ancestors 'none'; base-uri 'none'");
    expect(text).not.toMatch(/<script(?! src="\/[^"]*" defer><\/script>)|<style|style=| on\w+=|https?:/);
  }
});
