import { importJWK, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../src/messages/page.ts";
import { patternOf } from "../fixture/text_pattern.ts";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn,
} from "./application.ts";
import { hiddenIn, openBrowser, type Shown } from "./browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
let person: Person;
beforeAll(async () => {
  postern = await startPostern();
  issuer = issuerOf(postern);
  [app, person] = [await application(postern.admin), await signedUp(postern)];
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const open = (more: Record<string, string | undefined> = {}) =>
  openBrowser(issuer).open(authorizeUrl(issuer, app, more));
const errorOf = ({ status, url, text }: Shown) => [status, answerIn({ url }).error ?? /<code>([^<]*)/.exec(text)?.[1]];

test.each([
  ["client_id=x", 400, "request_malformed"],
  ["redirect_uri=https%3A%2F%2Fevil.example", 400, "request_malformed"],
  ["state=2", 303, "invalid_request"],
  ["scope=openid", 303, "invalid_request"],
  ["code_challenge_method=plain", 303, "invalid_request"],
  ["request=x", 303, "request_not_supported"],
  ["request_uri=https%3A%2F%2Fevil.example", 303, "request_uri_not_supported"],
  ["registration=%7B%7D", 303, "registration_not_supported"],
  ["prompt=none+login", 303, "invalid_request"],
  ["prompt=other", 303, "invalid_request"],
  ["prompt=none", 303, "login_required"],
  ["max_age=-1", 303, "invalid_request"],
  ["id_token_hint=x", 303, "invalid_request"],
  ["response_mode=web_message", 303, "invalid_request"],
  [`login_hint=${"a".repeat(201)}`, 303, "invalid_request"],
  [`x=${"a".repeat(12_000)}`, 400, "request_malformed"],
  [Array.from({ length: 60 }, (_, n) => `p${n}=1`).join("&"), 400, "request_malformed"],
  ["x=%00", 400, "request_malformed"],
])("authorize with %s more", async (more, status, error) => {
  expect(errorOf(await openBrowser(issuer).open(`${authorizeUrl(issuer, app)}&${more}`))).toEqual([status, error]);
});

test("a state that is there twice comes back in no error", async () => {
  const { url } = await openBrowser(issuer).open(`${authorizeUrl(issuer, app)}&state=2`);
  expect(answerIn({ url })).toEqual({ error: "invalid_request", error_description: expect.any(String), iss: issuer });
});

test("authorize by POST leads to the same page by 303", async () => {
  const form = new URL(authorizeUrl(issuer, app)).searchParams;
  const { status, headers } = await openBrowser(issuer).send(`${issuer}/oauth/authorize`, {
    method: "POST",
    body: form,
  });
  expect([status, headers.get("location")]).toEqual([303, `/oauth/authorize?${form}`]);
});

test("a page has no inline script, loads nothing from elsewhere, is in no frame, and its form leads back only", async () => {
  const { text, headers } = await open();
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; style-src 'self'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  );
  expect([headers.get("x-frame-options"), headers.get("cache-control")]).toEqual(["DENY", "no-store"]);
  expect(text).not.toMatch(/<script(?! src="\/[^"]*" defer><\/script>)|style=|onload|https?:/);
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^postern-browser=ob_\w+; Path=\/; HttpOnly; SameSite=Lax$/),
  ]);
});

test("over https cookies belong to the host alone", async () => {
  await using secure = await startPostern({ publicUrl: "https://id.example" });
  const [app, person] = [await application(secure.admin), await signedUp(secure)];
  const browser = openBrowser(secure.url);
  await signIn(browser, authorizeUrl(secure.url, app), person);
  expect([...browser.cookies.keys()].sort()).toEqual([
    "__Host-postern-browser",
    "__Host-postern-known",
    "__Host-postern-session",
  ]);
  const page = await fetch(authorizeUrl(secure.url, app));
  expect(page.headers.getSetCookie()).toEqual([expect.stringMatching(/; Path=\/; HttpOnly; SameSite=Lax; Secure$/)]);
});

