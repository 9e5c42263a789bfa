import { createPublicKey } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { machine, organization } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { application, basic, post } from "../application.ts";
import { done } from "../holding.ts";
import { asserted, bySecret, type GrantedMachine, grantedMachine, jwtBearer, withAssertion } from "../machine.ts";

const issuer = "https://id.example";
let nodes: TwoNodes;
let robot: GrantedMachine;
let other: GrantedMachine;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: issuer });
  robot = await grantedMachine(nodes.one);
  other = await grantedMachine(nodes.one);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const url = (nth: number) => nodes.through(nth).url;

/** The two ways in which an assertion reaches the token endpoint, each with its refusal. */
const ways = {
  "as credentials": {
    form: (assertion: string) => withAssertion(assertion, { scope: robot.scope }),
    refused: [401, "invalid_client"],
  },
  "as a grant": {
    form: (assertion: string) => ({ grant_type: jwtBearer, assertion, scope: robot.scope }),
    refused: [400, "invalid_grant"],
  },
} as const;

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const at = () => Math.floor(Date.now() / 1000);

const ofApplication = "an application's id, signed by the application";
const ofConsole = "the console as sub";

/** Assertions that are not accepted. */
const wrong: Readonly<Record<string, () => Promise<string>>> = {
  "algorithm none": async () => `${part({ alg: "none" })}.${(await asserted(robot, issuer)).split(".")[1]}.`,
  async "HS256 with the public key"() {
    const pem = createPublicKey({ key: await publicJwk(), format: "jwk" }).export({ type: "spki", format: "pem" });
    return asserted(robot, issuer, { by: Buffer.from(String(pem)), header: { alg: "HS256" } });
  },
  async "HS256 with the client secret"() {
    return asserted(robot, issuer, { by: Buffer.from(robot.clientSecret), header: { alg: "HS256" } });
  },
  "an algorithm of another key": async () => {
    const { privateKey } = await generateKeyPair("RS256");
    return asserted(robot, issuer, { by: privateKey, header: { alg: "RS256" } });
  },
  "an unknown kid": () => asserted(robot, issuer, { header: { kid: "k2" } }),
  "a kid that is a path": () => asserted(robot, issuer, { header: { kid: "../k1" } }),
  "a kid that is no text": () => asserted(robot, issuer, { header: { kid: 7 } }),
  "the key of another machine": () => asserted(robot, issuer, { by: other.key }),
  "a key in its own header": async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    return asserted(robot, issuer, {
      by: privateKey,
      header: { jwk: await exportJWK(publicKey), jku: "https://evil.example" },
    });
  },
  "a critical header": async () => asserted(robot, issuer, { header: { crit: ["x"], x: 1 } }).catch(critical),
  "a changed signature": async () => `${(await asserted(robot, issuer)).slice(0, -2)}AA`,
  "iss of another machine": () => asserted(robot, issuer, { claims: { iss: other.clientId } }),
  "sub of another machine": () => asserted(robot, issuer, { claims: { sub: other.clientId } }),
  "iss and sub of another machine": () =>
    asserted(robot, issuer, { claims: { iss: other.clientId, sub: other.clientId } }),
  "the user id of the machine": () => asserted(robot, issuer, { claims: { iss: robot.userId, sub: robot.userId } }),
  "a person as sub": () => asserted(robot, issuer, { claims: { sub: nodes.one.adminId } }),
  "no sub": () => asserted(robot, issuer, { claims: { sub: undefined } }),
  "a sub that is no text": () => asserted(robot, issuer, { claims: { sub: "\0" } }),
  [ofConsole]: () => asserted(robot, issuer, { claims: { iss: "postern console", sub: "postern console" } }),
  "no aud": () => asserted(robot, issuer, { claims: { aud: undefined } }),
  "an empty aud": () => asserted(robot, issuer, { claims: { aud: [] } }),
  "aud of another server": () => asserted(robot, issuer, { claims: { aud: "https://other.example" } }),
  "aud of another endpoint": () => asserted(robot, issuer, { claims: { aud: `${issuer}/oauth/authorize` } }),
  "aud with a slash at its end": () => asserted(robot, issuer, { claims: { aud: `${issuer}/` } }),
  "aud of ours and another": () => asserted(robot, issuer, { claims: { aud: [issuer, "https://other.example"] } }),
  "aud of both of ours": () => asserted(robot, issuer, { claims: { aud: [issuer, `${issuer}/oauth/token`] } }),
  "an end that is over": () => asserted(robot, issuer, { claims: { exp: at() - 60 } }),
  "an end that is hours ahead": () => asserted(robot, issuer, { claims: { exp: at() + 9_000 } }),
  "no end": () => asserted(robot, issuer, { claims: { exp: undefined } }),
  "a clock that is minutes ahead": () => asserted(robot, issuer, { claims: { iat: at() + 600 } }),
  "a beginning to come": () => asserted(robot, issuer, { claims: { nbf: at() + 600 } }),
  "the type of an access token": () => asserted(robot, issuer, { header: { typ: "at+jwt" } }),
  "a jti that is no text": () => asserted(robot, issuer, { claims: { jti: 7 } }),
  async [ofApplication]() {
    const app = await application(nodes.one.admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" });
    const { publicKey, privateKey: key } = await generateKeyPair("ES256");
    const { kty, crv, x, y } = await exportJWK(publicKey);
    const path = `/v1/projects/${app.projectId}/applications/${app.appId}/keys`;
    done(await nodes.one.admin.post(path, { publicKey: { kty, crv, x, y, kid: "k1" } }));
    return asserted({ ...app, key }, issuer);
  },
  "no JWT": async () => "nothing",
};

