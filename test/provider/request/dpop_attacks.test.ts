import { randomUUID } from "node:crypto";
import { exportJWK, generateSecret } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refreshing } from "../../fixture/connection.ts";
import { signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { type Application, application, basic, codeFor, type Person, post, verifier } from "../application.ts";
import { beginDevice, deviceApplication, poll } from "../device_flow.ts";
import { type Changed, type DpopKey, dpopKey, proofOf } from "../dpop.ts";
import { done } from "../holding.ts";
import { bySecret, type GrantedMachine, grantedMachine } from "../machine.ts";

const issuer = "https://id.example";
const tokenUrl = `${issuer}/oauth/token`;
let nodes: TwoNodes;
let app: Application;
let robot: GrantedMachine;
let person: Person;
let key: DpopKey;
let other: DpopKey;
let code: string;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: issuer, codeLifetimeSeconds: 600 });
  app = await application(nodes.one.admin);
  robot = await grantedMachine(nodes.one);
  [person, key, other] = [await signedUp(nodes.one), await dpopKey(), await dpopKey()];
  code = (await codeFor(nodes.one.url, app, person)).code;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const url = (nth: number) => nodes.through(nth).url;
const proof = (changed: Changed = {}, of = key) => proofOf(of, ["POST", tokenUrl], changed);
const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const now = () => Math.floor(Date.now() / 1000);

const redeem = (dpop: string, node = nodes.one.url) => {
  const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: verifier };
  return post(node, "/oauth/token", form, { ...basic(app), dpop });
};

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Proofs that are not accepted, by what is wrong with them. */
const wrong: Readonly<Record<string, () => Promise<string>>> = {
  "key: none in the header": () => proof({ header: { jwk: undefined } }),
  "key: another one than signed": () => proof({ by: other.key }),
  "key: a changed signature": async () => `${(await proof()).slice(0, -4)}AAAA`,
  "key: private": async () => proof({ header: { jwk: { ...key.jwk, d: (await exportJWK(key.key)).d } } }),
  "key: symmetric": async () => {
    const secret = Buffer.from(
      String((await exportJWK(await generateSecret("HS256", { extractable: true }))).k),
      "base64url",
    );
    return proof({ by: secret, header: { alg: "HS256", jwk: { kty: "oct", k: secret.toString("base64url") } } });
  },
  "key: the public one as a secret": () =>
    proof({ by: Buffer.from(JSON.stringify(key.jwk)), header: { alg: "HS256" } }),
  "key: of a curve for another algorithm": async () => {
    const { jwk, key: by } = await dpopKey("ES384");
    return proof({ by, header: { alg: "ES384", jwk } });
  },
  "key: RSA": async () => {
    const { jwk, key: by } = await dpopKey("RS256");
    return proof({ by, header: { alg: "RS256", jwk } });
  },
  "key: no point of the curve": () => proof({ header: { jwk: { ...key.jwk, x: "A".repeat(43) } } }),
  "key: a coordinate that is too long": () => proof({ header: { jwk: { ...key.jwk, x: `${key.jwk.x}AAAA` } } }),
  "key: elsewhere": () => proof({ header: { jwk: undefined, jku: "https://evil.example/keys", kid: "k1" } }),
  "key: no object": () => proof({ header: { jwk: "key" } }),
  "algorithm: none": async () => {
    const [, payload] = (await proof()).split(".");
    return `${part({ typ: "dpop+jwt", alg: "none", jwk: key.jwk })}.${payload}.`;
  },
  "algorithm: of another key": () => proof({ header: { jwk: { ...other.jwk, crv: "P-384" } } }),
  "type: none": () => proof({ header: { typ: undefined } }),
  "type: JWT": () => proof({ header: { typ: "JWT" } }),
  "type: an access token": () => proof({ header: { typ: "at+jwt" } }),
  "method: GET": () => proof({ claims: { htm: "GET" } }),
  "method: in small letters": () => proof({ claims: { htm: "post" } }),
  "method: none": () => proof({ claims: { htm: undefined } }),
  "URL: of another endpoint": () => proof({ claims: { htu: `${issuer}/oauth/userinfo` } }),
  "URL: of another server": () => proof({ claims: { htu: "https://evil.example/oauth/token" } }),
  "URL: http": () => proof({ claims: { htu: "http://id.example/oauth/token" } }),
  "URL: another port": () => proof({ claims: { htu: "https://id.example:8443/oauth/token" } }),
  "URL: below": () => proof({ claims: { htu: `${tokenUrl}/` } }),
  "URL: beginning alike": () => proof({ claims: { htu: "https://id.example@evil.example/oauth/token" } }),
  "URL: with a user": () => proof({ claims: { htu: "https://user@id.example/oauth/token" } }),
  "URL: the path alone": () => proof({ claims: { htu: "/oauth/token" } }),
  "URL: a list": () => proof({ claims: { htu: [tokenUrl] } }),
  "URL: none": () => proof({ claims: { htu: undefined } }),
  "time: two minutes ago": () => proof({ claims: { iat: now() - 120 } }),
  "time: in two minutes": () => proof({ claims: { iat: now() + 120 } }),
  "time: milliseconds": () => proof({ claims: { iat: Date.now() } }),
  "time: none": () => proof({ claims: { iat: undefined } }),
  "time: expired by its own words": () => proof({ claims: { exp: now() - 120 } }),
  "identifier: none": () => proof({ claims: { jti: undefined } }),
  "identifier: empty": () => proof({ claims: { jti: "" } }),
  "identifier: a number": () => proof({ claims: { jti: 7 } }),
  "identifier: 201 characters": () => proof({ claims: { jti: "x".repeat(201) } }),
  "form: two proofs": async () => `${await proof()}, ${await proof()}`,
  "form: no JWT": async () => "proof",
  "form: JSON": async () => JSON.stringify({ htm: "POST", htu: tokenUrl }),
  "form: 5 KB": () => proof({ claims: { more: "x".repeat(5_000) } }),
  "form: a critical header": async () => {
    const [, payload, signature] = (await proof()).split(".");
    return `${part({ typ: "dpop+jwt", alg: "ES256", jwk: key.jwk, crit: ["x"], x: 1 })}.${payload}.${signature}`;
  },
};

