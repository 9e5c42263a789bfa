import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { machine as newMachine, organization, type Postern, sharedPostern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { basic, post } from "../application.ts";
import { openBrowser } from "../browser.ts";
import {
  accessTokenType,
  type Delegated,
  delegated,
  delegation,
  exchanged,
  grantOfExchange,
  introspected,
  newApi,
  outcome,
  scopesOfTarget,
  userTokens,
} from "../delegation.ts";
import { done } from "../holding.ts";
import { grantedMachine } from "../machine.ts";

let postern: Postern;
let world: Delegated;
beforeAll(async () => {
  postern = await sharedPostern();
  world = await delegation(postern, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const refused = ({ status, body }: { status: number; body: { details?: { reason?: string }[] } }) => [
  status,
  body.details?.[0]?.reason,
];

test("openid-client gets a token on behalf of a user, which says for whom, who acts, and what both may do", async () => {
  const { issuer, person, machine, target, app, served } = world;
  const { access_token: subject_token } = await userTokens(world);
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const secret = oidc.ClientSecretBasic(machine.clientSecret);
  const client = await oidc.discovery(new URL(issuer), machine.clientId, undefined, secret, insecure);
  const form = { subject_token, subject_token_type: accessTokenType, resource: target.uri };
  const given = await oidc.genericGrantRequest(client, grantOfExchange, form);
  expect(given).toEqual({
    access_token: expect.any(String),
    issued_token_type: accessTokenType,
    token_type: "bearer",
    expires_in: expect.any(Number),
    // The machine is no editor, and the API declares no mail.
    scope: "ledger:read",
  });
  const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/keys`));
  const { payload } = await jwtVerify(given.access_token, keys, { issuer, audience: target.uri, typ: "at+jwt" });
  const claims = { sub: person.userId, act: { sub: machine.userId }, roles: ["viewer"], client_id: machine.clientId };
  expect(payload).toMatchObject({ ...claims, aud: target.uri, scope: "ledger:read", amr: ["pwd"] });
  const seen = await introspected(issuer, given.access_token, target);
  expect(seen).toMatchObject({ ...claims, active: true, aud: target.uri, scope: "ledger:read" });
  for (const other of [served, app, machine.api])
    expect(await introspected(issuer, given.access_token, other)).toEqual({ active: false });
  expect((await postern.as(given.access_token).get("/v1/users/me")).status).toBe(401);
  const userinfo = await post(issuer, "/oauth/userinfo", {}, { authorization: `Bearer ${given.access_token}` });
  expect(userinfo.status).toBe(401);
});

test("it lasts no longer than the token of the user, and has what the machine asks for of it", async () => {
  const { issuer, target } = world;
  const { access_token } = await userTokens(world);
  const subject = await introspected(issuer, access_token, world.served);
  const given = done(await exchanged(world, access_token, { scope: "ledger:read mail:read" }));
  expect(given.scope).toBe("ledger:read");
  expect((await introspected(issuer, given.access_token, target)).exp).toBeLessThanOrEqual(subject.exp);
  const none = done(await exchanged(world, access_token, { scope: "mail:read" }));
  expect(none.scope).toBe("");
  // It may last longer within the second in which the user's token ends.
  const ended = `update sign_on_tokens set expiration_date = now() where hash = sha256('${access_token}'::bytea)`;
  await ask(postern.databaseUrl, ended);
  expect(await introspected(issuer, given.access_token, target)).toEqual({ active: false });
});

test("a JWT ends with the first grant of the user where the user's own token is for, also if that one is opaque", async () => {
  const end = new Date(Math.floor(Date.now() / 1000) * 1000 + 200_000);
  const grant = { projectId: world.app.projectId, expirationDate: end.toISOString() };
  done(await postern.admin.post(`/v1/users/${world.person.userId}/grants`, grant));
  const { access_token } = await userTokens(world);
  expect(decodeJwt(done(await exchanged(world, access_token)).access_token).exp).toBe(end.getTime() / 1000);
});

test("an exchange is a use of the machine's credential", async () => {
  const { machine } = await delegation(postern);
  const mine = { ...world, machine };
  const used = async () => {
    const { credentials } = done(await postern.admin.get(`/v1/users/${machine.userId}/credentials`));
    return credentials.find(({ id }: { id: string }) => id === machine.secretId);
  };
  await delegated(postern, machine, { served: [world.served], targets: [world.target] });
  const { access_token } = await userTokens(world);
  expect(outcome(await exchanged(mine, access_token))).toEqual([400, "invalid_target"]);
  expect(await used()).not.toHaveProperty("lastUsedDate");
  const { projectId } = world.target;
  done(await postern.admin.post(`/v1/users/${machine.userId}/grants`, { projectId }));
  done(await exchanged(mine, access_token));
  expect(await used()).toMatchObject({ lastUsedDate: expect.any(String), lastUsedOrigin: expect.anything() });
});

test("opaque tokens work as well, and a machine revokes its own and no other's", async () => {
  const opaque = await delegation(postern);
  const { issuer, target, machine } = opaque;
  const { access_token } = await userTokens(opaque);
  const given = done(await exchanged(opaque, access_token));
  expect(given.access_token).toMatch(/^oa_/);
  expect(await introspected(issuer, given.access_token, target)).toMatchObject({ active: true, scope: "ledger:read" });
  const revoke = (by: Parameters<typeof basic>[0]) =>
    post(issuer, "/oauth/revoke", { token: given.access_token }, basic(by));
  expect(outcome(await revoke(world.machine))).toEqual([400, "invalid_grant"]);
  expect((await introspected(issuer, given.access_token, target)).active).toBe(true);
  expect((await revoke(machine)).status).toBe(200);
  expect(await introspected(issuer, given.access_token, target)).toEqual({ active: false });
});

test("a user sees which machine acted on their behalf, and ends it with the application", async () => {
  const mine = await delegation(postern);
  const { issuer, target, machine, app, person } = mine;
  const browser = openBrowser(issuer);
  const { access_token } = await userTokens(mine, { browser });
  const given = done(await exchanged(mine, access_token));
  done(await exchanged(mine, access_token));
  const path = `/v1/users/${person.userId}/connected-applications`;
  const { applications } = done(await postern.admin.get(path));
  const when = { firstDate: expect.any(String), lastDate: expect.any(String) };
  const acted = { userId: machine.userId, name: expect.any(String), apiId: target.appId, apiName: expect.any(String) };
  expect(applications).toMatchObject([{ appId: app.appId, actingMachines: [{ ...acted, ...when }] }]);
  const page = await browser.open(`${issuer}/account/applications`);
  expect(page.text).toContain(applications[0].actingMachines[0].apiName);
  done(await postern.admin.delete(`${path}/${app.appId}`));
  expect(await introspected(issuer, given.access_token, target)).toEqual({ active: false });
  expect(outcome(await exchanged(mine, access_token))).toEqual([400, "invalid_request"]);
  expect(done(await postern.admin.get(path)).applications).toEqual([]);
  const again = await userTokens(mine);
  expect(done(await postern.admin.get(path)).applications).toMatchObject([{ actingMachines: [] }]);
  done(await exchanged(mine, again.access_token));
});

test("a user sees and ends who acted on their behalf for 90 days, also where the application holds no tokens any more", async () => {
  const mine = await delegation(postern);
  const browser = openBrowser(mine.issuer);
  const { access_token } = await userTokens(mine, { browser, scope: "openid ledger:read" });
  done(await exchanged(mine, access_token));
  const { userId } = mine.person;
  await ask(postern.databaseUrl, `update sign_ons set expiration_date = now() where user_id = '${userId}'`);
  const path = `/v1/users/${userId}/connected-applications`;
  const list = async () => done(await postern.admin.get(path)).applications;
  expect(await list()).toMatchObject([
    { appId: mine.app.appId, scopes: [], actingMachines: [{ apiId: mine.target.appId }] },
  ]);
  const [{ name, actingMachines }] = await list();
  const page = await browser.open(`${mine.issuer}/account/applications`);
  for (const text of [name, actingMachines[0].name, actingMachines[0].apiName]) expect(page.text).toContain(text);
  const ofUser = `user_id = '${userId}'`;
  await ask(postern.databaseUrl, `update acting_machines set expiration_date = now() where ${ofUser}`);
  expect(await list()).toEqual([]);
  expect((await postern.admin.delete(`${path}/${mine.app.appId}`)).status).toBe(404);
  await ask(
    postern.databaseUrl,
    `update acting_machines set expiration_date = now() + interval '90 days' where ${ofUser}`,
  );
  done(await postern.admin.delete(`${path}/${mine.app.appId}`));
  expect(await list()).toEqual([]);
  expect(await ask(postern.databaseUrl, `select from acting_machines where ${ofUser}`)).toHaveLength(0);
});

test("who may change the APIs sets what a machine serves and calls, of its own organization, and not a machine itself", async () => {
  const { machine, served, target } = world;
  const path = `/v1/users/${machine.userId}/delegation`;
  const lists = { servedResources: [served.uri], targetResources: [target.uri] };
  expect(done(await postern.admin.get(path))).toMatchObject({
    servedResources: [{ appId: served.appId, uri: served.uri }],
    targetResources: [{ appId: target.appId, uri: target.uri }],
  });
  const owner = await organization(postern);
  const headers = { "x-service-orgid": owner };
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: "theirs" }, headers));
  const theirs = await newApi(postern, projectId, { scopes: scopesOfTarget }, owner);
  for (const uri of [theirs.uri, world.issuer, "https://nobody.example/", target.appId])
    for (const name of ["servedResources", "targetResources"]) {
      const answer = await postern.admin.put(path, { ...lists, [name]: [uri] });
      expect(refused(answer)).toEqual([400, "RESOURCE_URI_UNKNOWN"]);
      expect(JSON.stringify(answer.body)).toContain(`${name}[0]`);
    }
  const { userId, client } = await manager("ORG_USER_MANAGER");
  expect((await client.put(path, lists)).status).toBe(403);
  expect((await client.get(path)).status).toBe(403);
  const { client: alone, userId: self } = await manager("ORG_OWNER");
  expect(refused(await alone.put(`/v1/users/${self}/delegation`, lists))).toEqual([400, "OWN_MACHINE_DELEGATION"]);
  done(await alone.put(path, lists));
  expect((await postern.admin.put(`/v1/users/${postern.adminId}/delegation`, lists)).status).toBe(400);
  expect(userId).not.toBe(self);
  const { events } = done(await postern.admin.get(`/v1/events?aboutUserId=${machine.userId}`));
  expect(events[0]).toMatchObject({ type: "user.delegation_set", actorId: self });
});

test("whoever read the lists before somebody else set them, overwrites nothing", async () => {
  const { machine, served, target } = world;
  const path = `/v1/users/${machine.userId}/delegation`;
  const lists = { servedResources: [served.uri], targetResources: [target.uri] };
  const { sequence: expectedSequence } = done(await postern.admin.get(path)).details;
  done(await postern.admin.put(path, { ...lists, expectedSequence }));
  const late = await postern.admin.put(path, { targetResources: [], expectedSequence });
  expect(refused(late)).toEqual([409, "CONFLICT"]);
  const { details, ...kept } = done(await postern.admin.get(path));
  expect(BigInt(details.sequence)).toBeGreaterThan(BigInt(expectedSequence));
  expect(kept.targetResources).toEqual([{ appId: target.appId, uri: target.uri }]);
});

async function manager(role: string) {
  const { userId, client } = await newMachine(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: [role] }));
  return { userId, client };
}

test("a token ends when an API is no longer in the lists, and an API made later with the same URI is another one", async () => {
  const mine = await delegation(postern);
  const { issuer, served, machine } = mine;
  const target = await newApi(postern, machine.projectId, { scopes: scopesOfTarget });
  await delegated(postern, machine, { served: [served], targets: [target] });
  const { access_token } = await userTokens(mine);
  const given = done(await exchanged(mine, access_token, { resource: target.uri }));
  const active = async () => (await introspected(issuer, given.access_token, target)).active;
  expect(await active()).toBe(true);
  await delegated(postern, machine, { served: [served], targets: [] });
  expect(await active()).toBe(false);
  await delegated(postern, machine, { served: [], targets: [target] });
  expect(await active()).toBe(false);
  await delegated(postern, machine, { served: [served], targets: [target] });
  expect(await active()).toBe(true);
  done(await postern.admin.delete(`/v1/projects/${machine.projectId}/applications/${target.appId}`));
  await newApi(postern, machine.projectId, { scopes: scopesOfTarget, resourceUris: [target.uri] });
  expect(outcome(await exchanged(mine, access_token, { resource: target.uri }))).toEqual([400, "invalid_target"]);
});

test("an application cannot exchange tokens, and a machine without delegation cannot either", async () => {
  const { app } = world;
  const { access_token } = await userTokens(world);
  expect(outcome(await exchanged(world, access_token, {}, { by: app }))).toEqual([400, "unauthorized_client"]);
  const other = await grantedMachine(postern);
  expect(outcome(await exchanged(world, access_token, {}, { by: other }))).toEqual([400, "invalid_request"]);
});