// The library refuses to sign it.
const critical = async () => {
  const [, payload, signature] = (await asserted(robot, issuer)).split(".");
  return `${part({ alg: "ES256", kid: "k1", crit: ["x"], x: 1 })}.${payload}.${signature}`;
};

async function publicJwk() {
  const { credentials } = done(await nodes.one.admin.get(`/v1/users/${robot.userId}/credentials`)) as {
    credentials: { publicKey?: Record<string, string> }[];
  };
  const { kty = "", crv = "", x = "", y = "" } = credentials[0]?.publicKey ?? {};
  return { kty, crv, x, y };
}

describe.each(Object.entries(ways))("an assertion %s", (name, { form, refused }) => {
  test.each(Object.keys(wrong))("with %s is not accepted, on either node", async (attack) => {
    // An application, or the console, may not have the grant of machines, whoever it is.
    const isOther = attack === (name === "as credentials" ? ofApplication : ofConsole);
    for (const nth of [0, 1]) {
      const assertion = await (wrong[attack] ?? expect.unreachable())();
      const answer = outcome(await post(url(nth), "/oauth/token", form(assertion)));
      expect(answer).toEqual(isOther ? [400, "unauthorized_client"] : refused);
    }
  });

  test("counts once of ten at once on two nodes, and not another way after that", async () => {
    const assertion = await asserted(robot, issuer);
    const ten = await Promise.all(
      Array.from({ length: 10 }, (_, nth) => post(url(nth), "/oauth/token", form(assertion))),
    );
    expect(ten.filter(({ status }) => status === 200).length).toBe(1);
    for (const way of Object.values(ways))
      expect(outcome(await post(url(1), "/oauth/token", way.form(assertion)))).toEqual(way.refused);
  });

  test.each([
    ["with an early clock", { iat: at() + 30 }],
    ["with a late clock", { iat: at() - 600, exp: at() + 5 }],
    ["for the token endpoint", { aud: `${issuer}/oauth/token` }],
    ["for an array of the issuer", { aud: [issuer] }],
    ["for an hour", { exp: at() + 3_600 }],
  ])("%s is accepted", async (_, claims) => {
    const now = at();
    const moved =
      "exp" in claims && claims.exp !== undefined ? { exp: now + (claims.exp > now + 60 ? 3_600 : 30) } : {};
    const answer = await post(
      url(0),
      "/oauth/token",
      form(await asserted(robot, issuer, { claims: { ...claims, ...moved } })),
    );
    expect(answer.status).toBe(200);
  });
});

test("a grant without a jti counts once by what was signed, whatever its signature looks like", async () => {
  const { privateKey } = await generateKeyPair("ES256");
  const claims = { iss: robot.clientId, sub: robot.clientId, aud: issuer, exp: at() + 60 };
  const sign = (by = robot.key) => new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "k1" }).sign(by);
  const [one, two] = [await sign(), await sign()];
  expect(one).not.toBe(two);
  const send = async (assertion: string, nth: number) =>
    outcome(await post(url(nth), "/oauth/token", { grant_type: jwtBearer, assertion, scope: robot.scope }));
  expect(await send(await sign(privateKey), 0)).toEqual([400, "invalid_grant"]);
  expect((await send(one, 0))[0]).toBe(200);
  expect(await send(two, 1)).toEqual([400, "invalid_grant"]);
  expect(outcome(await post(url(0), "/oauth/token", withAssertion(await sign(), { scope: robot.scope })))).toEqual([
    401,
    "invalid_client",
  ]);
});

test("a scope that no scope can be is refused, also within an assertion, and ends no request beside it", async () => {
  const send = async (scope: unknown) => {
    const assertion = await asserted(robot, issuer, { claims: { scope } });
    return outcome(await post(url(0), "/oauth/token", { grant_type: jwtBearer, assertion }));
  };
  const hostile = [
    "urn:\0",
    "urn:\ud800",
    "urn:postern:organization:id:\udc00",
    'urn:"x',
    "urn:\\",
    "urn:a\nb",
    "urn:é",
  ];
  for (const word of hostile)
    expect([word, await send(`${robot.scope} ${word}`)]).toEqual([word, [400, "invalid_scope"]]);
  expect(await send("urn:postern:project:id:\0")).toEqual([400, "invalid_scope"]);
  for (const scope of [7, null, {}, [robot.scope]]) expect(await send(scope)).toEqual([400, "invalid_scope"]);
  expect(outcome(await bySecret(url(0), { ...robot, scope: `${robot.scope} urn:é` }))).toEqual([400, "invalid_scope"]);
  const [evil, good] = await Promise.all([send(`${robot.scope} urn:\0`), bySecret(url(0), robot)]);
  expect([evil, good.status]).toEqual([[400, "invalid_scope"], 200]);
});