describe.each(Object.entries(wrong))("a proof with the wrong %s", (_, made) => {
  test("is refused for a code, which stays as good as it was, and for a machine", async () => {
    expect(outcome(await redeem(await made()))).toEqual([400, "invalid_dpop_proof"]);
    expect(outcome(await bySecret(nodes.two.url, robot, {}, { dpop: await made() }))).toEqual([
      400,
      "invalid_dpop_proof",
    ]);
  });
});

test("the code of all those is exchanged by a right proof, once for each code", async () => {
  expect(await redeem(await proof())).toMatchObject({ status: 200, body: { token_type: "DPoP" } });
  expect(outcome(await redeem(await proof()))).toEqual([400, "invalid_grant"]);
});

test("two headers are one too many", async () => {
  const headers = new Headers(basic(app));
  for (const one of [await proof(), await proof()]) headers.append("dpop", one);
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code: await freshCode(),
    redirect_uri: app.redirectUri,
  });
  const answer = await fetch(`${nodes.one.url}/oauth/token`, { method: "POST", body, headers });
  expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: "invalid_dpop_proof" })]);
});

const freshCode = async () => (await codeFor(nodes.one.url, app, person)).code;

test.each([
  ["with a query", `${tokenUrl}?any=1`],
  ["with a fragment", `${tokenUrl}#any`],
  ["with the port of its scheme", "https://id.example:443/oauth/token"],
  ["in capital letters", "HTTPS://ID.EXAMPLE/oauth/token"],
])("the URL of the endpoint is right %s", async (_, htu) => {
  expect((await bySecret(url(0), robot, {}, { dpop: await proof({ claims: { htu } }) })).status).toBe(200);
});

test.each(["ES256", "EdDSA", "Ed25519"])("%s is an algorithm of proofs", async (alg) => {
  const { body } = await bySecret(url(1), robot, {}, { dpop: await proof({}, await dpopKey(alg)) });
  expect(body).toMatchObject({ token_type: "DPoP" });
});

