import { createPublicKey } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedUp } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  type Person,
  post,
  signIn,
  verifier,
} from "./application.ts";
import { hiddenIn, openBrowser, type Shown } from "./browser.ts";
import { done } from "./holding.ts";

const issuer = "https://id.example";
let nodes: TwoNodes;
let app: Application;
let native: Application;
let signed: Application & { readonly key: CryptoKey };
let person: Person;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: issuer });
  const { admin } = nodes.one;
  const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
  app = await application(admin, {
    ...{ redirectUris: ["https://app.example/cb", "https://app.example/other"], grantTypes },
    accessTokenType: "OIDC_TOKEN_TYPE_JWT",
  });
  const publicNative = { appType: "OIDC_APP_TYPE_NATIVE", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" };
  native = await application(admin, { ...publicNative, redirectUris: ["http://127.0.0.1/cb", "com.example.app:/cb"] });
  signed = await withKey();
  person = await signedUp(nodes.one);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** An application that authenticates by a key of its own, `k1`. */
async function withKey() {
  const { admin } = nodes.one;
  const made = await application(admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" });
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const { kty, n, e } = await exportJWK(publicKey);
  const path = `/v1/projects/${made.projectId}/applications/${made.appId}/keys`;
  done(await admin.post(path, { publicKey: { kty, n, e, kid: "k1" } }));
  return { ...made, key: privateKey };
}

/** The types of the facts that something leaves in the log. */
async function factsOf(attack: () => Promise<unknown>): Promise<readonly string[]> {
  const types = async () =>
    (await ask<{ type: string }>(nodes.databaseUrl, "select type from events order by position")).map(
      ({ type }) => type,
    );
  const before = await types();
  await attack();
  return (await types()).slice(before.length);
}

describe.each([
  ["one node", () => nodes.one.url],
  ["two nodes", () => nodes.two.url],
] as const)("on %s", (_, there) => {
  test.each([
    ["https://app.example/a/../cb"],
    ["https://app.example/CB"],
    ["https://APP.example/cb"],
    ["https://app.example:443/cb"],
    ["https://app.example:8443/cb"],
    ["https://app.example/cb?x=1"],
    ["https://app.example/cb?"],
    ["https://app.example/cb#"],
    ["https://app.example/cb/"],
    ["https://app.example./cb"],
    ["https://user@app.example/cb"],
    ["https://app.example@evil.example/cb"],
    ["https://app.example%2fcb"],
    ["https://app.example/%63b"],
    ["https://app.example\\cb"],
    ["https://app.example%5c@evil.example/cb"],
    ["https://app.example/cb%00"],
    [" https://app.example/cb"],
    ["https://аpp.example/cb"],
    ["http://app.example/cb"],
    ["//evil.example/cb"],
    ["/cb"],
    ["javascript:alert(1)//https://app.example/cb"],
    ["*"],
    [""],
  ])("nobody is sent to the redirect URI %s", async (redirect_uri) => {
    const { status, headers, text } = await openBrowser(there()).send(authorizeUrl(there(), app, { redirect_uri }));
    const problem = redirect_uri.includes("%00") ? "redirect_uri_unknown" : /<code>([^<]*)/.exec(text)?.[1];
    expect([status, headers.get("location"), problem]).toEqual([400, null, "redirect_uri_unknown"]);
  });

  test.each([
    ["http://127.0.0.1:99999/cb@evil.example"],
    ["http://127.0.0.1:80@evil.example/cb"],
    ["http://127.0.0.1.evil.example/cb"],
    ["http://127.0.0.1:1/cb/../x"],
    ["http://127.0.0.1:1/cb#x"],
    ["http://127.0.0.2/cb"],
    ["http://localhost/cb"],
    ["http://[::1]/cb"],
    ["https://127.0.0.1/cb"],
    ["com.example.app://cb"],
    ["com.example.app.evil:/cb"],
    ["COM.EXAMPLE.APP:/cb"],
  ])("nobody is sent to the redirect URI %s of a native application", async (redirect_uri) => {
    const { status, headers } = await openBrowser(there()).send(authorizeUrl(there(), native, { redirect_uri }));
    expect([status, headers.get("location")]).toEqual([400, null]);
  });

  const begun = async (more: Record<string, string> = {}) => codeFor(nodes.one.url, app, person, more);
  const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

  test("a code counts for its client, its URI and its verifier, and its reuse ends the sign-in", async () => {
    const { code } = await begun();
    const wrong = [
      () => exchange(there(), signed, code),
      () => exchange(there(), { ...native, clientSecret: "x" }, code),
      () => exchange(there(), { ...app, clientSecret: "wrong" }, code),
      () => exchange(there(), app, code, { redirect_uri: "https://app.example/other" }),
      () => exchange(there(), app, code, { redirect_uri: "" }),
      () => exchange(there(), app, code, { code_verifier: `${verifier}x` }),
      () => exchange(there(), app, `${code}x`),
      () => exchange(there(), app, code.toLowerCase()),
    ];
    const answers: unknown[] = [];
    const facts = await factsOf(async () => {
      for (const attempt of wrong) answers.push(outcome(await attempt()));
    });
    const client = [401, "invalid_client"];
    expect([answers, facts]).toEqual([[client, client, client, ...Array(5).fill([400, "invalid_grant"])], []]);
    expect((await exchange(there(), app, code)).status).toBe(200);
    expect(await factsOf(() => exchange(nodes.one.url, app, code))).toEqual(["sign_on.ended"]);
  });

  test("an assertion is of its client, for us, of now, and counts once of ten at once", async () => {
    const other = await withKey();
    const at = Math.floor(Date.now() / 1000);
    const claims = { iss: signed.clientId, sub: signed.clientId, aud: issuer, exp: at + 60 };
    const sign = (more: object, key: CryptoKey | Uint8Array = signed.key, header: object = {}) =>
      new SignJWT({ ...claims, jti: crypto.randomUUID(), ...more })
        .setProtectedHeader({ alg: "RS256", kid: "k1", ...header })
        .sign(key);
    const { n, e } = (await exportJWK(signed.key)) as JWK & { n: string; e: string };
    const pem = createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" }).export({ type: "spki", format: "pem" });
    const otherJwk = { ...(await exportJWK(other.key)), d: undefined };
    const right = await sign({});
    const [, payload] = right.split(".");
    const part = (header: object) => Buffer.from(JSON.stringify(header)).toString("base64url");
    const wrong = [
      await sign({ aud: "https://other.example" }),
      await sign({ aud: `${issuer}/oauth/authorize` }),
      await sign({ exp: at - 60 }),
      await sign({ exp: at + 9_000 }),
      await sign({ exp: undefined }),
      await sign({ exp: 1e300 }),
      await sign({ nbf: at + 600 }),
      await sign({ iat: at + 600 }),
      await sign({ iat: "now" }),
      await sign({ aud: [issuer, "https://other.example"] }),
      await sign({ aud: [`${issuer}/oauth/token`, "https://other.example"] }),
      await sign({ aud: [] }),
      await sign({ aud: [issuer, 7] }),
      await sign({ aud: [issuer, `${issuer}/oauth/token`] }),
      await sign({}, signed.key, { typ: "at+jwt" }),
      await sign({}, signed.key, { typ: "logout+jwt" }),
      await sign({}, signed.key, { typ: "application/at+jwt" }),
      await sign({}, signed.key, { typ: 7 }),
      await sign({ jti: undefined }),
      await sign({ jti: 7 }),
      await sign({ iss: other.clientId }),
      await sign({ sub: other.clientId }),
      await sign({}, other.key),
      await sign({}, other.key, { jwk: otherJwk, jku: "https://evil.example/keys", x5u: "https://evil.example/x" }),
      await sign({}, signed.key, { kid: "../k1" }),
      await sign({}, Buffer.from(String(pem)), { alg: "HS256" }),
      await sign({}, Buffer.from(n, "base64url"), { alg: "HS256" }),
      `${part({ alg: "none" })}.${payload}.`,
      `${part({ alg: "RS256", kid: "k1", crit: ["x"], x: 1 })}.${payload}.${right.split(".")[2]}`,
      `${right}x`,
    ];
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const send = async (client_assertion: string, node: string) =>
      outcome(await post(node, "/oauth/introspect", { token: "x", client_assertion, client_assertion_type }));
    for (const [nth, assertion] of wrong.entries())
      expect([nth, await send(assertion, there())]).toEqual([nth, [401, "invalid_client"]]);
    const more = [
      await sign({ iat: at + 30 }),
      await sign({ aud: [issuer] }),
      await sign({ aud: `${issuer}/oauth/token` }),
      await sign({ aud: [`${issuer}/oauth/token`] }),
      await sign({}, signed.key, { typ: "JWT" }),
      await sign({}, signed.key, { typ: "client-authentication+jwt" }),
      await sign({}, signed.key, { typ: "application/Client-Authentication+JWT" }),
    ];
    for (const [nth, assertion] of more.entries())
      expect([nth, (await send(assertion, there()))[0]]).toEqual([nth, 200]);
    const ten = await Promise.all(
      Array.from({ length: 10 }, (_, nth) => send(right, nth % 2 === 0 ? there() : nodes.one.url)),
    );
    expect(ten.filter(([status]) => status === 200).length).toBe(1);
    expect(ten.filter(([, error]) => error === "invalid_client").length).toBe(9);
  });

  test("each kind of token counts in its own place alone", async () => {
    const { code, browser } = await begun({ scope: "openid offline_access" });
    const { body } = await exchange(nodes.one.url, app, code);
    const userinfo = async (token: string) =>
      (await fetch(`${there()}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;
    const active = async (token: string) =>
      (await post(there(), "/oauth/introspect", { token }, basic(app))).body.active;
    const refreshed = async (refresh_token: string) =>
      (await post(there(), "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(app))).status;
    const api = async (token: string) => (await nodes.two.as(token).get("/v1/users/me")).status;
    const session = browser.cookies.get("__Host-postern-session") ?? "";
    const access = body.access_token;
    expect([await userinfo(access), await active(access), await api(access)]).toEqual([200, true, 401]);
    for (const token of [body.id_token, body.refresh_token, code, session, person.client.token ?? "", app.clientSecret])
      expect([await userinfo(token), await active(token)]).toEqual([401, false]);
    for (const token of [access, body.id_token, session]) expect(await refreshed(token)).toBe(400);
    for (const token of [access, body.id_token, session, code]) expect(await api(token)).toBe(401);
    for (const token of [access, body.id_token, body.refresh_token])
      expect((await exchange(there(), app, token)).status).toBe(400);
  });

  test("a JWT that was changed or made elsewhere is worth nothing", async () => {
    const { body } = await exchange(nodes.one.url, app, (await begun()).code);
    const [head = "", payload = "", mac = ""] = body.access_token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const { keys } = (await (await fetch(`${there()}/oauth/keys`)).json()) as { keys: (JWK & { kid: string })[] };
    const { kid } = JSON.parse(Buffer.from(head, "base64url").toString());
    const published = keys.find((key) => key.kid === kid) ?? expect.unreachable();
    const pem = createPublicKey({ key: { ...published }, format: "jwk" }).export({ type: "spki", format: "pem" });
    const own = await generateKeyPair("RS256", { extractable: true });
    const jwk = await exportJWK(own.publicKey);
    const sign = (header: object, key: Parameters<SignJWT["sign"]>[0]) =>
      new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid, ...header }).sign(key);
    const forged = [
      `${head}.${part({ ...claims, sub: nodes.one.adminId })}.${mac}`,
      `${part({ alg: "none", typ: "at+jwt" })}.${payload}.`,
      `${part({ alg: "RS256", typ: "at+jwt", kid: "other" })}.${payload}.${mac}`,
      await sign({}, own.privateKey),
      await sign({ jwk, kid: undefined }, own.privateKey),
      await sign({ jku: "https://evil.example/keys", x5u: "https://evil.example/x5u" }, own.privateKey),
      await sign({ alg: "HS256" }, Buffer.from(String(pem))),
      await sign({ alg: "HS256" }, await importJWK({ kty: "oct", k: published.n ?? "" }, "HS256")),
    ];
    for (const token of forged) {
      const response = await fetch(`${there()}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
      expect([response.status, (await post(there(), "/oauth/introspect", { token }, basic(app))).body]).toEqual([
        401,
        { active: false },
      ]);
    }
  });

  test("each form is refused from elsewhere: without its cookie, from another browser or origin, or with another request", async () => {
    const [mine, theirs] = [openBrowser(nodes.one.url), openBrowser(nodes.one.url)];
    const { text } = await mine.open(authorizeUrl(nodes.one.url, app));
    const other = await theirs.open(authorizeUrl(nodes.one.url, native));
    const values: Record<string, string> = {
      ...hiddenIn(text),
      login_name: person.username,
      password: person.password,
    };
    const sent = async (from: typeof mine, origin: string, more: Record<string, string>) => {
      const body = new URLSearchParams({ ...values, ...more });
      const answer = await from.send(`${there()}/sign-in`, { method: "POST", headers: { origin }, body });
      return [answer.status, /<code>([^<]*)/.exec(answer.text)?.[1]];
    };
    for (const action of ["password", "factor", "passkey", "choose", "allow", "continue", "other", "cancel"]) {
      const forms = [
        await sent(openBrowser(nodes.one.url), issuer, { action }),
        await sent(theirs, issuer, { action }),
        await sent(mine, "https://evil.example", { action }),
        await sent(mine, "null", { action }),
        await sent(mine, issuer, { action, request: hiddenIn(other.text).request ?? "" }),
        await sent(mine, issuer, { action, token: hiddenIn(other.text).token ?? "" }),
      ];
      expect([action, forms]).toEqual([action, Array(6).fill([403, "expired"])]);
    }
    const request = values.request ?? "";
    for (const cut of [request.slice(0, -1), request.slice(1), `${request}A`, ""])
      expect((await sent(mine, issuer, { action: "password", request: cut }))[1]).toBe("expired");
    expect(await sent(mine, issuer, { action: "password" })).toEqual([200, undefined]);
  });

  test("a session is new after each sign-in, and no cookie that a browser brings becomes one", async () => {
    const browser = openBrowser(there());
    const planted = `os_${"A".repeat(33)}`;
    browser.cookies.set("__Host-postern-session", planted);
    await signIn(browser, authorizeUrl(there(), app), person);
    const first = browser.cookies.get("__Host-postern-session") ?? "";
    const thief = openBrowser(there());
    for (const cookie of [planted, `${first}; __Host-postern-session=${first}`, `${first}x`]) {
      thief.cookies.set("__Host-postern-session", cookie);
      expect(answerIn(await thief.open(authorizeUrl(there(), app, { prompt: "none" }))).error).toBe("login_required");
    }
  });

  test("whatever page is shown, no other site frames it or reads it, and nobody keeps it", async () => {
    const shown: Shown[] = [
      await openBrowser(there()).open(authorizeUrl(there(), app)),
      await openBrowser(there()).open(`${there()}/oauth/authorize?client_id=nobody`),
      await openBrowser(there()).send(`${there()}/sign-in`, { method: "POST", body: new URLSearchParams({ a: "1" }) }),
      await openBrowser(there()).open(authorizeUrl(there(), app, { response_mode: "form_post", prompt: "none" })),
    ];
    for (const { headers } of shown) {
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none';.* frame-ancestors 'none'/);
      expect([headers.get("x-frame-options"), headers.get("cache-control")]).toEqual(["DENY", "no-store"]);
      expect(headers.get("access-control-allow-origin")).toBe(null);
    }
  });

  test("a Host or a proxy that names another host changes no URL that we send", async () => {
    const forged = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http", forwarded: "host=evil.example" };
    for (const path of ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]) {
      const text = await (await fetch(there() + path, { headers: forged })).text();
      expect([text.includes("evil"), JSON.parse(text).issuer]).toEqual([false, issuer]);
    }
    const silent = authorizeUrl(there(), app, { prompt: "none" });
    const { headers } = await openBrowser(there()).send(silent, { headers: forged });
    expect(answerIn({ url: headers.get("location") ?? "" }).iss).toBe(issuer);
  });
});
