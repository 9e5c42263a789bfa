import { decodeJwt } from "jose";
import * as oidc from "openid-client";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { providerChores } from "../../../src/provider/chores.ts";
import { sealRequest } from "../../../src/provider/request/sealed_request.ts";
import { signingKeys } from "../../../src/provider/tokens/signing_keys.ts";
import { type Postern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { openProbe } from "../../probe.ts";
import { openHandlers } from "../../sent_statements.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  challenge,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn,
} from "../application.ts";
import { type Browser, openBrowser } from "../browser.ts";
import { problemOf } from "../device_flow.ts";
import { withinMinute } from "../within_minute.ts";

let nodes: TwoNodes;
let postern: Postern;
let issuer: string;
let person: Person;
let app: Application;
const perMinute = 5;
beforeAll(async () => {
  nodes = await startTwoNodes({ pushedRequestsPerAddressPerMinute: perMinute });
  postern = nodes.one;
  issuer = issuerOf(postern);
  [app, person] = [await application(postern.admin, pushing), await signedUp(postern)];
});
afterAll(() => nodes?.[Symbol.asyncDispose]());
beforeEach(() => ask(nodes.databaseUrl, "delete from device_attempts"));

const pushing = { requirePushedAuthorizationRequests: true };
const open = { authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE", appType: "OIDC_APP_TYPE_USER_AGENT" };

const formOf = (of: Application, more: Readonly<Record<string, string>> = {}) => ({
  ...{ redirect_uri: of.redirectUri, response_type: "code", scope: "openid", state: "s1", nonce: "n1" },
  ...{ code_challenge: challenge, code_challenge_method: "S256", ...more },
});

const push = (of: Application, more: Readonly<Record<string, string>> = {}, node = issuer) =>
  of.clientSecret === ""
    ? post(node, "/oauth/par", { client_id: of.clientId, ...formOf(of, more) })
    : post(node, "/oauth/par", formOf(of, more), basic(of));

async function pushed(of: Application, more: Readonly<Record<string, string>> = {}, node = issuer): Promise<string> {
  const { status, body } = await push(of, more, node);
  expect([status, body]).toEqual([201, { request_uri: expect.any(String), expires_in: 60 }]);
  return body.request_uri;
}

const urlOf = ({ clientId }: Application, request_uri: string, more: Readonly<Record<string, string>> = {}) =>
  `${issuer}/oauth/authorize?${new URLSearchParams({ client_id: clientId, request_uri, ...more })}`;

const opened = async (url: string, browser: Browser = openBrowser(issuer)) => problemOf(await browser.open(url));

test("openid-client pushes a request and signs in by it", async () => {
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const secret = oidc.ClientSecretBasic(app.clientSecret);
  const client = await oidc.discovery(new URL(issuer), app.clientId, undefined, secret, insecure);
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const [expectedState, expectedNonce] = [oidc.randomState(), oidc.randomNonce()];
  const url = await oidc.buildAuthorizationUrlWithPAR(client, {
    ...{ redirect_uri: app.redirectUri, scope: "openid", state: expectedState, nonce: expectedNonce },
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  expect([...url.searchParams.keys()].sort()).toEqual(["client_id", "request_uri"]);
  const back = await signIn(openBrowser(issuer), url.href, person);
  const checks = { pkceCodeVerifier, expectedState, expectedNonce };
  const { id_token = "" } = await oidc.authorizationCodeGrant(client, new URL(back.url), checks);
  expect(decodeJwt(id_token)).toMatchObject({ sub: person.userId, aud: app.clientId });
});

test("an application that must push gets invalid_request for a plain request, and another one may do either", async () => {
  const browser = openBrowser(issuer);
  const { error, error_description } = answerIn(await browser.open(authorizeUrl(issuer, app)));
  expect([error, error_description]).toEqual(["invalid_request", expect.stringContaining("push")]);
  const either = await application(postern.admin);
  expect(await opened(authorizeUrl(issuer, either))).toEqual([200, undefined]);
  expect(await opened(urlOf(either, await pushed(either)))).toEqual([200, undefined]);
});

test("a request that one node took opens once, of ten tries at once on two nodes", async () => {
  const uri = await pushed(app);
  const tries = Array.from({ length: 10 }, (_, nth) =>
    fetch(urlOf(app, uri).replace(issuer, issuerOf(nodes.through(nth)))).then(({ status }) => status),
  );
  expect((await Promise.all(tries)).sort()).toEqual([200, ...Array(9).fill(400)]);
  expect(await opened(urlOf(app, uri))).toEqual([400, "expired"]);
});

test("a request opens for its own application alone, and nothing in the URL is added to it", async () => {
  const other = await application(postern.admin);
  const uri = await pushed(app);
  for (const url of [urlOf(other, uri), urlOf(app, `${uri}x`), `${issuer}/oauth/authorize?request_uri=${uri}`])
    expect(await opened(url)).toEqual([400, "expired"]);
  const more = { redirect_uri: "https://evil.example", scope: "openid roles", state: "other", prompt: "none" };
  const back = answerIn(await signIn(openBrowser(issuer), urlOf(app, uri, more), person));
  expect(back.state).toBe("s1");
  expect((await exchange(issuer, app, back.code ?? "")).body.scope).toBe("openid");
});

test("a request is over after a minute, and the sweep deletes it", async () => {
  await using probe = openProbe(nodes.databaseUrl);
  const uri = await pushed(app);
  await probe.sql`update pushed_requests set expiration_date = now() - interval '2 minutes'`;
  expect(await opened(urlOf(app, uri))).toEqual([400, "expired"]);
  await using handlers = openHandlers(postern);
  const chores = providerChores(handlers.deps, signingKeys({ ...handlers.deps, instanceId: "any" }));
  await chores.find(({ name }) => name === "expired pushed requests")?.batch(100);
  expect(await probe.sql`select from pushed_requests`).toHaveLength(0);
});

test("the page of a pushed request opens in another language, in its browser alone and for an hour", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(urlOf(app, await pushed(app)));
  const [, link = ""] = /href="([^"]*page_language=de)"/.exec(page.text) ?? [];
  const url = issuer + link.replaceAll("&amp;", "&");
  expect(await opened(url)).toEqual([400, "expired"]);
  const wider = url.replace("scope=openid", "scope=openid+roles");
  expect(wider).not.toBe(url);
  for (const changed of [wider, `${url}&max_age=0`, `${url}&response_mode=fragment`, url.replace("?", "?max_age=0&")])
    expect(await opened(changed, browser)).toEqual([400, "expired"]);
  const again = await browser.open(url);
  expect([again.status, again.text]).toEqual([200, expect.stringContaining('lang="de"')]);
  const { username, password } = person;
  const back = answerIn(await browser.submit(again, { login_name: username, password }));
  expect((await exchange(issuer, app, back.code ?? "")).status).toBe(200);
});

