import { decodeJwt, decodeProtectedHeader, importPKCS8 } from "jose";
import * as openid from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, organization, type Postern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { openProbe } from "../../probe.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { application, basic, codeFor, exchange, post } from "../application.ts";
import { asserted, bySecret, type GrantedMachine, grantedMachine, jwtBearer, withAssertion } from "../machine.ts";

const issuer = "https://id.example";
let nodes: TwoNodes;
let postern: Postern;
let robot: GrantedMachine;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: issuer });
  postern = nodes.one;
  robot = await grantedMachine(postern);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const done = ({ status, body }: Pick<Answer, "status" | "body">) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const token = (form: Readonly<Record<string, string>>, headers = {}, node = postern.url) =>
  post(node, "/oauth/token", form, headers);
const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const introspected = async (text: string, by: GrantedMachine = robot, node = postern.url) =>
  (await post(node, "/oauth/introspect", { token: text }, basic(by.api))).body;
const forApi = { resource: issuer, scope: "user.read user.write" };
const whoIs = (text: string, node: Postern = postern) => node.as(text).get("/v1/users/me");

test("a machine gets a token by its secret, by an assertion, and for an assertion", async () => {
  const credentials = { grant_type: "client_credentials", scope: robot.scope };
  const ways = [
    () => token(credentials, basic(robot)),
    () => bySecret(postern.url, robot),
    async () => token(withAssertion(await asserted(robot, issuer), { scope: robot.scope })),
    async () => token({ grant_type: jwtBearer, assertion: await asserted(robot, issuer), scope: robot.scope }),
    async () =>
      token({ grant_type: jwtBearer, assertion: await asserted(robot, issuer, { claims: { scope: robot.scope } }) }),
    async () =>
      token({ grant_type: jwtBearer, assertion: await asserted(robot, issuer), scope: robot.scope }, basic(robot)),
  ];
  for (const [nth, way] of ways.entries()) {
    const { status, body } = await way();
    expect([nth, status, body]).toEqual([
      nth,
      200,
      { access_token: expect.stringMatching(/^oa_/), token_type: "Bearer", expires_in: 600, scope: robot.scope },
    ]);
    expect(await introspected(body.access_token)).toEqual({
      ...{ active: true, iss: issuer, aud: robot.projectId, sub: robot.userId, client_id: robot.clientId },
      ...{ scope: robot.scope, roles: ["viewer"], token_type: "Bearer", username: expect.any(String) },
      ...{ iat: expect.any(Number), exp: expect.any(Number), "urn:postern:organization:id": postern.organizationId },
    });
  }
});

test("a credential that says so yields JWTs, which are good at introspection and nowhere else", async () => {
  const jwts = await grantedMachine(postern, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { access_token } = done(await bySecret(postern.url, jwts, { scope: `${jwts.scope} roles` }));
  expect(decodeProtectedHeader(access_token)).toMatchObject({ typ: "at+jwt", alg: "RS256" });
  expect(decodeJwt(access_token)).toEqual({
    ...{ iss: issuer, aud: jwts.projectId, sub: jwts.userId, client_id: jwts.clientId, roles: ["viewer"] },
    ...{ scope: `${jwts.scope} roles`, jti: expect.any(String), iat: expect.any(Number), exp: expect.any(Number) },
    "urn:postern:organization:id": postern.organizationId,
  });
  expect((await introspected(access_token, jwts)).active).toBe(true);
  expect(await introspected(access_token, robot)).toEqual({ active: false });
  const userinfo = await fetch(`${postern.url}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${access_token}` },
  });
  expect(userinfo.status).toBe(401);
  expect((await whoIs(access_token)).status).toBe(401);
  expect(done(await bySecret(postern.url, jwts, forApi)).access_token).toMatch(/^oa_/);
});

