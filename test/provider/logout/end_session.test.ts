import { decodeJwt, importJWK, SignJWT } from "jose";
import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { eventually } from "../../first_start.ts";
import { type Postern, sharedPostern, signedUp, startPostern } from "../../harness.ts";
import { startTwoNodes } from "../../two_nodes.ts";
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
} from "../application.ts";
import { type Browser, hiddenIn, type Shown } from "../browser.ts";

const bye = "https://app.example/bye";
const settings = {
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  postLogoutRedirectUris: [bye, "https://app.example/#/bye", "javascript:alert(1)", "https://*.example/bye"],
};

let postern: Postern;
let issuer: string;
let app: Application;
let other: Application;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  [app, other] = [await application(postern.admin, settings), await application(postern.admin, settings)];
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

type SignedIn = { readonly browser: Browser; readonly hint: string; readonly refreshToken: string };

async function signedIn(at = issuer, of = app, who = person): Promise<SignedIn> {
  const { browser, code } = await codeFor(at, of, who, { scope: "openid offline_access" });
  const { body } = await exchange(at, of, code);
  return { browser, hint: body.id_token, refreshToken: body.refresh_token };
}

const endUrl = (parameters: Readonly<Record<string, string>>, at = issuer) =>
  `${at}/oauth/end-session?${new URLSearchParams(parameters)}`;
const errorOf = ({ status, text }: Shown) => [status, /<code>([^<]*)/.exec(text)?.[1]];
const titleOf = ({ status, text }: Shown) => [status, /<h1>([^<]*)/.exec(text)?.[1]];

/** Whether a browser still signs in without its user. */
const isSignedIn = async (browser: Browser, of = app, at = issuer) =>
  "code" in answerIn(await browser.open(authorizeUrl(at, of, { prompt: "none" })));
const isAlive = async (refreshToken: string, at = issuer) =>
  (await post(at, "/oauth/token", { grant_type: "refresh_token", refresh_token: refreshToken }, basic(app))).status ===
  200;

/** Whether the session of an ID token is open. */
async function isOpen(hint: string): Promise<boolean> {
  const { sub, sid } = decodeJwt(hint);
  const { body } = await postern.admin.get(`/v1/sessions?userId=${sub}&pageSize=1000`);
  return body.sessions.some(({ id }: { id: string }) => id === sid);
}

test("the end_session URL of openid-client signs out, gives the state back, and leaves what is for a user who is away", async () => {
  const { browser, hint, refreshToken } = await signedIn();
  const { code: bare = "" } = answerIn(await browser.open(authorizeUrl(issuer, app)));
  const { access_token } = (await exchange(issuer, app, bare)).body;
  const { code: held = "" } = answerIn(
    await browser.open(authorizeUrl(issuer, app, { scope: "openid offline_access" })),
  );
  const client = await oidc.discovery(new URL(issuer), app.clientId, app.clientSecret, undefined, {
    execute: [oidc.allowInsecureRequests],
  });
  const url = oidc.buildEndSessionUrl(client, {
    ...{ id_token_hint: hint, post_logout_redirect_uri: bye, state: "st&te =1" },
  });
  const cookie = browser.cookies.get("postern-session");
  const left = await browser.open(url.href);
  expect([left.status, left.url]).toEqual([303, `${bye}?state=st%26te+%3D1`]);
  expect(left.headers.getSetCookie()).toEqual(["postern-session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"]);
  expect([await isSignedIn(browser), await isOpen(hint), await isAlive(refreshToken)]).toEqual([false, false, true]);
  expect((await post(issuer, "/oauth/introspect", { token: access_token }, basic(app))).body).toEqual({
    active: false,
  });
  expect((await exchange(issuer, app, held)).body.error).toBe("invalid_grant");
  browser.cookies.set("postern-session", cookie ?? "");
  expect(await isSignedIn(browser)).toBe(false);
  const { body } = await postern.admin.get("/v1/events?types=session.ended");
  expect(body.events.at(-1).fact.session.ended).toEqual({ userId: person.userId, keepsOffline: true });
});

