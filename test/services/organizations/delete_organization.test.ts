import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection } from "../../events/log_of.ts";
import { heldJobs } from "../../fixture/many_holders.ts";
import { type Answer, clientOf, machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";

let nodes: TwoNodes;
let postern: Postern;
let other: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes();
  [postern, other] = [nodes.one, nodes.two];
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const unique = () => crypto.randomUUID().slice(0, 12);
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** An organization with one of everything, and another one that it shares projects and users with. */
async function world() {
  const { admin } = postern;
  const name = unique();
  const { organizationId } = done(await admin.post("/v1/organizations", { name }));
  const elsewhere = await organization(postern);
  const [here, there] = [inside(organizationId), inside(elsewhere)];
  const { userId, username, password, client } = await signedUp(postern, { organizationId });
  const robot = await machine(postern, { organizationId });
  const sessionId = done(await admin.get(`/v1/sessions?userId=${userId}`)).sessions[0].id;
  const [own, theirs] = await Promise.all(
    [here, there].map(async (where) => done(await admin.post("/v1/projects", { name: unique() }, where)).projectId),
  );
  done(await admin.post(`/v1/projects/${own}/applications/oidc`, { name: "App" }, here));
  const lent = { grantedOrganizationId: elsewhere };
  const { projectGrantId } = done(await admin.post(`/v1/projects/${own}/grants`, lent, here));
  done(await admin.post(`/v1/projects/${theirs}/grants`, { grantedOrganizationId: organizationId }, there));
  done(await admin.post(`/v1/users/${userId}/grants`, { projectId: own }, here));
  done(await admin.post(`/v1/users/${userId}/grants`, { projectId: theirs }, there));
  const guest = await signedUp(postern, { organizationId: elsewhere });
  done(await admin.post(`/v1/users/${guest.userId}/grants`, { projectId: own }, here));
  // The last ORG_OWNER of both organizations goes with the one that is deleted.
  for (const where of [here, there]) done(await admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, where));
  done(await admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 3 } }, here));
  const names = { name, username, password };
  const ids = { organizationId, userId, sessionId, own, theirs, projectGrantId, robotId: robot.userId };
  return { ...names, ...ids, here, there, clients: [client, robot.client], guest };
}