test("a proof counts once: of ten at once on two nodes one is accepted, and none later", async () => {
  const dpop = await proof();
  const tries = Array.from({ length: 10 }, (_, nth) => bySecret(url(nth), robot, {}, { dpop }));
  const all = (await Promise.all(tries)).map(outcome).sort();
  expect(all).toEqual([[200, undefined], ...Array(9).fill([400, "invalid_dpop_proof"])]);
  for (const nth of [0, 1])
    expect(outcome(await bySecret(url(nth), robot, {}, { dpop }))).toEqual([400, "invalid_dpop_proof"]);
});

const offline = { scope: "openid offline_access" };
const publicSettings = {
  ...refreshing,
  authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  appType: "OIDC_APP_TYPE_USER_AGENT",
};

test("a request that somebody overheard, and sends again as it was, ends nothing", async () => {
  const open = await application(nodes.one.admin, publicSettings);
  const of = { client_id: open.clientId, redirect_uri: open.redirectUri, code_verifier: verifier };
  const again: (() => ReturnType<typeof post>)[] = [];
  const send = async (form: Readonly<Record<string, string>>) => {
    const dpop = await proof();
    const sent = (node: string) => post(node, "/oauth/token", { ...of, ...form }, { dpop });
    again.push(() => sent(url(1)));
    return done(await sent(url(0)));
  };
  const refresh = (refresh_token: string) => send({ grant_type: "refresh_token", refresh_token });
  const { code } = await codeFor(nodes.one.url, open, person, offline);
  const first = await send({ grant_type: "authorization_code", code });
  const second = await refresh(first.refresh_token);
  // Only for a moment would a token that was replaced be no sign of a thief.
  await ask(nodes.databaseUrl, "update refresh_tokens set replaced = replaced - interval '1 minute'");
  for (const sent of again) expect(outcome(await sent())).toEqual([400, "invalid_dpop_proof"]);
  await refresh(second.refresh_token);
});

test("the identifier of a proof is its key's own: another key may have the same", async () => {
  const claims = { jti: randomUUID() };
  for (const of of [key, other])
    expect((await bySecret(url(0), robot, {}, { dpop: await proof({ claims }, of) })).status).toBe(200);
});

test("a proof is kept only for those who have something to exchange, and no longer than it would be accepted", async () => {
  const kept = () => ask(nodes.databaseUrl, "select from client_assertions where app_id like 'dpop:%'");
  const before = (await kept()).length;
  const form = { grant_type: "authorization_code", redirect_uri: app.redirectUri, code_verifier: verifier };
  const send = async (more: object) =>
    post(url(0), "/oauth/token", { ...form, ...more }, { ...basic(app), dpop: await proof() });
  expect(outcome(await send({ code: "oc_unknown" }))).toEqual([400, "invalid_grant"]);
  const unknown = { ...robot, clientSecret: "cs_wrong" };
  expect(outcome(await bySecret(url(0), unknown, {}, { dpop: await proof() }))).toEqual([401, "invalid_client"]);
  const stolen = { redirect_uri: app.redirectUri, code_verifier: verifier.replace("1", "2"), code: await freshCode() };
  expect(outcome(await send(stolen))).toEqual([400, "invalid_grant"]);
  const device = await deviceApplication(nodes.one.admin);
  const waiting = { ...(await beginDevice(url(0), device)), headers: { dpop: await proof() } };
  expect(outcome(await poll(url(0), device, waiting))).toEqual([400, "authorization_pending"]);
  const open = await application(nodes.one.admin, publicSettings);
  const redeemed = { ...form, client_id: open.clientId, code: (await codeFor(url(0), open, person, offline)).code };
  const { refresh_token } = done(await post(url(0), "/oauth/token", redeemed, { dpop: await proof() }));
  expect((await kept()).length).toBe(before + 1);
  const refresh = { grant_type: "refresh_token", client_id: open.clientId, refresh_token };
  const byThief = { dpop: await proof({}, other) };
  expect(outcome(await post(url(0), "/oauth/token", refresh, byThief))).toEqual([400, "invalid_grant"]);
  const nowhere = await bySecret(url(0), { ...robot, scope: "roles" }, {}, { dpop: await proof() });
  expect(outcome(nowhere)).toEqual([400, "invalid_scope"]);
  expect((await kept()).length).toBe(before + 1);
  const beyond =
    "select from client_assertions where app_id like 'dpop:%' and expiration_date > now() + interval '2 minutes 5 seconds'";
  expect(await ask(nodes.databaseUrl, beyond)).toHaveLength(0);
});