test("by POST, as from another site, the request comes back as a GET, which brings the cookies", async () => {
  const { browser, hint } = await signedIn();
  const form = { id_token_hint: hint, post_logout_redirect_uri: "https://app.example/#/bye", state: "s" };
  const first = await fetch(`${issuer}/oauth/end-session`, {
    ...{
      method: "POST",
      body: new URLSearchParams(form),
      redirect: "manual",
      headers: { origin: "https://app.example" },
    },
  });
  expect([first.status, first.headers.get("location")]).toEqual([
    303,
    `/oauth/end-session?${new URLSearchParams(form)}`,
  ]);
  const left = await browser.open(issuer + first.headers.get("location"));
  expect([left.status, left.url]).toEqual([303, "https://app.example/?state=s#/bye"]);
  expect(await isSignedIn(browser)).toBe(false);
});

test("a hint that expired counts, and so does a session that nobody used for a long time", async () => {
  await using quick = await startPostern({ oauthTokenLifetimeSeconds: 0, browserSessionIdleSeconds: 0 });
  const at = issuerOf(quick);
  const [app, person] = [await application(quick.admin, settings), await signedUp(quick)];
  const { browser, hint } = await signedIn(at, app, person);
  const { sid, exp = 0 } = decodeJwt(hint);
  await eventually(() => exp * 1000 <= Date.now() || undefined, "the end of the hint");
  const left = await browser.open(endUrl({ id_token_hint: hint, post_logout_redirect_uri: bye }, at));
  expect([left.status, left.url]).toEqual([303, bye]);
  const { body } = await quick.admin.get(`/v1/events?types=session.ended`);
  expect(body.events.map(({ objectId }: { objectId: string }) => objectId)).toContain(sid);
});

test.each([
  ["the hint of another client", () => ({ client_id: other.clientId }), 400, "hint_of_other_client"],
  ["a URI that is not listed", () => ({ post_logout_redirect_uri: `${bye}/` }), 400, "logout_uri_unknown"],
  ["a URI with a query more", () => ({ post_logout_redirect_uri: `${bye}?x=1` }), 400, "logout_uri_unknown"],
  ["a redirect URI", () => ({ post_logout_redirect_uri: "https://app.example/cb" }), 400, "logout_uri_unknown"],
  ["a listed URI that runs code", () => ({ post_logout_redirect_uri: "javascript:alert(1)" }), 400, "DANGEROUS_SCHEME"],
  [
    "a listed URI with a wildcard",
    () => ({ post_logout_redirect_uri: "https://*.example/bye" }),
    400,
    "REDIRECT_URI_WILDCARD",
  ],
  ["an unknown client", () => ({ id_token_hint: "", client_id: "nobody" }), 400, "client_unknown"],
  ["a state that is too long", () => ({ state: "s".repeat(2_001) }), 400, "request_malformed"],
  ["parameters that are too long", () => ({ x: "x".repeat(12_000) }), 400, "request_malformed"],
] as const)("%s is refused, and signs nobody out", async (_, more, status, error) => {
  const { browser, hint } = await signedIn();
  const url = endUrl({ id_token_hint: hint, post_logout_redirect_uri: bye, ...more() });
  expect(errorOf(await browser.open(url))).toEqual([status, error]);
  expect(await isSignedIn(browser)).toBe(true);
});

test.each(["id_token_hint", "client_id", "post_logout_redirect_uri", "state"])(
  "%s that is there twice is refused",
  async (name) => {
    const { browser, hint } = await signedIn();
    const all = {
      ...{ id_token_hint: hint, client_id: app.clientId, post_logout_redirect_uri: bye, state: "s" },
    };
    const url = `${endUrl(all)}&${name}=${encodeURIComponent(all[name as keyof typeof all])}`;
    expect(errorOf(await browser.open(url))).toEqual([400, "request_malformed"]);
    expect(await isSignedIn(browser)).toBe(true);
  },
);

