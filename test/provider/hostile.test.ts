import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { type Postern, sharedPostern, signedUp, startPostern } from "../harness.ts";
import { ask, until } from "../postgres/embedded/holder.ts";
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
import { openBrowser } from "./browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  [app, person] = [await application(postern.admin), await signedUp(postern)];
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const userinfo = async (token: string) =>
  (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;

test("the jti of a token is no token: applications write it into their logs", async () => {
  const jwt = await application(postern.admin, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { body } = await exchange(issuer, jwt, (await codeFor(issuer, jwt, person)).code);
  const { jti = "" } = decodeJwt(body.access_token);
  expect([jti.length, await userinfo(jti)]).toEqual([24, 401]);
  expect((await post(issuer, "/oauth/introspect", { token: jti }, basic(jwt))).body).toEqual({ active: false });
  expect((await post(issuer, "/oauth/revoke", { token: jti }, basic(jwt))).status).toBe(200);
  expect(await userinfo(body.access_token)).toBe(200);
});

test("half a surrogate pair is refused, in an assertion and in a form, and is no error of ours", async () => {
  const part = (json: string) => Buffer.from(json).toString("base64url");
  const asserted = async (sub: string) => {
    const client_assertion = `${part('{"alg":"RS256"}')}.${part(`{"sub":"${sub}"}`)}.AAAA`;
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const form = { grant_type: "authorization_code", code: "x", client_assertion, client_assertion_type };
    return post(issuer, "/oauth/token", form);
  };
  for (const sub of ["\\ud800", "a\\udfff", "\\u0000"])
    expect([sub, await asserted(sub)]).toMatchObject([sub, { status: 401, body: { error: "invalid_client" } }]);
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, app));
  // Cut after 200 characters, it would end in half a pair.
  const named = await browser.submit(page, { login_name: `${"a".repeat(199)}😀`, password: "x" });
  expect([named.status, named.text]).toEqual([400, expect.stringContaining("request_malformed")]);
  const right = await browser.submit(page, { login_name: ` ${person.username} `, password: person.password });
  expect(answerIn(right).code).toEqual(expect.any(String));
});

test.each([
  ["https://exämple.com/cb", "https://xn--exmple-cua.com/cb"],
  ["https://app.example/zurück/😀", "https://app.example/zur%C3%BCck/%F0%9F%98%80"],
])("a user comes back to %s", async (redirectUri, href) => {
  const other = await application(postern.admin, { redirectUris: [redirectUri] });
  const { code = "", ...back } = answerIn(await signIn(openBrowser(issuer), authorizeUrl(issuer, other), person));
  expect(back.iss).toBe(issuer);
  expect((await exchange(issuer, other, code)).status).toBe(200);
  const { headers } = await openBrowser(issuer).send(authorizeUrl(issuer, other, { prompt: "none" }));
  expect(new URL(headers.get("location") ?? "").href.split("?")[0]).toBe(href);
});

test("while the database is away, every path of sign-in says that it will be back", async () => {
  await using at = await freshDatabase();
  await using away = await startPostern({ databaseUrl: at.url });
  const name = new URL(at.url).pathname.slice(1);
  const server = inject("databaseUrl");
  await ask(server, `alter database ${name} allow_connections false`);
  await ask(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  const [there, body] = [issuerOf(away), new URLSearchParams({ grant_type: "refresh_token", refresh_token: "x" })];
  const preflight = { origin: "https://app.example", "access-control-request-method": "POST" };
  const asked = [
    fetch(`${there}/oauth/keys`),
    fetch(`${there}/oauth/token`, { method: "OPTIONS", headers: preflight }),
    fetch(`${there}/oauth/token`, { method: "POST", body, headers: basic(app) }),
    fetch(`${there}/oauth/userinfo`, { headers: { authorization: "Bearer oa_x" } }),
    fetch(authorizeUrl(there, app)),
  ];
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  expect((await fetch(`${there}/.well-known/openid-configuration`)).status).toBe(200);
  await ask(server, `alter database ${name} allow_connections true`);
  await until(async () => (await fetch(`${there}/oauth/keys`)).status === 200);
});
