import { randomBytes } from "node:crypto";
import { decodeJwt } from "jose";
import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { refreshing } from "../../fixture/connection.ts";
import { type Postern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  challenge,
  codeFor,
  issuerOf,
  type Person,
  post,
  signIn,
  verifier,
} from "../application.ts";
import { openBrowser } from "../browser.ts";
import { accessTokenType, delegation, exchanged, grantOfExchange, userScope, userTokens } from "../delegation.ts";
import { approve, beginDevice, deviceApplication, poll } from "../device_flow.ts";
import { ath, type DpopKey, dpopKey, proofOf } from "../dpop.ts";
import { done } from "../holding.ts";
import { asserted, bySecret, type GrantedMachine, grantedMachine, jwtBearer } from "../machine.ts";

let nodes: TwoNodes;
let postern: Postern;
let issuer: string;
let person: Person;
let app: Application;
let open: Application;
let robot: GrantedMachine;
let key: DpopKey;
let other: DpopKey;
beforeAll(async () => {
  nodes = await startTwoNodes();
  postern = nodes.one;
  issuer = issuerOf(postern);
  [app, open] = [await application(postern.admin, refreshing), await application(postern.admin, publicSettings)];
  [person, robot] = [await signedUp(postern), await grantedMachine(postern)];
  [key, other] = [await dpopKey(), await dpopKey("EdDSA")];
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const publicSettings = {
  ...refreshing,
  authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  appType: "OIDC_APP_TYPE_USER_AGENT",
};
const bound = { dpopBoundAccessTokens: true };
const scope = "openid offline_access";

type Sent = Readonly<Record<string, string>>;

const tokenProof = (of: DpopKey) => proofOf(of, ["POST", `${issuer}/oauth/token`]);

/** Sends a form to the token endpoint as an application, with the proof of a key if one is given. */
const send = async (at: Application, form: Sent, of?: DpopKey) => {
  const dpop: Sent = of ? { dpop: await tokenProof(of) } : {};
  const [as, headers]: readonly [Sent, Sent] =
    at.clientSecret === "" ? [{ client_id: at.clientId }, {}] : [{}, basic(at)];
  return post(issuer, "/oauth/token", { ...as, ...form }, { ...headers, ...dpop });
};

const redeem = (at: Application, code: string, of?: DpopKey) =>
  send(at, { grant_type: "authorization_code", code, redirect_uri: at.redirectUri, code_verifier: verifier }, of);

const refresh = (at: Application, refresh_token: string, of?: DpopKey) =>
  send(at, { grant_type: "refresh_token", refresh_token }, of);

const newCode = async (at: Application, more: Record<string, string> = {}) =>
  (await codeFor(issuer, at, person, { scope, ...more })).code;

const tokens = async (at: Application, of?: DpopKey, more: Record<string, string> = {}) =>
  done(await redeem(at, await newCode(at, more), of));

const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

const introspected = async (token: string, by: Pick<Application, "clientId" | "clientSecret">) =>
  (await post(issuer, "/oauth/introspect", { token }, basic(by))).body;

/** Asks userinfo with a token; answers the status, and the error of the challenge. */
async function userinfo(authorization: string, dpop?: string, init: RequestInit = {}) {
  const headers = { authorization, ...(dpop === undefined ? {} : { dpop }) };
  const answer = await fetch(`${issuer}/oauth/userinfo`, { ...init, headers });
  await answer.body?.cancel();
  return [answer.status, /error="([^"]*)"/.exec(answer.headers.get("www-authenticate") ?? "")?.[1]];
}

const userinfoProof = (of: DpopKey, token: string, method = "GET") =>
  proofOf(of, [method, `${issuer}/oauth/userinfo`], { claims: { ath: ath(token) } });

/** A client of openid-client, and a person's way through its sign-in. */
async function library(at: Application, alg = "ES256") {
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const proof = at.clientSecret === "" ? oidc.None() : oidc.ClientSecretBasic(at.clientSecret);
  const client = await oidc.discovery(new URL(issuer), at.clientId, undefined, proof, insecure);
  const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair(alg));
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const parameters = {
    ...{ redirect_uri: at.redirectUri, scope, code_challenge_method: "S256" },
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
  };
  const back = async (url: URL) => new URL((await signIn(openBrowser(issuer), url.href, person)).url);
  return { client, DPoP, parameters, back, checks: { pkceCodeVerifier } };
}