test("everything in a deleted organization is missing at once, on every node", async () => {
  const it = await world();
  const { admin } = postern;
  // These calls fill the caches of both nodes.
  for (const url of [postern.url, other.url]) {
    const owner = clientOf(url, admin.token);
    for (const path of [`/v1/users/${it.userId}`, `/v1/sessions?userId=${it.userId}`]) done(await owner.get(path));
    for (const { token } of it.clients) done(await clientOf(url, token).get("/v1/users/me"));
  }
  expect(done(await admin.delete(`/v1/organizations/${it.organizationId}`)).details.resourceOwner).toBe(
    it.organizationId,
  );

  for (const url of [postern.url, other.url]) {
    const owner = clientOf(url, admin.token);
    for (const { token } of it.clients)
      await expect
        .poll(async () => refused(await clientOf(url, token).get("/v1/users/me")))
        .toEqual([401, "TOKEN_INVALID"]);
    const gone = [
      [() => owner.get(`/v1/organizations/${it.organizationId}`), 404, "ORGANIZATION_NOT_FOUND"],
      [() => owner.get(`/v1/users/${it.userId}`), 404, "USER_NOT_FOUND"],
      [() => owner.get(`/v1/users:byLoginName?loginName=${it.username}`), 404, "USER_NOT_FOUND"],
      [() => owner.get(`/v1/users/${it.robotId}/tokens`), 404, "USER_NOT_FOUND"],
      [() => owner.delete(`/v1/sessions/${it.sessionId}`), 404, "SESSION_NOT_FOUND"],
      [() => owner.get("/v1/users", it.here), 403, "PERMISSION_DENIED"],
      [() => owner.get(`/v1/projects/${it.own}`, it.here), 403, "PERMISSION_DENIED"],
      [() => owner.get(`/v1/projects/${it.own}/applications`, it.here), 403, "PERMISSION_DENIED"],
      [() => owner.get(`/v1/projects/${it.own}`, it.there), 404, "PROJECT_NOT_FOUND"],
      [
        () => owner.post(`/v1/users/${it.guest.userId}/grants`, { projectId: it.own }, it.there),
        404,
        "PROJECT_NOT_FOUND",
      ],
      [() => owner.post(`/v1/users/${it.userId}/grants`, { projectId: it.theirs }, it.there), 404, "USER_NOT_FOUND"],
      [() => owner.post("/v1/members", { userId: it.userId, roles: ["ORG_VIEWER"] }), 404, "USER_NOT_FOUND"],
      [() => owner.post("/v1/organizations", { name: unique(), ownerUserId: it.userId }), 404, "USER_NOT_FOUND"],
      [
        () => owner.post(`/v1/projects/${it.theirs}/grants`, { grantedOrganizationId: it.organizationId }, it.there),
        404,
        "ORGANIZATION_NOT_FOUND",
      ],
      [() => owner.post(`/v1/organizations/${it.organizationId}:reactivate`), 404, "ORGANIZATION_NOT_FOUND"],
      [() => owner.delete(`/v1/organizations/${it.organizationId}`), 404, "ORGANIZATION_NOT_FOUND"],
    ] as const;
    for (const [ask, status, reason] of gone)
      await expect.poll(async () => refused(await ask())).toEqual([status, reason]);
  }
  const signIn = await postern.as().post("/v1/sessions", { loginName: it.username, password: it.password });
  expect(refused(signIn)).toEqual([401, "SIGN_IN_FAILED"]);
  expect(done(await it.guest.client.get("/v1/users/me")).projectRoles).toEqual([]);
  const listed = async (path: string, key: string) => done(await admin.get(path, it.there))[key];
  expect((await listed("/v1/projects?includeGranted=true", "projects")).map(({ id }: { id: string }) => id)).toEqual([
    it.theirs,
  ]);
  const organizations = await listed("/v1/organizations?pageSize=1000", "organizations");
  expect(organizations.filter(({ id }: { id: string }) => id === it.organizationId)).toEqual([]);
  // Its name is free, and the log tells who deleted it.
  done(await admin.post("/v1/organizations", { name: it.name }));
  const { events } = done(await admin.get(`/v1/events?instance=true&objectId=${it.organizationId}`));
  expect(events).toContainEqual(expect.objectContaining({ type: "organization.deleted", actorId: postern.adminId }));
});

test("its rows go in batches, with what rests on them elsewhere, and the log replayed gives the same tables", async () => {
  const it = await world();
  await using client = oneConnection(postern.databaseUrl);
  const same = async () => expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.delete(`/v1/organizations/${it.organizationId}`));
    await same();
    return begun;
  })();
  const { job } = done(await postern.admin.get(`/v1/jobs/${jobId}:wait?instance=true`));
  expect(job).toMatchObject({ state: "JOB_STATE_ENDED", objectId: it.organizationId, actorId: postern.adminId });
  expect(await client.sql`select from organizations where organization_id = ${it.organizationId}`).toEqual([]);
  await same();
  for (const table of [
    "users",
    "projects",
    "applications",
    "project_grants",
    "user_grants",
    "sessions",
    "access_tokens",
  ])
    expect(await client.sql.unsafe(`select from ${table} where owner = '${it.organizationId}'`)).toEqual([]);
  for (const table of ["members", "lockout_policies", "login_names", "bearers", "passwords"])
    expect(await client.sql.unsafe(`select from ${table} where owner = '${it.organizationId}'`)).toEqual([]);
  expect(done(await postern.admin.get("/v1/user-grants", it.there)).userGrants).toEqual([]);
  const again = { username: it.username, name: "Robot" };
  done(await postern.admin.post("/v1/users/machine", again, it.there));
});

test("the organization of the only owner of the instance is not deleted, also when two are at once", async () => {
  await using alone = await startPostern();
  const first = `/v1/organizations/${alone.organizationId}`;
  expect(refused(await alone.admin.delete(first))).toEqual([400, "LAST_OWNER"]);
  const second = await organization(alone);
  const { userId, client } = await signedUp(alone, { organizationId: second });
  done(await alone.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }));
  const answers = await Promise.all([alone.admin.delete(`/v1/organizations/${second}`), client.delete(first)]);
  expect(
    answers.filter(({ status }) => status === 200),
    JSON.stringify(answers),
  ).toHaveLength(1);
});
