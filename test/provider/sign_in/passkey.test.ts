import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { enrolPasskey, keyFor, withPasskey, withTotp } from "../../fixture/factors.ts";
import { type Postern, sharedPostern, signedUp, startPostern } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
import { startTwoNodes } from "../../two_nodes.ts";
import { type Application, answerIn, application, authorizeUrl, exchange, issuerOf, signIn } from "../application.ts";
import { hiddenIn, openBrowser } from "../browser.ts";
import { answerPasskey, optionsIn, refusalsOf } from "../passkey_page.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** A browser in which the page of a sign-in is open. */
async function opened(more: Record<string, string> = {}) {
  const browser = openBrowser(issuer);
  return { browser, page: await browser.open(authorizeUrl(issuer, app, more)) };
}

const idToken = async (url: string) =>
  decodeJwt((await exchange(issuer, app, answerIn({ url }).code ?? "")).body.id_token);

test("a passkey alone signs its user in at the page, and the ID token says how and when", async () => {
  const { key, userId } = await withPasskey(postern);
  const { browser, page } = await opened();
  expect(optionsIn(page)).toMatchObject({ rpId: "localhost", userVerification: "required", allowCredentials: [] });
  const before = Math.floor(Date.now() / 1000);
  const claims = await idToken((await answerPasskey(browser, page, key)).url);
  expect(claims).toMatchObject({ sub: userId, amr: ["hwk", "user", "mfa"], acr: "urn:postern:acr:multi-factor" });
  expect(claims.auth_time).toBeGreaterThanOrEqual(before);
  expect(answerIn(await browser.open(authorizeUrl(issuer, app, { prompt: "none" }))).code).toEqual(expect.any(String));
});

test("the page works without script, offers passkeys with the login name, and has one script and no inline one", async () => {
  const { page } = await opened();
  expect(page.text).toContain('autocomplete="username webauthn"');
  expect(page.text).toMatch(/<form method="post" action="\/sign-in" hidden data-passkey="get" data-conditional /);
  expect(page.text.match(/<script[^>]*>/g)).toEqual(['<script src="/sign-in/page.js" defer>']);
  expect(page.headers.get("content-security-policy")).toContain("script-src 'self';");
  const script = await fetch(`${issuer}/sign-in/page.js`);
  expect([script.status, script.headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"]);
});

test("a lock stops the password and not the passkey", async () => {
  const { key, userId, username, password } = await withPasskey(postern);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update users set locked = true where user_id = ${userId}`;
  const { browser, page } = await opened();
  const refused = await browser.submit(page, { login_name: username, password });
  expect(refused.status).toBe(401);
  expect((await idToken((await answerPasskey(browser, refused, key)).url)).sub).toBe(userId);
});

test("of ten answers to one challenge at once, through two nodes, one signs in", async () => {
  await using nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  const { key } = await withPasskey(nodes.one);
  const there = await application(nodes.one.admin);
  const browser = openBrowser(nodes.one.url);
  const page = await browser.open(authorizeUrl(nodes.one.url, there));
  const credential = JSON.stringify(key.get(optionsIn(page)));
  const body = { ...hiddenIn(page.text), credential, action: "passkey" };
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, nth) =>
      browser.send(`${nodes.through(nth).url}/sign-in`, { method: "POST", body: new URLSearchParams(body) }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 401)]);
});

test("after the password the page takes a passkey of its user, and nobody else's", async () => {
  const [person, other] = [await withPasskey(postern), await withPasskey(postern)];
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, authorizeUrl(issuer, app), person);
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining(pageText("factor_passkey_text", "en"))]);
  expect(asked.text).not.toContain('name="code"');
  const refused = await answerPasskey(browser, asked, other.key);
  expect(refused.status).toBe(401);
  expect(await refusalsOf(postern, other.factorId)).toMatchObject([{ reason: "FACTOR_REFUSAL_USER" }]);
  const claims = await idToken((await answerPasskey(browser, refused, person.key)).url);
  expect(claims).toMatchObject({ sub: person.userId, amr: ["pwd", "hwk", "user", "mfa"] });
});

test("a user with an app and a passkey chooses between them after the password, also once a code was wrong", async () => {
  const person = await withTotp(postern);
  const key = keyFor(postern);
  await enrolPasskey(person.client, key);
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, authorizeUrl(issuer, app), person);
  const again = await browser.submit(asked, { code: "x" }, "factor");
  expect([again.status, again.text]).toEqual([401, expect.stringContaining('name="code"')]);
  expect((await idToken((await answerPasskey(browser, again, key)).url)).sub).toBe(person.userId);
});

test("the passkey of another user than the one of the hint signs nobody in", async () => {
  const [person, other] = [await signedUp(postern), await withPasskey(postern)];
  const back = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);
  const { body } = await exchange(issuer, app, answerIn(back).code ?? "");
  const { browser, page } = await opened({ id_token_hint: body.id_token });
  expect(answerIn(await answerPasskey(browser, page, other.key)).error).toBe("login_required");
});

test("the form of a passkey that another site sends is refused", async () => {
  const { key } = await withPasskey(postern);
  const { browser, page } = await opened();
  const body = new URLSearchParams({
    ...hiddenIn(page.text),
    credential: JSON.stringify(key.get(optionsIn(page))),
    action: "passkey",
  });
  const send = async (from: typeof browser, origin: string) =>
    (await from.send(`${issuer}/sign-in`, { method: "POST", body, headers: { origin } })).status;
  expect([await send(browser, "https://evil.example"), await send(openBrowser(issuer), issuer)]).toEqual([403, 403]);
  expect(await send(browser, issuer)).toBe(200);
});

test.each(["x", "[]", "null", "{}", '{"id":1}', `{"id":"${"a".repeat(13_000)}"}`, "[".repeat(3_000)])(
  "bytes in place of an answer prove nothing (%#)",
  async (credential) => {
    const { browser, page } = await opened();
    expect((await browser.submit(page, { credential }, "passkey")).status).toBe(401);
    expect((await browser.submit(page, { credential, challenge: "x" }, "passkey")).status).toBe(401);
  },
);

test("where PUBLIC_URL names an address the page has no passkeys", async () => {
  await using other = await startPostern({ publicUrl: "https://192.0.2.1" });
  const page = await openBrowser(other.url).open(authorizeUrl(other.url, await application(other.admin)));
  expect([page.status, page.text]).toEqual([200, expect.not.stringContaining("passkey")]);
});