test("texts of a request are texts in a page", async () => {
  const { text } = await open({ login_hint: `"><script>alert(1)</script>` });
  expect(text).toContain("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
});

test("a form that another site sends is refused: without the cookie, with another browser's, or with another origin", async () => {
  const [victim, attacker] = [openBrowser(issuer), openBrowser(issuer)];
  const page = await attacker.open(authorizeUrl(issuer, app));
  await victim.open(authorizeUrl(issuer, app));
  const values = { ...hiddenIn(page.text), login_name: person.username, password: person.password, action: "password" };
  const send = async (browser: typeof victim, headers: Record<string, string>, more = {}) =>
    errorOf(
      await browser.send(`${issuer}/sign-in`, {
        method: "POST",
        headers,
        body: new URLSearchParams({ ...values, ...more }),
      }),
    );
  expect(await send(openBrowser(issuer), { origin: issuer })).toEqual([403, "expired"]);
  expect(await send(victim, { origin: issuer })).toEqual([403, "expired"]);
  for (const origin of ["https://evil.example", "null"])
    expect(await send(attacker, { origin })).toEqual([403, "expired"]);
  expect(await send(attacker, { origin: issuer }, { token: "AAAA" })).toEqual([403, "expired"]);
  expect(await send(attacker, { origin: issuer }, { request: "AAAA" })).toEqual([400, "expired"]);
  expect((await attacker.send(`${issuer}/sign-in`, { method: "POST", body: new URLSearchParams(values) })).status).toBe(
    200,
  );
});

test("a click to go on counts for the user that the page showed, and for nobody who signed in meanwhile", async () => {
  const other = await signedUp(postern);
  const browser = openBrowser(issuer);
  await signIn(browser, authorizeUrl(issuer, app), person);
  const page = await browser.open(authorizeUrl(issuer, app, { prompt: "select_account" }));
  await signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), other);
  expect(errorOf(await browser.submit(page, {}, "continue"))).toEqual([403, "expired"]);
});

test("a sign-in begins a new session with a new cookie, whatever cookie the browser brought", async () => {
  const browser = openBrowser(issuer);
  browser.cookies.set("postern-session", `os_${"A".repeat(33)}`);
  await signIn(browser, authorizeUrl(issuer, app), person);
  const first = browser.cookies.get("postern-session");
  await signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), person);
  const second = browser.cookies.get("postern-session");
  expect(new Set([first, second, `os_${"A".repeat(33)}`]).size).toBe(3);
});

test("the cookies of the pages and the tokens of applications are no tokens of the API", async () => {
  const { browser, code } = await codeFor(issuer, app, person, { scope: "openid" });
  const { body } = await exchange(issuer, app, code);
  const session = browser.cookies.get("postern-session") ?? "";
  for (const token of [session, body.access_token, body.id_token, code])
    expect((await postern.as(token).get("/v1/users/me")).status).toBe(401);
  const withCookie = await fetch(`${postern.url}/v1/users/me`, { headers: { cookie: `postern-session=${session}` } });
  expect(withCookie.status).toBe(401);
});