test.each(["ES256", "Ed25519"])(
  "openid-client signs in with a key of %s, reads userinfo and refreshes",
  async (alg) => {
    const { client, DPoP, parameters, back, checks } = await library(open, alg);
    expect(client.serverMetadata().dpop_signing_alg_values_supported).toContain(alg);
    const url = oidc.buildAuthorizationUrl(client, { ...parameters, dpop_jkt: await DPoP.calculateThumbprint() });
    const first = await oidc.authorizationCodeGrant(client, await back(url), checks, {}, { DPoP });
    expect(first.token_type).toBe("dpop");
    const second = await oidc.refreshTokenGrant(client, first.refresh_token ?? "", {}, { DPoP });
    for (const { access_token } of [first, second])
      expect(await oidc.fetchUserInfo(client, access_token, person.userId, { DPoP })).toMatchObject({
        sub: person.userId,
      });
    await expect(oidc.fetchUserInfo(client, second.access_token, person.userId)).rejects.toThrow();
  },
);

test("openid-client pushes a request with a proof, and only its key exchanges the code", async () => {
  const { client, DPoP, parameters, back, checks } = await library(app);
  const url = async () => back(await oidc.buildAuthorizationUrlWithPAR(client, parameters, { DPoP }));
  const at = await url();
  const strange = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair());
  for (const options of [{}, { DPoP: strange }])
    await expect(oidc.authorizationCodeGrant(client, at, checks, {}, options)).rejects.toMatchObject({
      error: "invalid_grant",
    });
  expect((await oidc.authorizationCodeGrant(client, at, checks, {}, { DPoP })).token_type).toBe("dpop");
});

test("openid-client gets a token of a machine that is bound to its key", async () => {
  const client = await oidc.discovery(
    ...([new URL(issuer), robot.clientId, undefined, oidc.ClientSecretPost(robot.clientSecret)] as const),
    { execute: [oidc.allowInsecureRequests] },
  );
  const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair());
  const { access_token, token_type } = await oidc.clientCredentialsGrant(client, { scope: robot.scope }, { DPoP });
  expect(token_type).toBe("dpop");
  const cnf = { jkt: await DPoP.calculateThumbprint() };
  expect(await introspected(access_token, robot.api)).toMatchObject({ active: true, token_type: "DPoP", cnf });
});

test("a token that is bound to no key says nothing of one", async () => {
  const free = [
    await introspected((await tokens(app)).access_token, app),
    await introspected(done(await bySecret(issuer, robot)).access_token, robot.api),
  ];
  for (const one of free) {
    expect(one).toMatchObject({ active: true, token_type: "Bearer" });
    expect(one).not.toHaveProperty("cnf");
  }
});

test("a refresh token of a public application is bound to the key of its code, and stolen without it is nothing", async () => {
  const first = await tokens(open, key);
  for (const of of [undefined, other])
    expect(outcome(await refresh(open, first.refresh_token, of))).toEqual([400, "invalid_grant"]);
  const second = done(await refresh(open, first.refresh_token, key));
  // Presented again long after it was replaced, it would end the sign-in; not by somebody who lacks the key.
  const swept = first.refresh_token.replace(/.{6}$/, "zzzzzz");
  expect(outcome(await refresh(open, swept))).toEqual([400, "invalid_grant"]);
  const third = done(await refresh(open, second.refresh_token, key));
  expect(outcome(await refresh(open, swept, key))).toEqual([400, "invalid_grant"]);
  expect(outcome(await refresh(open, third.refresh_token, key))).toEqual([400, "invalid_grant"]);
});

test("a refresh token that is bound to no key gets none later, so no thief binds it to a key of theirs", async () => {
  const first = await tokens(open);
  expect(first.token_type).toBe("Bearer");
  expect(outcome(await refresh(open, first.refresh_token, key))).toEqual([400, "invalid_grant"]);
  const second = done(await refresh(open, first.refresh_token));
  expect(second.token_type).toBe("Bearer");
  done(await refresh(open, second.refresh_token));
});

test("an application with a secret proves that instead: its refresh tokens work with any key or none", async () => {
  const first = await tokens(app, key);
  const second = done(await refresh(app, first.refresh_token, other));
  expect(await introspected(second.access_token, app)).toMatchObject({ cnf: { jkt: other.jkt } });
  expect(done(await refresh(app, second.refresh_token)).token_type).toBe("Bearer");
});

