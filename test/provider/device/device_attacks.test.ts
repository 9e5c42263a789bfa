import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { type Application, authorizeUrl, issuerOf, type Person } from "../application.ts";
import { hiddenIn, openBrowser } from "../browser.ts";
import {
  beginDevice,
  deviceApplication,
  enterCode,
  poll,
  problemOf,
  titleOf,
  untilConfirmation,
} from "../device_flow.ts";

let postern: Postern;
let issuer: string;
let app: Application;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  [app, person] = [await deviceApplication(postern.admin), await signedUp(postern)];
});
afterAll(() => postern?.[Symbol.asyncDispose]());

test("the pages have no script, load nothing from elsewhere, are in no frame, and their forms stay here", async () => {
  const codes = await beginDevice(issuer, app);
  const { page } = await untilConfirmation(issuer, codes, person);
  for (const { text, headers } of [await openBrowser(issuer).open(`${issuer}/device`), page]) {
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect([headers.get("x-frame-options"), headers.get("cache-control")]).toEqual(["DENY", "no-store"]);
    expect(text).not.toMatch(/<script|style=|onload|https?:/);
  }
});

test("a code that another site enters is refused: without the cookie, with another browser's, or with another origin", async () => {
  const { user_code } = await beginDevice(issuer, app);
  const [victim, attacker] = [openBrowser(issuer), openBrowser(issuer)];
  const page = await attacker.open(`${issuer}/device`);
  await victim.open(`${issuer}/device`);
  const values = { ...hiddenIn(page.text), user_code, action: "code" };
  const send = async (browser: typeof victim, headers: Record<string, string>, more = {}) => {
    const body = new URLSearchParams({ ...values, ...more });
    return problemOf(await browser.send(`${issuer}/device`, { method: "POST", headers, body }));
  };
  expect(await send(openBrowser(issuer), { origin: issuer })).toEqual([403, "expired"]);
  expect(await send(victim, { origin: issuer })).toEqual([403, "expired"]);
  for (const origin of ["https://evil.example", "null"])
    expect(await send(attacker, { origin })).toEqual([403, "expired"]);
  expect(await send(attacker, { origin: issuer }, { token: "AAAA" })).toEqual([403, "expired"]);
  expect(await send(attacker, { origin: issuer })).toEqual([200, undefined]);
});

test("a confirmation that another site sends, or that was shown in another browser, signs no device in", async () => {
  const codes = await beginDevice(issuer, app);
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  const body = () => new URLSearchParams({ ...hiddenIn(page.text), action: "continue" });
  const send = async (of: typeof browser, origin: string) =>
    problemOf(await of.send(`${issuer}/sign-in`, { method: "POST", headers: { origin }, body: body() }));
  expect(await send(browser, "https://evil.example")).toEqual([403, "expired"]);
  const other = (await untilConfirmation(issuer, await beginDevice(issuer, app), person)).browser;
  expect(await send(other, issuer)).toEqual([403, "expired"]);
  expect((await poll(issuer, app, codes)).body.error).toBe("authorization_pending");
});

test("an authorization request cannot stand for a device, and a device's cannot lead elsewhere", async () => {
  const codes = await beginDevice(issuer, app);
  const browser = openBrowser(issuer);
  for (const id of [codes.device_code, codes.user_code, ""]) {
    const page = await browser.open(authorizeUrl(issuer, app, { "urn:postern:device": id || "x", state: undefined }));
    expect(problemOf(page)).toEqual([400, "device_over"]);
  }
  const { page } = await enterCode(issuer, codes.user_code, browser);
  expect(page.text).not.toMatch(/redirect_uri|https?:/);
});

test("texts in a URI or a form are texts in the page, and odd ones are refused", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(`${issuer}/device?user_code=%22%3E%3Cscript%3E`);
  expect(page.text).toContain('value="&quot;&gt;&lt;SCRIPT&gt;"');
  const long = await browser.open(`${issuer}/device?user_code=${"B".repeat(5_000)}`);
  expect(long.text).toContain(`value="${"B".repeat(40)}"`);
  expect(problemOf(await browser.open(`${issuer}/device?user_code=%00`))).toEqual([400, "request_malformed"]);
  const form = await browser.open(`${issuer}/device`);
  for (const user_code of ["", "\ud800", "😀".repeat(30), "BBBB-BBBB-BBBB"])
    expect(titleOf(await browser.submit(form, { user_code }, "code"))).toEqual([400, pageText("device_title", "en")]);
  const twice = new URLSearchParams([...Object.entries(hiddenIn(form.text)), ["user_code", "A"], ["user_code", "B"]]);
  expect((await browser.send(`${issuer}/device`, { method: "POST", body: twice })).status).toBe(400);
});

test.each([
  ["de", "de"],
  ["fr", "fr"],
  ["es", "es"],
  ["ja", "en"],
] as const)("the pages for a browser in the language %s are in %s", async (preferred, language) => {
  const headers = { "accept-language": preferred };
  const browser = openBrowser(issuer);
  const page = await browser.open(`${issuer}/device`, headers);
  expect(titleOf(page)).toEqual([200, pageText("device_title", language)]);
  const { user_code } = await beginDevice(issuer, app);
  const send = async (path: string, form: Record<string, string>) => {
    const body = new URLSearchParams(form);
    return browser.send(issuer + path, { method: "POST", headers: { ...headers, origin: issuer }, body });
  };
  const password = await send("/device", { ...hiddenIn(page.text), user_code, action: "code" });
  const user = { login_name: person.username, password: person.password, action: "password" };
  expect((await send("/sign-in", { ...hiddenIn(password.text), ...user })).text).toContain(
    pageText("device_confirm_text", language, { code: user_code }),
  );
});

test("a page of another origin reads no codes, and one of the application's own does", async () => {
  const spa = await deviceApplication(postern.admin, { additionalOrigins: ["https://tools.example"] });
  const allowed = async (origin: string) => {
    const body = new URLSearchParams({ client_id: spa.clientId });
    const { headers } = await fetch(`${issuer}/oauth/device`, { method: "POST", body, headers: { origin } });
    return [headers.get("access-control-allow-origin"), headers.get("access-control-allow-credentials")];
  };
  expect(await allowed("https://tools.example")).toEqual(["https://tools.example", null]);
  expect(await allowed("https://evil.example")).toEqual([null, null]);
});