test("without a hint of ours a page asks, and leads nowhere else: none, a client_id, one that somebody else signed, an access token", async () => {
  const jwt = await application(postern.admin, { ...settings, accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { browser, code } = await codeFor(issuer, jwt, person);
  const { body } = await exchange(issuer, jwt, code);
  const [head = "", payload = ""] = body.id_token.split(".");
  const secret = await importJWK({ kty: "oct", k: Buffer.from("a".repeat(32)).toString("base64url") }, "HS256");
  const forged = await new SignJWT(decodeJwt(body.id_token))
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .sign(secret);
  const none = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")}.${payload}.`;
  const hints = [undefined, forged, none, `${head}.${payload}.AAAA`, body.access_token, "x"];
  for (const hint of hints)
    for (const named of [{}, { client_id: jwt.clientId }]) {
      const given = { ...named, ...(hint === undefined ? {} : { id_token_hint: hint }) };
      const page = await browser.open(endUrl({ ...given, post_logout_redirect_uri: bye, state: "s" }));
      expect([hint, titleOf(page)]).toEqual([hint, [200, pageText("sign_out_title", "en")]]);
      expect(page.headers.get("content-security-policy")).toContain("form-action 'self';");
      expect(page.text).toContain(pageText("continue_text", "en", { name: person.username }));
      expect(await isSignedIn(browser, jwt)).toBe(true);
    }
  const page = await browser.open(endUrl({ client_id: jwt.clientId, post_logout_redirect_uri: bye }));
  const left = await browser.submit(page, {}, "sign_out");
  expect([titleOf(left), left.url]).toEqual([[200, pageText("signed_out", "en")], `${issuer}/sign-out`]);
  expect(await isSignedIn(browser, jwt)).toBe(false);
});

test("who cancels stays signed in", async () => {
  const { browser } = await signedIn();
  const left = await browser.submit(await browser.open(endUrl({})), {}, "cancel");
  expect(titleOf(left)).toEqual([200, pageText("still_signed_in", "en")]);
  expect(await isSignedIn(browser)).toBe(true);
});

test("without a session nothing is asked: the browser goes where a hint proves, else to the page that says so", async () => {
  const { browser, hint } = await signedIn();
  await browser.open(endUrl({ id_token_hint: hint }));
  const again = await browser.open(endUrl({ id_token_hint: hint, post_logout_redirect_uri: bye }));
  expect([again.status, again.url]).toEqual([303, bye]);
  expect(titleOf(await browser.open(endUrl({ post_logout_redirect_uri: bye })))).toEqual([
    200,
    pageText("signed_out", "en"),
  ]);
});

test("a hint of another session asks; a click then ends both sessions of one user, and leads back", async () => {
  const { browser, hint } = await signedIn();
  await signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), person);
  const page = await browser.open(endUrl({ id_token_hint: hint, post_logout_redirect_uri: bye, state: "s" }));
  expect(titleOf(page)).toEqual([200, pageText("sign_out_title", "en")]);
  expect(page.headers.get("content-security-policy")).toBe(
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  );
  expect([page.headers.get("x-frame-options"), page.headers.get("cache-control")]).toEqual(["DENY", "no-store"]);
  expect(page.text).not.toMatch(/<script|style=|onload|https?:/);
  expect(await isOpen(hint)).toBe(true);
  const left = await browser.submit(page, {}, "sign_out");
  expect([left.status, left.url]).toEqual([200, `${bye}?state=s`]);
  expect([await isSignedIn(browser), await isOpen(hint)]).toEqual([false, false]);
});

test("a session that a new sign-in of the user replaced in this browser ends too, and none of another user or browser", async () => {
  const [first, elsewhere, stranger] = [await signedIn(), await signedIn(), await signedUp(postern)];
  const { browser } = first;
  for (let n = 0; n < 2; n++) await signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), person);
  const { code = "" } = answerIn(await browser.open(authorizeUrl(issuer, other)));
  const hint = (await exchange(issuer, other, code)).body.id_token;
  expect((await browser.open(endUrl({ id_token_hint: hint, post_logout_redirect_uri: bye }))).url).toBe(bye);
  expect([await isOpen(first.hint), await isOpen(elsewhere.hint)]).toEqual([false, true]);
  await signIn(elsewhere.browser, authorizeUrl(issuer, app, { prompt: "login" }), stranger);
  await elsewhere.browser.submit(await elsewhere.browser.open(endUrl({})), {}, "sign_out");
  const { body } = await postern.admin.get(`/v1/sessions?userId=${stranger.userId}`);
  // The one of its calls.
  expect(body.sessions.length).toBe(1);
  const { sessions } = (await postern.admin.get(`/v1/sessions?userId=${person.userId}`)).body;
  expect(sessions.map(({ id }: { id: string }) => id)).toContain(decodeJwt(elsewhere.hint).sid);
});