test("a token for our API has the permissions that it asks for, and leaves the machine itself alone", async () => {
  const owner = await grantedMachine(postern);
  done(await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["ORG_OWNER"] }));
  const given = done(await bySecret(postern.url, owner, { ...forApi, scope: "user.read user.write nothing openid" }));
  expect(given.scope).toBe("user.read user.write");
  const client = postern.as(given.access_token);
  expect((await whoIs(given.access_token)).body.user.id).toBe(owner.userId);
  done(await client.get("/v1/users"));
  expect((await client.get("/v1/projects")).status).toBe(403);
  expect(await introspected(given.access_token, owner)).toEqual({ active: false });

  const everything = done(await bySecret(postern.url, owner, { ...forApi, scope: (await apiScopes()).join(" ") }));
  const whole = postern.as(everything.access_token);
  for (const path of ["tokens", "secrets", "keys"])
    expect((await whole.post(`/v1/users/${owner.userId}/${path}`)).status).toBe(403);
  expect((await whole.delete(`/v1/users/${owner.userId}/credentials/${owner.keyId}`)).status).toBe(403);

  const made = done(await whole.post("/v1/users/machine", { username: `by-${owner.userId}`, name: "Made" }));
  const { events } = done(await postern.admin.get(`/v1/events?objectId=${made.userId}`));
  expect(events[0]).toMatchObject({ actorId: owner.userId, origin: { machineCredentialId: owner.secretId } });
});

const apiScopes = async (): Promise<string[]> =>
  (
    (await (await fetch(`${postern.url}/.well-known/oauth-protected-resource`)).json()) as {
      scopes_supported: string[];
    }
  ).scopes_supported;

test("issuing writes no event, and its use of a credential is noted once an hour", async () => {
  const fresh = await grantedMachine(postern);
  // What earlier tests began may still write events of its own.
  const ofMachine = `select count(*)::integer as n from events where '${fresh.userId}' in (stream, about_user_id, actor)`;
  const count = async () => (await ask<{ n: number }>(nodes.databaseUrl, ofMachine))[0]?.n;
  const used = async () => {
    const { credentials } = done(await postern.admin.get(`/v1/users/${fresh.userId}/credentials`));
    return credentials.map((one: { lastUsedDate?: string }) => one.lastUsedDate);
  };
  expect(await used()).toEqual([undefined, undefined]);
  const before = await count();
  done(await bySecret(postern.url, fresh));
  const [ofKey, ofSecret] = await used();
  expect([ofKey, typeof ofSecret]).toEqual([undefined, "string"]);
  done(await bySecret(postern.url, fresh));
  expect(await used()).toEqual([undefined, ofSecret]);
  expect(await count()).toBe(before);
});

/** What ends a machine's tokens; all but the last of them also those for our API. */
const ends: Readonly<Record<string, (of: GrantedMachine, text: string) => Promise<unknown>>> = {
  "the credential is removed": ({ userId, secretId }) =>
    postern.admin.delete(`/v1/users/${userId}/credentials/${secretId}`),
  "the secret is replaced": ({ userId }) => postern.admin.post(`/v1/users/${userId}/secrets`),
  "the machine is deactivated": ({ userId }) => postern.admin.post(`/v1/users/${userId}:deactivate`),
  "the machine was deactivated for a moment": async ({ userId }) => {
    await postern.admin.post(`/v1/users/${userId}:deactivate`);
    return postern.admin.post(`/v1/users/${userId}:reactivate`);
  },
  "the machine is deleted": ({ userId }) => postern.admin.delete(`/v1/users/${userId}`),
  "the machine revokes it": (of, text) => post(postern.url, "/oauth/revoke", { token: text }, basic(of)),
  "the grant is removed": ({ userGrantId }) => postern.admin.delete(`/v1/user-grants/${userGrantId}`),
  "the grant is deactivated": ({ userGrantId }) => postern.admin.post(`/v1/user-grants/${userGrantId}:deactivate`),
  "the project is deactivated": ({ projectId }) => postern.admin.post(`/v1/projects/${projectId}:deactivate`),
};
const ofProject = ["the grant is removed", "the grant is deactivated", "the project is deactivated"];

