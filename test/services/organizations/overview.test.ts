import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { administrator, done, invite, newAddress } from "../invitations/invited.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const none = { count: 0, more: false };
const one = { count: 1, more: false };
const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString();
const overview = async (headers: Record<string, string>, client = postern.admin) =>
  done(await client.get("/v1/overview", headers));

test("the overview tells what needs attention in the organization, and nothing of another one", async () => {
  const [here, elsewhere] = [await organization(postern), await organization(postern)];
  const headers = inside(here);
  expect(await overview(headers)).toMatchObject({ lockedUsers: none, expiringClientSecrets: none });
  const { username } = await signedUp(postern, { organizationId: here });
  done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, headers));
  await postern.as().post("/v1/sessions", { loginName: username, password: "wrong" });
  await invite(postern.admin, { email: newAddress(), memberships: [{ roles: ["ORG_VIEWER"] }] }, headers);
  const { userId } = await machine(postern, { organizationId: here });
  for (const day of [29, 31])
    done(await postern.admin.post(`/v1/users/${userId}/tokens`, { expirationDate: days(day) }));
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: "Shop" }, headers));
  const path = `/v1/projects/${projectId}/applications`;
  for (const name of ["replaced", "kept"]) {
    const { appId } = done(await postern.admin.post(`${path}/oidc`, { name }, headers));
    if (name === "replaced")
      done(await postern.admin.post(`${path}/${appId}:rotateClientSecret`, { overlap: "3600s" }, headers));
  }
  const counts = { lockedUsers: one, pendingInvitations: one, expiringAccessTokens: one, expiringClientSecrets: one };
  // Neither application has a redirect URI.
  expect(await overview(headers)).toMatchObject({ ...counts, notCompliantApplications: { count: 2, more: false } });
  expect(await overview(inside(elsewhere))).toMatchObject({
    ...{ lockedUsers: none, pendingInvitations: none, expiringAccessTokens: none, expiringClientSecrets: none },
    notCompliantApplications: none,
  });
});

test("what is over is not counted: a lock that ended, a user who is deactivated, an invitation that was withdrawn", async () => {
  const headers = inside(await organization(postern));
  const policy = { maximumAttempts: 1, lockDuration: "1s" };
  done(await postern.admin.put("/v1/policies/lockout", { policy }, headers));
  const { username } = await signedUp(postern, { organizationId: headers["x-service-orgid"] });
  await postern.as().post("/v1/sessions", { loginName: username, password: "wrong" });
  await expect.poll(async () => (await overview(headers)).lockedUsers).toEqual(none);
  done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, headers));
  const { username: other, userId } = await signedUp(postern, { organizationId: headers["x-service-orgid"] });
  await postern.as().post("/v1/sessions", { loginName: other, password: "wrong" });
  expect((await overview(headers)).lockedUsers).toEqual(one);
  done(await postern.admin.post(`/v1/users/${userId}:deactivate`, {}));
  expect((await overview(headers)).lockedUsers).toEqual(none);
  const id = await invite(postern.admin, { email: newAddress(), memberships: [{ roles: ["ORG_VIEWER"] }] }, headers);
  expect((await overview(headers)).pendingInvitations).toEqual(one);
  done(await postern.admin.delete(`/v1/invitations/${id}`, headers));
  expect((await overview(headers)).pendingInvitations).toEqual(none);
});

test("a count stops at a hundred", async () => {
  const organizationId = await organization(postern);
  const { userId } = await machine(postern, { organizationId });
  await using database = openClient(postern.databaseUrl);
  const add = (first: number, last: number) =>
    database.client.unsafe(`
      insert into access_tokens (owner, token_id, user_id, expiration_date, version, created, changed)
      select '${organizationId}', '${organizationId}' || n, '${userId}', now() + interval '1 day', 1, now(), now()
      from generate_series(${first}, ${last}) n`);
  await add(1, 100);
  const { expiringAccessTokens: hundred } = await overview(inside(organizationId));
  expect(hundred).toEqual({ count: 100, more: false });
  await add(101, 150);
  const { expiringAccessTokens: more } = await overview(inside(organizationId));
  expect(more).toEqual({ count: 100, more: true });
});

test("callers are told what they may read, and those who may read the instance also what happens there", async () => {
  const organizationId = await organization(postern);
  const headers = inside(organizationId);
  const ofApplications = ["expiringClientSecrets", "notCompliantApplications"];
  const all = ["lockedUsers", "pendingInvitations", "expiringAccessTokens", ...ofApplications];
  const told = async (roles: readonly string[]) => {
    const { client } = await administrator(postern, organizationId, roles);
    return Object.keys(await overview(headers, client)).sort();
  };
  expect(await told(["ORG_OWNER"])).toEqual([...all].sort());
  expect(await told(["ORG_USER_MANAGER"])).toEqual(all.slice(0, 3).sort());
  const { client } = await machine(postern, { organizationId });
  expect((await client.get("/v1/overview", headers)).status).toBe(403);
  const viewer = await machine(postern);
  const added = { userId: viewer.userId, roles: ["INSTANCE_VIEWER"], instance: true };
  done(await postern.admin.post("/v1/members", added));
  const ofViewer = all.filter((name) => name !== "expiringAccessTokens");
  expect(Object.keys(await overview(headers, viewer.client)).sort()).toEqual([...ofViewer, "instance"].sort());
  const limited = done(await postern.admin.post(`/v1/users/${viewer.userId}/tokens`, { permissions: ["org.read"] }));
  expect(await overview(headers, postern.as(limited.token))).toEqual({});
});

test("the overview of the instance tells what was given up, the keys that sign, migrations and version", async () => {
  const keys = async () => (await overview({})).instance.signingKeys;
  // The first request for the keys makes them.
  expect((await fetch(`${postern.url}/jwks`)).status).toBeLessThan(500);
  await using database = openClient(postern.databaseUrl);
  await database.client.unsafe(`
    insert into signing_keys (kid, algorithm, version, public_key, sealed, signs_from)
    select 'k' || n, 'ES512', n, '{}', '', now() + (n - 3) * interval '1 day' + interval '1 hour' from generate_series(1, 4) n;
    insert into sms_messages (phone_code_id, owner, user_id, created, dead)
    select 'sms' || n, 'o', 'u', now(), now() from generate_series(1, 3) n;
    insert into mail_messages (mail_id, owner, user_id, kind, email, language, expiration_date, created, dead)
    select 'mail' || n, 'o', 'u', 'k', 'e', 'en', now(), now(), now() from generate_series(1, 101) n`);
  const { instance } = await overview({});
  expect(instance).toMatchObject({
    mailsGivenUp: { count: 100, more: true },
    smsGivenUp: { count: 3, more: false },
    signOutsGivenUp: none,
    migrationCount: expect.any(Number),
    latestMigration: expect.stringMatching(/^\d{4}-[a-z-]+/),
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
  expect(instance.migrationCount).toBeGreaterThan(100);
  const ours = (await keys()).filter(({ algorithm }: { algorithm: string }) => algorithm === "ES512");
  // The one that signs now, and those that will.
  expect(ours.map(({ kid }: { kid: string }) => kid)).toEqual(["k2", "k3", "k4"]);
});