test("a form of a pushed request that is too old offers no way to begin again, because there is none", async () => {
  await using handlers = openHandlers(postern);
  const browser = openBrowser(issuer);
  const { text } = await browser.open(urlOf(app, await pushed(app)));
  const [, query = ""] = /href="\/oauth\/authorize\?([^"]*)&amp;page_language=de"/.exec(text) ?? [];
  const hourAgo = new Date(Date.now() - 3_601_000);
  const request = sealRequest(handlers.deps.secrets.keyring, query.replaceAll("&amp;", "&"), hourAgo);
  const sent = { method: "POST", headers: { origin: issuer }, body: new URLSearchParams({ request }) };
  const late = await browser.send(`${issuer}/sign-in`, sent);
  expect(problemOf(late)).toEqual([400, "expired"]);
  expect(late.text).not.toContain("/oauth/authorize?client_id");
});

test("as many parameters are taken as can be opened, and one more is refused at once", async () => {
  const named = Object.keys(formOf(app)).length + 1;
  const others = (most: number) => Object.fromEntries(Array.from({ length: most - named }, (_, n) => [`x${n}`, "1"]));
  expect(await opened(urlOf(app, await pushed(app, others(49))))).toEqual([200, undefined]);
  const { status, body } = await push(app, others(50));
  expect([status, body.error]).toEqual([400, "invalid_request"]);
});