describe.each(Object.keys(ends))("when %s", (name) => {
  const end = ends[name] ?? expect.unreachable();

  test("a token for a project ends at both nodes", async () => {
    const of = await grantedMachine(postern);
    const { access_token: text } = done(await bySecret(postern.url, of));
    for (const { url } of [nodes.one, nodes.two]) expect((await introspected(text, of, url)).active).toBe(true);
    expect(await end(of, text)).toMatchObject({ status: 200 });
    for (const { url } of [nodes.one, nodes.two])
      expect(await introspected(text, of, url)).not.toMatchObject({ active: true });
    if (ofProject.includes(name)) expect(outcome(await bySecret(postern.url, of))).toEqual([400, "invalid_scope"]);
  });

  test.skipIf(ofProject.includes(name))("a token for our API ends at both nodes", async () => {
    const of = await grantedMachine(postern);
    const { access_token: text } = done(await bySecret(postern.url, of, forApi));
    // Both nodes have the caller in their caches.
    for (const node of [nodes.one, nodes.two]) done(await whoIs(text, node));
    expect(await end(of, text)).toMatchObject({ status: 200 });
    for (const node of [nodes.one, nodes.two])
      await expect.poll(async () => (await whoIs(text, node)).status).toBe(401);
  });
});

test("a token that is stored while its credential is removed is in force nowhere", async () => {
  const of = await grantedMachine(postern);
  const { access_token: forProject } = done(await bySecret(postern.url, of));
  const { access_token: forOurs } = done(await bySecret(postern.url, of, forApi));
  const sql = (text: string) => ask(nodes.databaseUrl, text);
  const tokens = `select * from machine_tokens where user_id = '${of.userId}'`;
  await sql(`create table stored_late as ${tokens}`);
  done(await postern.admin.delete(`/v1/users/${of.userId}/credentials/${of.secretId}`));
  expect(await sql(tokens)).toHaveLength(0);
  await sql("insert into machine_tokens select * from stored_late");
  expect(await sql(tokens)).toHaveLength(2);
  for (const node of [nodes.one, nodes.two]) {
    expect(await introspected(forProject, of, node.url)).toEqual({ active: false });
    expect((await whoIs(forOurs, node)).status).toBe(401);
  }
});

test("a token that is stored while its machine is deactivated is in force nowhere once it is reactivated", async () => {
  const of = await grantedMachine(postern);
  const { access_token: forProject } = done(await bySecret(postern.url, of));
  const { access_token: forOurs } = done(await bySecret(postern.url, of, forApi));
  const sql = (text: string) => ask(nodes.databaseUrl, text);
  const tokens = `select * from machine_tokens where user_id = '${of.userId}'`;
  await sql(`create table stored_meanwhile as ${tokens}`);
  done(await postern.admin.post(`/v1/users/${of.userId}:deactivate`));
  expect(await sql(tokens)).toHaveLength(0);
  await sql("insert into machine_tokens select * from stored_meanwhile");
  expect(await sql(tokens)).toHaveLength(2);
  done(await postern.admin.post(`/v1/users/${of.userId}:reactivate`));
  for (const node of [nodes.one, nodes.two]) {
    expect(await introspected(forProject, of, node.url)).toEqual({ active: false });
    expect((await whoIs(forOurs, node)).status).toBe(401);
  }
});