test("an ID token is no access token, an access token no hint, and neither is one that somebody else signed", async () => {
  const jwt = await application(postern.admin, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { code, browser } = await codeFor(issuer, jwt, person);
  const { body } = await exchange(issuer, jwt, code);
  const userinfo = async (token: string) =>
    (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;
  const hinted = async (id_token_hint: string) =>
    errorOf(await browser.open(authorizeUrl(issuer, jwt, { prompt: "none", id_token_hint })))[1];
  expect([await userinfo(body.access_token), await userinfo(body.id_token)]).toEqual([200, 401]);
  expect([await hinted(body.id_token), await hinted(body.access_token)]).toEqual([undefined, "invalid_request"]);
  const [head = "", payload = ""] = body.access_token.split(".");
  const secret = await importJWK({ kty: "oct", k: Buffer.from("a".repeat(32)).toString("base64url") }, "HS256");
  const forged = await new SignJWT(JSON.parse(Buffer.from(payload, "base64url").toString()))
    .setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
    .sign(secret);
  const none = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url")}.${payload}.`;
  for (const token of [forged, none, `${head}.${payload}.`]) expect(await userinfo(token)).toBe(401);
});

test("the hint of another user or another client signs nobody in silently", async () => {
  const [other, otherApp] = [await signedUp(postern), await application(postern.admin)];
  const mine = await codeFor(issuer, app, person);
  const theirs = (await exchange(issuer, app, (await codeFor(issuer, app, other)).code)).body.id_token;
  const silent = { prompt: "none", id_token_hint: theirs };
  expect(errorOf(await mine.browser.open(authorizeUrl(issuer, app, silent)))[1]).toBe("login_required");
  expect(errorOf(await mine.browser.open(authorizeUrl(issuer, otherApp, silent)))[1]).toBe("invalid_request");
  const page = authorizeUrl(issuer, app, { id_token_hint: theirs });
  expect(errorOf(await signIn(mine.browser, page, person))[1]).toBe("login_required");
});

test("prompt login, max_age and an expired hint", async () => {
  const { browser, code } = await codeFor(issuer, app, person);
  const { body } = await exchange(issuer, app, code);
  const asks = async (more: Record<string, string>) => (await browser.open(authorizeUrl(issuer, app, more))).status;
  expect([await asks({ prompt: "login" }), await asks({ max_age: "0" }), await asks({ max_age: "600" })]).toEqual([
    200, 200, 303,
  ]);
  await ask(postern.databaseUrl, "update browser_sessions set auth_time = auth_time - interval '1 hour'");
  expect([await asks({ max_age: "600" }), await asks({ max_age: "7200" })]).toEqual([200, 303]);
  expect(await asks({ id_token_hint: body.id_token })).toBe(303);
});

test("a session that nobody used, or that has run out, asks for the password again", async () => {
  for (const column of ["idle_date", "expiration_date"]) {
    const { browser } = await codeFor(issuer, app, person);
    await ask(postern.databaseUrl, `update browser_sessions set ${column} = now() - interval '1 second'`);
    expect(errorOf(await browser.open(authorizeUrl(issuer, app, { prompt: "none" })))[1]).toBe("login_required");
  }
});

test("unknown, wrong and deactivated users get one equal answer, and so does one that is locked to a name that nobody has", async () => {
  const [locked, inactive] = [await signedUp(postern), await signedUp(postern)];
  for (const loginName of [locked.username, "nobody-for-long"])
    for (let n = 0; n < 10; n++) await postern.as().post("/v1/sessions", { loginName, password: "wrong" });
  await postern.admin.post(`/v1/users/${inactive.userId}:deactivate`);
  const pagesOf = (tries: readonly Pick<Person, "username" | "password">[]) =>
    Promise.all(tries.map((one) => signIn(openBrowser(issuer), authorizeUrl(issuer, app), one)));
  const same = ({ status, text }: Shown) => [
    status,
    text.replace(/ (value|data-options)="[^"]*"/g, "").replace(/\d+ (second|minute)s?/, ""),
  ];
  const failed = await pagesOf([
    { ...person, password: "wrong" },
    { username: "nobody-at-all", password: "wrong" },
    inactive,
  ]);
  const waiting = await pagesOf([locked, { ...locked, password: "wrong" }, { ...locked, username: "nobody-for-long" }]);
  for (const [pages, status] of [
    [failed, 401],
    [waiting, 429],
  ] as const) {
    expect(new Set(pages.map((page) => JSON.stringify(same(page)))).size).toBe(1);
    expect(pages[0]?.status).toBe(status);
  }
});

test("failed sign-ins of the page and of CreateSession count together", async () => {
  await using slow = await startPostern();
  await slow.admin.put("/v1/policies/lockout", { instance: true, policy: { maximumAttempts: 3 } });
  const [app, person] = [await application(slow.admin), await signedUp(slow)];
  const url = authorizeUrl(issuerOf(slow), app);
  const wrong = { ...person, password: "wrong" };
  for (let n = 0; n < 2; n++) expect((await signIn(openBrowser(issuerOf(slow)), url, wrong)).status).toBe(401);
  expect((await slow.as().post("/v1/sessions", { loginName: person.username, password: "wrong" })).status).toBe(401);
  const refused = await signIn(openBrowser(issuerOf(slow)), url, person);
  const [, wait] = patternOf(pageText("attempts", "en")).exec(refused.text) ?? [];
  expect([refused.status, wait]).toEqual([429, expect.stringMatching(/^\d+ (second|minute)s?$/)]);
});

test("a password that has to be changed is changed on the page", async () => {
  await using strict = await startPostern();
  const [at, app, person] = [issuerOf(strict), await application(strict.admin), await signedUp(strict)];
  const policy = { minimumLength: 10, changeAtNextSignIn: true };
  expect((await strict.admin.put("/v1/policies/password", { policy })).status).toBe(200);
  await strict.admin.put(`/v1/users/${person.userId}/password`, { newPassword: person.password });
  const browser = openBrowser(at);
  const page = await signIn(browser, authorizeUrl(at, app), person);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(pageText("must_change", "en"))]);
  const values = { login_name: person.username, password: person.password };
  const short = await browser.submit(page, { ...values, new_password: "short" });
  expect([short.status, short.text]).toEqual([400, expect.stringContaining("10")]);
  const changed = await browser.submit(short, { ...values, new_password: "Green-Teapot-77" });
  expect(answerIn(changed).code).toMatch(/^oc_/);
});