test("a token for a project has no word of its own invention as a scope", async () => {
  const scope = `${robot.scope} roles urn:acme:payments:admin urn:postern:project:roles openid user.write admin`;
  const { body } = await bySecret(url(0), { ...robot, scope });
  expect(body.scope).toBe(`${robot.scope} roles`);
  const { body: seen } = await post(url(1), "/oauth/introspect", { token: body.access_token }, basic(robot.api));
  expect(seen).toMatchObject({ active: true, scope: `${robot.scope} roles` });
});

test("an assertion as a grant stands for the client that sends it, and for no other", async () => {
  const assertion = () => asserted(robot, issuer);
  const send = async (more: object, headers = {}) =>
    outcome(
      await post(
        url(0),
        "/oauth/token",
        { grant_type: jwtBearer, assertion: await assertion(), scope: robot.scope, ...more },
        headers,
      ),
    );
  expect(await send({ client_id: other.clientId })).toEqual([400, "invalid_grant"]);
  expect(await send({}, basic(other))).toEqual([401, "invalid_client"]);
  expect(await send({}, basic({ ...robot, clientSecret: "wrong" }))).toEqual([401, "invalid_client"]);
  expect(await send({}, basic(await application(nodes.one.admin)))).toEqual([401, "invalid_client"]);
  expect(await send({ assertion: "" })).toEqual([400, "invalid_request"]);
  expect(await send({ client_id: robot.clientId })).toEqual([200, undefined]);
});

test("a wrong, removed or foreign secret is worth nothing, and neither is a machine that is gone", async () => {
  const { admin } = nodes.one;
  const of = await grantedMachine(nodes.one);
  const client = [401, "invalid_client"];
  const secrets = ["wrong", other.clientSecret, of.clientSecret.toUpperCase(), `${of.clientSecret}x`];
  for (const [nth, clientSecret] of secrets.entries())
    expect([clientSecret, outcome(await bySecret(url(nth), { ...of, clientSecret }))]).toEqual([clientSecret, client]);
  expect(outcome(await bySecret(url(0), { ...of, clientId: of.userId }))).toEqual(client);
  expect(outcome(await bySecret(url(0), { ...of, clientId: other.clientId }))).toEqual(client);
  expect(
    outcome(await post(url(0), "/oauth/token", { grant_type: "client_credentials", client_id: of.clientId })),
  ).toEqual(client);
  expect((await bySecret(url(1), of)).status).toBe(200);
  done(await admin.delete(`/v1/users/${of.userId}/credentials/${of.secretId}`));
  for (const nth of [0, 1]) expect(outcome(await bySecret(url(nth), of))).toEqual(client);
  const byKey = async (nth: number) =>
    outcome(await post(url(nth), "/oauth/token", withAssertion(await asserted(of, issuer), { scope: of.scope })));
  expect(await byKey(0)).toEqual([200, undefined]);
  done(await admin.post(`/v1/users/${of.userId}:deactivate`));
  for (const nth of [0, 1]) expect(await byKey(nth)).toEqual(client);
  done(await admin.post(`/v1/users/${of.userId}:reactivate`));
  expect(await byKey(1)).toEqual([200, undefined]);
  await ask(
    nodes.databaseUrl,
    `update machine_credentials set expiration_date = now() where credential_id = '${of.keyId}'`,
  );
  for (const nth of [0, 1]) expect(await byKey(nth)).toEqual(client);
  done(await admin.delete(`/v1/users/${of.userId}`));
  for (const nth of [0, 1]) expect(outcome(await bySecret(url(nth), of))).toEqual(client);
});

test("a machine of another organization gets no token for a project that granted it nothing", async () => {
  const organizationId = await organization(nodes.one);
  const { userId } = await machine(nodes.one, { organizationId });
  const { clientId, clientSecret } = done(await nodes.one.admin.post(`/v1/users/${userId}/secrets`)) as GrantedMachine;
  const foreign = { clientId, clientSecret, scope: robot.scope };
  const own = `urn:postern:organization:id:${nodes.one.organizationId}`;
  for (const scope of [robot.scope, `${robot.scope} ${own}`])
    expect(outcome(await bySecret(url(0), { ...foreign, scope }))).toEqual([400, "invalid_scope"]);
  done(await nodes.one.admin.post(`/v1/organizations/${organizationId}:deactivate`));
  expect(outcome(await bySecret(url(1), foreign))).toEqual([401, "invalid_client"]);
});