test("of refreshes with the same key at once, both get an access token of that key and the same successor", async () => {
  const { refresh_token } = await tokens(open, key);
  const all = await Promise.all([refresh(open, refresh_token, key), refresh(open, refresh_token, key)]);
  const [one, two] = all.map(done);
  expect([one?.token_type, two?.token_type]).toEqual(["DPoP", "DPoP"]);
  expect(one?.refresh_token).toBe(two?.refresh_token);
});

test("a device gets tokens that are bound to its key", async () => {
  const device = await deviceApplication(postern.admin);
  const codes = await beginDevice(issuer, device);
  await approve(issuer, codes, person);
  const got = await poll(issuer, device, { ...codes, headers: { dpop: await tokenProof(key) } });
  expect(done(got).token_type).toBe("DPoP");
  expect(outcome(await refresh(device, got.body.refresh_token))).toEqual([400, "invalid_grant"]);
  done(await refresh(device, got.body.refresh_token, key));
});

test("userinfo takes a bound token with a new proof of its key, over GET and POST, and nothing else", async () => {
  const { access_token: token } = await tokens(app, key);
  const { access_token: free } = await tokens(app);
  const as = `DPoP ${token}`;
  expect(await userinfo(as, await userinfoProof(key, token))).toEqual([200, undefined]);
  expect(await userinfo(as, await userinfoProof(key, token, "POST"), { method: "POST" })).toEqual([200, undefined]);
  const used = await userinfoProof(key, token);
  const answers = [0, 1, 2, 3].map(() => userinfo(as, used));
  expect((await Promise.all(answers)).map(([status]) => status).sort()).toEqual([200, 401, 401, 401]);
  const url = `${issuer}/oauth/userinfo`;
  const refused: readonly (readonly [authorization: string, dpop: string | undefined, error: string])[] = [
    [`Bearer ${token}`, undefined, "invalid_token"],
    [`Bearer ${token}`, await userinfoProof(key, token), "invalid_token"],
    [as, undefined, "invalid_dpop_proof"],
    [as, used, "invalid_dpop_proof"],
    [as, await userinfoProof(other, token), "invalid_token"],
    [as, await userinfoProof(key, free), "invalid_dpop_proof"],
    [as, await proofOf(key, ["GET", url]), "invalid_dpop_proof"],
    [as, await userinfoProof(key, token, "POST"), "invalid_dpop_proof"],
    [as, await tokenProof(key), "invalid_dpop_proof"],
    [as, "proof", "invalid_dpop_proof"],
    [`DPoP ${free}`, await userinfoProof(key, free), "invalid_token"],
    ["DPoP oa_unknown", await userinfoProof(key, "oa_unknown"), "invalid_token"],
  ];
  for (const [authorization, dpop, error] of refused) expect(await userinfo(authorization, dpop)).toEqual([401, error]);
  const form = { method: "POST", body: new URLSearchParams({ access_token: token }) };
  expect((await fetch(url, form)).status).toBe(401);
  expect(await userinfo(`Bearer ${free}`, await userinfoProof(key, free))).toEqual([200, undefined]);
});

test("userinfo names both schemes and the algorithms, and the error in the challenge of the scheme that was used", async () => {
  const challenged = async (authorization: string) => {
    const { headers } = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization } });
    return headers.get("www-authenticate")?.replace(/, error_description="[^"]*"/, "");
  };
  const algs = 'algs="ES256 EdDSA Ed25519"';
  expect(await challenged("DPoP oa_x")).toBe(
    `Bearer realm="postern", DPoP realm="postern", ${algs}, error="invalid_token"`,
  );
  expect(await challenged("Bearer oa_x")).toBe(
    `Bearer realm="postern", error="invalid_token", DPoP realm="postern", ${algs}`,
  );
});

test("our own API gets no bound token: not by an application, nor by a machine", async () => {
  const first = await application(postern.admin, { ...refreshing, firstParty: true });
  const code = await newCode(first, { scope: "openid offline_access user.read", resource: issuer });
  expect(outcome(await redeem(first, code, key))).toEqual([400, "invalid_target"]);
  const { refresh_token } = done(await redeem(first, code));
  expect(outcome(await refresh(first, refresh_token, key))).toEqual([400, "invalid_target"]);
  const machine = { ...robot, scope: "user.read" };
  const own = { resource: issuer };
  expect(outcome(await bySecret(issuer, machine, own, { dpop: await tokenProof(key) }))).toEqual([
    400,
    "invalid_target",
  ]);
  done(await bySecret(issuer, machine, own));
  const named = authorizeUrl(issuer, first, { resource: issuer, dpop_jkt: key.jkt });
  expect(answerIn(await openBrowser(issuer).open(named)).error).toBe("invalid_target");
  const always = await application(postern.admin, { ...bound, firstParty: true });
  expect(answerIn(await openBrowser(issuer).open(authorizeUrl(issuer, always, own))).error).toBe("invalid_target");
});