test("a hint of another user asks, and the session of that user lives on", async () => {
  const [mine, theirs] = [await signedIn(), await signedIn(issuer, app, await signedUp(postern))];
  const page = await mine.browser.open(endUrl({ id_token_hint: theirs.hint, post_logout_redirect_uri: bye }));
  expect(titleOf(page)).toEqual([200, pageText("sign_out_title", "en")]);
  await mine.browser.submit(page, {}, "sign_out");
  expect([await isSignedIn(mine.browser), await isSignedIn(theirs.browser)]).toEqual([false, true]);
});

test("a form that another site sends is refused: without the cookie, with another browser's, with another origin, or of a sign-in", async () => {
  const [victim, attacker] = [await signedIn(), await signedIn(issuer, app, await signedUp(postern))];
  const page = await attacker.browser.open(endUrl({}));
  await victim.browser.open(endUrl({}));
  const values = { ...hiddenIn(page.text), action: "sign_out" };
  const send = async (browser: Browser, headers: Record<string, string>, more = {}) =>
    errorOf(
      await browser.send(`${issuer}/sign-out`, {
        ...{ method: "POST", headers, body: new URLSearchParams({ ...values, ...more }) },
      }),
    );
  expect(await send(victim.browser, { origin: issuer })).toEqual([403, "expired"]);
  for (const origin of ["https://evil.example", "null"])
    expect(await send(attacker.browser, { origin })).toEqual([403, "expired"]);
  expect(await send(attacker.browser, { origin: issuer }, { token: "AAAA" })).toEqual([403, "expired"]);
  expect(await send(attacker.browser, { origin: issuer }, { request: "AAAA" })).toEqual([400, "expired"]);
  const signIn = await attacker.browser.open(authorizeUrl(issuer, app, { prompt: "select_account" }));
  expect(await send(attacker.browser, { origin: issuer }, hiddenIn(signIn.text))).toEqual([403, "expired"]);
  expect([await isSignedIn(victim.browser), await isSignedIn(attacker.browser)]).toEqual([true, true]);
  expect((await attacker.browser.send(`${issuer}/sign-out`, { method: "GET" })).status).toBe(405);
});

test("a form that is sent twice, to two nodes at once, signs out once and ends well", async () => {
  await using nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  const [app, person] = [await application(nodes.one.admin, settings), await signedUp(nodes.one)];
  const { browser } = await codeFor(nodes.one.url, app, person);
  const page = await browser.open(endUrl({}, nodes.one.url));
  const body = new URLSearchParams({ ...hiddenIn(page.text), action: "sign_out" });
  const headers = {
    origin: "https://id.example",
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
  };
  const all = await Promise.all(
    Array.from({ length: 6 }, (_, n) => fetch(`${nodes.through(n).url}/sign-out`, { method: "POST", headers, body })),
  );
  expect(all.map(({ status }) => status)).toEqual(Array(6).fill(200));
  const { body: log } = await nodes.one.admin.get("/v1/events?types=session.ended");
  expect(log.events.length).toBe(1);
});

test.each([
  ["de", "de"],
  ["fr", "fr"],
  ["es", "es"],
  ["ja", "en"],
] as const)("pages for the ui_locales %s are in the language %s", async (ui_locales, language) => {
  const { browser } = await signedIn();
  expect(titleOf(await browser.open(endUrl({ ui_locales, client_id: "nobody" })))).toEqual([
    400,
    pageText("sign_out_error", language),
  ]);
  const page = await browser.open(endUrl({ ui_locales }));
  expect(titleOf(page)).toEqual([200, pageText("sign_out_title", language)]);
  expect(titleOf(await browser.submit(page, {}, "sign_out"))).toEqual([200, pageText("signed_out", language)]);
});