test.each([
  ["de", "de"],
  ["fr", "fr"],
  ["es", "es"],
  ["ja", "en"],
] as const)("pages for the ui_locales %s are in the language %s", async (ui_locales, language) => {
  expect((await open({ ui_locales })).text).toContain(`<h1>${pageText("sign_in", language)}</h1>`);
});

test("endpoints refuse other content types, parameters that are there twice, and more than one proof", async () => {
  const send = async (body: string, headers: Record<string, string> = {}) => {
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const response = await fetch(`${issuer}/oauth/token`, { method: "POST", body, headers: { ...type, ...headers } });
    return [response.status, ((await response.json()) as { error: string }).error];
  };
  const code = "grant_type=authorization_code&code=x";
  expect(await send("{}", { "content-type": "application/json" })).toEqual([400, "invalid_request"]);
  expect(await send(`${code}&code=y`, basic(app))).toEqual([400, "invalid_request"]);
  expect(await send(`${code}&client_id=a&client_secret=b`, basic(app))).toEqual([400, "invalid_request"]);
  expect(await send(code)).toEqual([400, "invalid_request"]);
  expect(await send(code, { authorization: "Basic !" })).toEqual([401, "invalid_client"]);
  expect(await send(`${code}&client_id=other`, basic(app))).toEqual([401, "invalid_client"]);
  expect(await send("grant_type=password", basic(app))).toEqual([400, "unsupported_grant_type"]);
  expect((await fetch(`${issuer}/oauth/token`)).status).toBe(405);
  const large = await fetch(`${issuer}/oauth/token`, { method: "POST", body: "a".repeat(24_577) });
  expect(large.status).toBe(413);
});

test("a client revokes its own tokens only, and an unknown token is no error", async () => {
  const other = await application(postern.admin);
  const { body } = await exchange(issuer, app, (await codeFor(issuer, app, person)).code);
  const revoke = async (one: Application, token: string) =>
    (await post(issuer, "/oauth/revoke", { token }, basic(one))).status;
  expect([await revoke(app, "unknown"), await revoke(other, body.access_token)]).toEqual([200, 400]);
  const userinfo = async () =>
    (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${body.access_token}` } })).status;
  expect([await userinfo(), await revoke(app, body.access_token), await userinfo()]).toEqual([200, 200, 401]);
});

test("userinfo takes a token by header or form, never twice and never in the query", async () => {
  const { body } = await exchange(issuer, app, (await codeFor(issuer, app, person)).code);
  const form = new URLSearchParams({ access_token: body.access_token });
  const headers = { authorization: `Bearer ${body.access_token}` };
  const status = async (request: RequestInit, query = "") =>
    (await fetch(`${issuer}/oauth/userinfo${query}`, request)).status;
  expect(await status({ headers })).toBe(200);
  expect(await status({ method: "POST", headers })).toBe(200);
  expect(await status({ method: "POST", body: form })).toBe(200);
  expect(await status({ method: "POST", body: form, headers })).toBe(400);
  expect(await status({}, `?${form}`)).toBe(401);
  const refused = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: "Bearer x" } });
  expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer realm="postern", error="invalid_token"/);
});