/** Who may ask about a token, by the kind of token: what is bound to the key is of one of these kinds. */
const kinds: Readonly<
  Record<string, () => Promise<readonly [token: string, by: Pick<Application, "clientId" | "clientSecret">]>>
> = {
  "for a project": async () => [(await tokens(app, key)).access_token, app],
  async "for a project, as JWT"() {
    const jwt = await application(postern.admin, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
    return [(await tokens(jwt, key)).access_token, jwt];
  },
  "for an API": () => forApi({}),
  "for an API, as JWT": () => forApi({ accessTokenType: "OIDC_TOKEN_TYPE_JWT" }),
  async "from a refresh"() {
    const { refresh_token } = await tokens(app);
    return [done(await refresh(app, refresh_token, key)).access_token, app];
  },
  "of a machine": async () => [
    done(await bySecret(issuer, robot, {}, { dpop: await tokenProof(key) })).access_token,
    robot.api,
  ],
  async "of a machine, by an assertion as the grant, as JWT"() {
    const machine = await grantedMachine(postern, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
    const form = { grant_type: jwtBearer, assertion: await asserted(machine, issuer), scope: machine.scope };
    return [done(await post(issuer, "/oauth/token", form, { dpop: await tokenProof(key) })).access_token, machine.api];
  },
};

/** A bound token for an API by its resource URI, and that API. */
async function forApi(settings: object) {
  const uri = `https://${randomBytes(4).toString("hex")}.example`;
  const path = `/v1/projects/${app.projectId}/applications/api`;
  const api = done(await postern.admin.post(path, { name: uri, resourceUris: [uri], ...settings }));
  const { access_token } = await tokens(app, key, { resource: uri });
  expect(await introspected(access_token, app)).toEqual({ active: false });
  expect(await introspected(access_token, api as Application)).toMatchObject({ aud: uri });
  return [access_token, api as Application] as const;
}

test.each(Object.entries(kinds))(
  "a bound token %s says its key, and is no token of whoever bears it",
  async (_, made) => {
    const [token, by] = await made();
    const cnf = { jkt: key.jkt };
    if (token.includes(".")) expect(decodeJwt(token)).toMatchObject({ cnf });
    expect(await introspected(token, by)).toMatchObject({ active: true, token_type: "DPoP", cnf });
    expect(await userinfo(`Bearer ${token}`)).toEqual([401, "invalid_token"]);
    for (const authorization of [`Bearer ${token}`, `DPoP ${token}`]) {
      const dpop = await proofOf(key, ["GET", `${issuer}/v1/users/me`], { claims: { ath: ath(token) } });
      for (const node of [nodes.one, nodes.two])
        expect((await fetch(`${node.url}/v1/users/me`, { headers: { authorization, dpop } })).status).toBe(401);
    }
  },
);

test("a token for our own API that the database says is bound is taken by nobody", async () => {
  const first = await application(postern.admin, { firstParty: true });
  const code = await newCode(first, { scope: "user.read", resource: issuer });
  const { access_token } = done(await redeem(first, code));
  const machine = done(await bySecret(issuer, { ...robot, scope: "user.read" }, { resource: issuer })).access_token;
  for (const table of ["sign_on_tokens", "machine_tokens"])
    await ask(nodes.databaseUrl, `update ${table} set jkt = 'x' where jkt is null`);
  for (const token of [access_token, machine])
    expect((await fetch(`${issuer}/v1/users/me`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
});

test("a bound token is no subject of an exchange, which binds no token either", async () => {
  const world = await delegation(postern);
  const { code } = await codeFor(issuer, world.app, world.person, { scope: userScope, resource: world.served.uri });
  const { access_token: held } = done(await redeem(world.app, code, key));
  expect(outcome(await exchanged(world, held))).toEqual([400, "invalid_request"]);
  const { access_token: subject_token } = await userTokens(world);
  const form = { subject_token, subject_token_type: accessTokenType, resource: world.target.uri };
  const headers = { ...basic(world.machine), dpop: await tokenProof(key) };
  const answer = await post(issuer, "/oauth/token", { grant_type: grantOfExchange, ...form }, headers);
  expect(outcome(answer)).toEqual([400, "invalid_request"]);
  done(await exchanged(world, subject_token));
});

test("an application with the switch gets tokens only with a proof, and a code stays good without", async () => {
  const always = await application(postern.admin, { ...publicSettings, ...bound });
  const code = await newCode(always);
  expect(outcome(await redeem(always, code))).toEqual([400, "invalid_dpop_proof"]);
  const { refresh_token, token_type } = done(await redeem(always, code, key));
  expect(token_type).toBe("DPoP");
  expect(outcome(await refresh(always, refresh_token))).toEqual([400, "invalid_dpop_proof"]);
  done(await refresh(always, refresh_token, key));
});

test("the switch can be set later, and then holds for codes and refresh tokens of before", async () => {
  const at = await application(postern.admin, refreshing);
  const { refresh_token } = await tokens(at);
  const path = `/v1/projects/${at.projectId}/applications/${at.appId}/oidc`;
  done(await postern.admin.call("PATCH", path, bound));
  expect(outcome(await refresh(at, refresh_token))).toEqual([400, "invalid_dpop_proof"]);
  expect(done(await refresh(at, refresh_token, key)).token_type).toBe("DPoP");
});

test("an application with the switch gets no access token from the authorization endpoint, but an ID token", async () => {
  const types = ["OIDC_RESPONSE_TYPE_ID_TOKEN", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"];
  const implicit = { ...bound, responseTypes: types, grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"] };
  const at = await application(postern.admin, implicit);
  const asked = (response_type: string) =>
    openBrowser(issuer).open(
      authorizeUrl(issuer, at, { response_type, code_challenge: undefined, code_challenge_method: undefined }),
    );
  const refused = new URL((await asked("id_token token")).url);
  expect(new URLSearchParams(refused.hash.slice(1)).get("error")).toBe("unauthorized_client");
  expect((await asked("id_token")).status).toBe(200);
});

test("a code whose request named a key is exchanged by that alone", async () => {
  const code = await newCode(open, { dpop_jkt: key.jkt });
  for (const of of [undefined, other]) expect(outcome(await redeem(open, code, of))).toEqual([400, "invalid_grant"]);
  done(await redeem(open, code, key));
  for (const dpop_jkt of ["x", `${key.jkt}=`, "x".repeat(44)])
    expect(answerIn(await openBrowser(issuer).open(authorizeUrl(issuer, open, { dpop_jkt }))).error).toBe(
      "invalid_request",
    );
});

test("a proof that comes with a pushed request counts once, is for that endpoint, and of the key that is named", async () => {
  const form = {
    ...{ redirect_uri: app.redirectUri, response_type: "code", scope, state: randomBytes(4).toString("hex") },
    ...{ code_challenge: challenge, code_challenge_method: "S256" },
  };
  const push = async (dpop: string, more: Sent = {}, node = issuer) =>
    post(node, "/oauth/par", { ...form, ...more }, { ...basic(app), dpop });
  const parProof = () => proofOf(key, ["POST", `${issuer}/oauth/par`]);
  const dpop = await parProof();
  const pushed = await push(dpop, { dpop_jkt: key.jkt });
  expect(pushed.status).toBe(201);
  for (const refused of [
    await push(dpop),
    await push(await tokenProof(key)),
    await push("proof"),
    await push(await parProof(), { dpop_jkt: other.jkt }),
  ])
    expect(outcome(refused)).toEqual([400, "invalid_dpop_proof"]);
  const { request_uri } = pushed.body;
  const url = `${issuer}/oauth/authorize?${new URLSearchParams({ client_id: app.clientId, request_uri })}`;
  const { code = "" } = answerIn(await signIn(openBrowser(issuer), url, person));
  expect(outcome(await redeem(app, code, other))).toEqual([400, "invalid_grant"]);
  done(await redeem(app, code, key));
});

test("a page of the application may send a proof", async () => {
  const headers = {
    origin: "https://app.example",
    "access-control-request-method": "POST",
    "access-control-request-headers": "dpop",
  };
  const answer = await fetch(`${issuer}/oauth/token`, { method: "OPTIONS", headers });
  expect(answer.headers.get("access-control-allow-headers")?.split(", ")).toContain("dpop");
});