test("a token is locked by its revocation only once the event is written, as by the removal of its credential", async () => {
  const of = await grantedMachine(postern);
  const { access_token: text } = done(await bySecret(postern.url, of, forApi));
  await using probe = openProbe(nodes.databaseUrl);
  const { sql } = probe;
  const waiting = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`;
  let revoking: ReturnType<typeof post> | undefined;
  const undone = sql.begin(async (appending) => {
    await appending`
      insert into events (owner, stream, version, type, payload, request_id, time)
      select owner, credential_id, version + 1, 'machine_credential.removed', '{}', 'other', now()
      from machine_credentials where credential_id = ${of.secretId}`;
    revoking = post(postern.url, "/oauth/revoke", { token: text }, basic(of));
    await expect.poll(waiting).toHaveLength(1);
    expect(await sql`select from machine_tokens where user_id = ${of.userId} for update skip locked`).toHaveLength(1);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  expect((await revoking)?.status).toBe(200);
  expect((await whoIs(text)).status).toBe(401);
});

test("a token waits for nobody who has locked its credential or the tokens that are too many", async () => {
  const of = await grantedMachine(postern);
  await ask(
    nodes.databaseUrl,
    `insert into machine_tokens (hash, credential_id, user_id, organization_id, scope, for_api, created, expiration_date)
     select sha256(convert_to('${of.secretId}' || n, 'UTF8')), '${of.secretId}', '${of.userId}', '', '', true, now(), 'infinity'
     from generate_series(1, 1500) n`,
  );
  await using probe = openProbe(nodes.databaseUrl);
  const lastUsed = () =>
    probe.sql`select last_used is null as never from machine_proofs where credential_id = ${of.secretId}`;
  await probe.sql.begin(async (locking) => {
    await locking`select from machine_proofs where credential_id = ${of.secretId} for update`;
    await locking`select from machine_tokens where credential_id = ${of.secretId} for update`;
    // One in 64 looks for the oldest tokens.
    for (let n = 0; n < 300; n++) done(await bySecret(nodes.through(n).url, of));
  });
  expect(await lastUsed()).toEqual([{ never: true }]);
  for (const node of [nodes.one, nodes.two]) done(await bySecret(node.url, of));
  expect(await lastUsed()).toEqual([{ never: false }]);
});

test("an old secret works during its overlap alone, and its tokens end with it", async () => {
  const of = await grantedMachine(postern);
  const { access_token: text } = done(await bySecret(postern.url, of, forApi));
  for (const node of [nodes.one, nodes.two]) done(await whoIs(text, node));
  for (let ms = 2_000; ; ms *= 2) {
    const { previousSecretExpirationDate: until } = done(
      await postern.admin.post(`/v1/users/${of.userId}/secrets`, { overlap: `${ms / 1000}s` }),
    );
    const during = await bySecret(postern.url, of);
    if (Date.now() >= Date.parse(until)) continue;
    done(during);
    for (const node of [nodes.one, nodes.two])
      await expect.poll(async () => (await whoIs(text, node)).status, { timeout: ms + 20_000 }).toBe(401);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until) - 1);
    return expect(outcome(await bySecret(postern.url, of))).toEqual([401, "invalid_client"]);
  }
});

test("what a token is for has to be said, and has to be granted", async () => {
  const elsewhere = await organization(postern);
  const lent = { grantedOrganizationId: elsewhere, roleKeys: ["viewer"] };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${robot.projectId}/grants`, lent));
  const other = (await grantedMachine(postern)).scope;
  const org = (id: string) => `urn:postern:organization:id:${id}`;
  const refusals = [
    [{ scope: "" }, "invalid_scope"],
    [{ scope: "openid roles" }, "invalid_scope"],
    [{ scope: other }, "invalid_scope"],
    [{ scope: `${robot.scope} ${other}` }, "invalid_scope"],
    [{ scope: "urn:postern:project:id:none" }, "invalid_scope"],
    [{ scope: `${robot.scope} ${org(elsewhere)}` }, "invalid_scope"],
    [{ scope: `${robot.scope} ${org(elsewhere)} ${org(postern.organizationId)}` }, "invalid_scope"],
    [{ scope: "x".repeat(2_001) }, "invalid_request"],
    [{ resource: "https://other.example" }, "invalid_target"],
    [{ resource: issuer }, "invalid_target"],
    [{ resource: issuer, scope: "" }, "invalid_scope"],
    [{ resource: issuer, scope: "openid" }, "invalid_scope"],
  ] as const;
  for (const [form, error] of refusals)
    expect([form, outcome(await bySecret(postern.url, robot, form))]).toEqual([form, [400, error]]);
  const grant = { projectId: robot.projectId, projectGrantId, roleKeys: ["viewer"] };
  done(await postern.admin.post(`/v1/users/${robot.userId}/grants`, grant, { "x-service-orgid": elsewhere }));
  const given = done(await bySecret(postern.url, robot, { scope: `${robot.scope} ${org(elsewhere)}` }));
  expect(await introspected(given.access_token)).toMatchObject({ "urn:postern:organization:id": elsewhere });
});