test.each([
  ["an unknown redirect URI", { redirect_uri: "https://evil.example/cb" }, "invalid_request"],
  ["no response type", { response_type: "" }, "invalid_request"],
  ["a response type of others", { response_type: "id_token" }, "unauthorized_client"],
  ["a request_uri", { request_uri: "urn:ietf:params:oauth:request_uri:oq_x" }, "invalid_request"],
  ["a request object", { request: "e30.e30." }, "request_not_supported"],
  ["an unknown resource", { resource: "https://other.example" }, "invalid_target"],
  ["a state that is too long", { state: "x".repeat(2_001) }, "invalid_request"],
  ["parameters of 12 KB", { login_hint: "x".repeat(100), any: "x".repeat(12_000) }, "invalid_request"],
  ["a device", { "urn:postern:device": "x", redirect_uri: "" }, "invalid_request"],
])("what authorize would refuse is refused at once: %s", async (_, more, error) => {
  const { status, body } = await push(app, more);
  expect([status, body.error]).toEqual([400, error]);
});

test("only the application itself may push: no wrong secret, no other method, no machine, no unknown client", async () => {
  const sent = [
    () => push({ ...app, clientSecret: "wrong" }),
    () => push({ ...app, clientSecret: "" }),
    () => push({ ...app, clientId: "unknown" }),
    () => post(issuer, "/oauth/par", { ...formOf(app), client_id: app.clientId, client_secret: app.clientSecret }),
  ];
  for (const one of sent) expect((await one()).body.error).toBe("invalid_client");
  const twice = new URLSearchParams(formOf(app));
  twice.append("scope", "openid");
  const body = await fetch(`${issuer}/oauth/par`, { method: "POST", body: twice, headers: basic(app) });
  expect([body.status, await body.json()]).toEqual([400, expect.objectContaining({ error: "invalid_request" })]);
  expect((await fetch(`${issuer}/oauth/par`)).status).toBe(405);
});

test("applications without a secret push as often as their address may, on all nodes, and others do not count", async () => {
  const spa = await application(postern.admin, { ...open, ...pushing });
  const { status, body, headers } = await withinMinute(nodes.databaseUrl, async () => {
    for (let nth = 0; nth < perMinute; nth++) await pushed(spa, {}, nodes.through(nth).url);
    return push(spa, {}, nodes.two.url);
  });
  expect([status, body.error]).toEqual([503, "temporarily_unavailable"]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  await pushed(app);
});

test("with ten thousand requests of an application without a secret the oldest makes room, and another application waits", async () => {
  await using probe = openProbe(nodes.databaseUrl);
  const [spa, other] = [await application(postern.admin, open), await application(postern.admin)];
  for (const { appId } of [spa, other])
    await probe.sql`insert into pushed_requests (hash, app_id, query, expiration_date)
      select sha256(convert_to(${appId} || n, 'UTF8')), ${appId}, n::text, now() + interval '30 seconds' + n * interval '1 ms'
      from generate_series(1, 10000) n`;
  expect(await opened(urlOf(spa, await pushed(spa)))).toEqual([200, undefined]);
  const left = ({ appId }: Application) => probe.sql`
    select count(*)::integer, min(query::integer)::integer from pushed_requests where app_id = ${appId}`;
  expect(await left(spa)).toEqual([{ count: 9_999, min: 2 }]);
  const { status, body } = await push(other);
  expect([status, body.error]).toEqual([503, "temporarily_unavailable"]);
  expect(await left(other)).toEqual([{ count: 10_000, min: 1 }]);
  await probe.sql`delete from pushed_requests`;
});

test("a secret is nowhere in what is kept", async () => {
  await using probe = openProbe(nodes.databaseUrl);
  const posting = await application(postern.admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_POST" });
  const credentials = { client_id: posting.clientId, client_secret: posting.clientSecret };
  expect((await post(issuer, "/oauth/par", { ...formOf(posting), ...credentials })).status).toBe(201);
  const kept = await probe.sql`select query from pushed_requests where app_id = ${posting.appId}`;
  expect(kept).toHaveLength(1);
  expect(kept[0]?.query).not.toContain("secret");
});