test("a token of a machine is revoked by that machine alone", async () => {
  const other = await grantedMachine(postern);
  const { access_token: text } = done(await bySecret(postern.url, robot));
  const revoke = (by: object) => post(postern.url, "/oauth/revoke", { token: text }, { ...by });
  expect(outcome(await revoke(basic(other)))).toEqual([400, "invalid_grant"]);
  expect(outcome(await revoke(basic({ ...robot, clientSecret: "wrong" })))).toEqual([401, "invalid_client"]);
  expect((await revoke(basic(robot.api))).status).toBe(200);
  expect((await introspected(text)).active).toBe(true);
  expect((await post(postern.url, "/oauth/revoke", { token: "unknown" }, basic(robot))).status).toBe(200);
  expect((await revoke(basic(robot))).status).toBe(200);
  expect((await introspected(text)).active).toBe(false);
});

test("applications use no grant of machines, and machines none of applications", async () => {
  const app = await application(postern.admin);
  expect(outcome(await token({ grant_type: "client_credentials" }, basic(app)))).toEqual([400, "unauthorized_client"]);
  expect(outcome(await token({ grant_type: "client_credentials" }, basic({ ...app, clientSecret: "x" })))).toEqual([
    401,
    "invalid_client",
  ]);
  const { code } = await codeFor(postern.url, app, await signedUp(postern));
  const wrong = await exchange(postern.url, { ...app, ...robot }, code);
  expect(outcome(wrong)).toEqual([401, "invalid_client"]);
  const about = await post(postern.url, "/oauth/introspect", { token: code }, basic(robot));
  expect(outcome(about)).toEqual([401, "invalid_client"]);
});

test("of more tokens than a credential may have, the oldest end, one time in 64", async () => {
  const of = await grantedMachine(postern);
  const { access_token: oldest } = done(await bySecret(postern.url, of));
  await ask(
    nodes.databaseUrl,
    `insert into machine_tokens (hash, credential_id, user_id, organization_id, project_id, resource, scope, for_api, created, expiration_date)
     select sha256(convert_to(n::text, 'UTF8')), t.credential_id, t.user_id, t.organization_id, t.project_id, t.resource, t.scope, t.for_api,
       t.created + interval '1 ms', t.expiration_date
     from machine_tokens t, generate_series(1, 1500) n where t.user_id = '${of.userId}'`,
  );
  const tokens = `select from machine_tokens where user_id = '${of.userId}'`;
  const count = async () => (await ask(nodes.databaseUrl, tokens)).length;
  let newest: string;
  let made = 0;
  do {
    newest = done(await bySecret(postern.url, of)).access_token;
    made++;
  } while ((await count()) > 1_000 && made < 2_000);
  expect(await count()).toBe(1_000);
  expect([(await introspected(oldest, of)).active, (await introspected(newest, of)).active]).toEqual([false, true]);
});

test("openid-client gets tokens by a secret, and by a key file", async () => {
  const { keyFile } = done(await postern.admin.post(`/v1/users/${robot.userId}/keys`, {}));
  const file = JSON.parse(keyFile);
  expect([file.issuer, file.tokenEndpoint]).toEqual([issuer, `${issuer}/oauth/token`]);
  const key = { key: await importPKCS8(file.privateKey, file.algorithm), kid: file.keyId };
  for (const by of [
    openid.ClientSecretBasic(robot.clientSecret),
    openid.ClientSecretPost(robot.clientSecret),
    openid.PrivateKeyJwt(key),
  ]) {
    const config = await openid.discovery(new URL(issuer), file.clientId, undefined, by, {
      [openid.customFetch]: (url: string, options: object) => fetch(url.replace(issuer, postern.url), options),
    });
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: robot.scope });
    expect((await introspected(access_token)).sub).toBe(robot.userId);
  }
});
