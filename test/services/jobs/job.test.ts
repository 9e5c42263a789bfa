import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection } from "../../events/log_of.ts";
import { heldJobs, holdersOf } from "../../fixture/many_holders.ts";
import { append, idOf } from "../../fixture/seed.ts";
import { type Answer, clientOf, organization, type Postern, signedUp } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";

// A call does the work of at most a thousand.
const count = 1_050;

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
const there = () => clientOf(other.url, postern.admin.token);
const ended = async (jobId: string, query = "") =>
  done(await there().get(`/v1/jobs/${jobId}:wait?timeoutSeconds=50${query}`)).job;

async function isReplayed() {
  await using client = oneConnection(postern.databaseUrl);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
}

async function projectWith(roles: readonly string[]): Promise<string> {
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique() }));
  for (const key of roles) done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key }));
  return projectId;
}

let firstProject = 0;

/** Makes as many projects as a user of many grants has, as the log itself writes them. */
async function manyProjects(owner: string): Promise<string[]> {
  const numbers = Array.from({ length: count }, (_, n) => firstProject + n);
  await using client = oneConnection(postern.databaseUrl);
  await append([client.sql], owner, { users: 0, projects: count, firstProject, grants: 0, changes: 0 });
  firstProject += count;
  return numbers.map((n) => idOf("project", n));
}

const decision = async (userId: string, name: string, projectId: string) => {
  const question = {
    subject: { type: "user", id: userId },
    action: { name },
    resource: { type: "project", id: projectId },
  };
  return done(await there().post("/access/v1/evaluation", question)).decision;
};

test("a role of many holders is gone at once, and its key is free when nobody has it any more", async () => {
  const projectId = await projectWith(["reader", "writer"]);
  const holders = await holdersOf(postern, { projectId, roleKey: "reader", count });
  const [holder = ""] = holders;
  const roles = `/v1/projects/${projectId}/roles`;
  expect(await decision(holder, "reader", projectId)).toBe(true);
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.delete(`${roles}/reader`, { "x-request-id": "remove-reader" }));
    expect(begun).toMatchObject({ jobId: expect.any(String), details: expect.anything() });
    // On the other node too.
    await expect.poll(() => decision(holder, "reader", projectId)).toBe(false);
    expect(done(await there().get(roles)).roles.map(({ key }: { key: string }) => key)).toEqual(["writer"]);
    expect(done(await there().get(`${roles}?filter.search=reader`)).roles ?? []).toEqual([]);
    expect(refused(await there().post(roles, { key: "reader" }))).toEqual([400, "BEING_DELETED"]);
    expect(refused(await there().delete(`${roles}/reader`))).toEqual([404, "ROLE_NOT_FOUND"]);
    const grant = { projectId, roleKeys: ["reader"] };
    const { userId } = await signedUp(postern);
    expect(refused(await there().post(`/v1/users/${userId}/grants`, grant))).toEqual([400, "ROLE_UNKNOWN"]);
    const running = done(await there().get(`/v1/jobs/${begun.jobId}`)).job;
    expect(running).toMatchObject({ type: "project.role_removed", objectId: projectId, state: "JOB_STATE_RUNNING" });
    await isReplayed();
    return begun;
  })();
  const job = await ended(jobId);
  expect(job).toMatchObject({ state: "JOB_STATE_ENDED", eventCount: String(count), actorId: postern.adminId });
  const { events } = done(await there().get("/v1/events?types=user_grant.role_removed&pageSize=1000"));
  expect(
    new Set(events.map((one: { actorId: string; requestId: string }) => `${one.actorId} ${one.requestId}`)),
  ).toEqual(new Set([`${postern.adminId} ${job.requestId}`]));
  done(await there().post(roles, { key: "reader" }));
  expect(await decision(holder, "reader", projectId)).toBe(false);
}, 120_000);

test("a project of many grants is gone at once, with its applications, and its name is free", async () => {
  const name = unique();
  const { projectId } = done(await postern.admin.post("/v1/projects", { name }));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }));
  const app = done(await postern.admin.post(`/v1/projects/${projectId}/applications/oidc`, { name: "App" }));
  const [holder = ""] = await holdersOf(postern, { projectId, roleKey: "reader", count });
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.delete(`/v1/projects/${projectId}`));
    await expect.poll(() => decision(holder, "reader", projectId)).toBe(false);
    expect(refused(await there().get(`/v1/projects/${projectId}`))).toEqual([404, "PROJECT_NOT_FOUND"]);
    const path = `/v1/projects/${projectId}/applications/${app.appId}`;
    expect(refused(await there().get(path))).toEqual([404, "PROJECT_NOT_FOUND"]);
    const { projects } = done(await there().get(`/v1/projects?filter.name=${name}`));
    expect(projects ?? []).toEqual([]);
    await isReplayed();
    return begun;
  })();
  done(await there().post("/v1/projects", { name }));
  expect(await ended(jobId)).toMatchObject({ state: "JOB_STATE_ENDED", type: "project.deleted" });
  await using client = oneConnection(postern.databaseUrl);
  for (const table of ["all_projects", "all_project_roles", "user_grants", "applications"])
    expect(await client.sql.unsafe(`select from ${table} where project_id = '${projectId}'`)).toEqual([]);
}, 120_000);

test("a project that many write below on both nodes takes nothing more once its deletion is answered, and its job ends", async () => {
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique() }));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }));
  await holdersOf(postern, { projectId, roleKey: "reader", count });
  const [{ userId: someone }, { userId: another }] = [await signedUp(postern), await signedUp(postern)];
  let isAnswered = false;
  const late: unknown[] = [];
  const made = { grants: 0, others: 0 };
  const writer = async (n: number) => {
    const client = n % 2 === 0 ? postern.admin : there();
    const writes = [
      () => client.post(`/v1/users/${n % 4 === 0 ? someone : another}/grants`, { projectId, roleKeys: ["reader"] }),
      () => client.post(`/v1/projects/${projectId}/roles`, { key: unique() }),
      () => client.post(`/v1/projects/${projectId}/applications/oidc`, { name: unique() }),
    ];
    for (let refusals = 0; refusals < 3; ) {
      const [began, write] = [isAnswered, writes[(n + refusals) % writes.length]];
      const answer = await write?.();
      if (answer?.status === 200) made[n % 3 === 0 ? "grants" : "others"]++;
      if (answer?.status === 200 && began) late.push(answer.body);
      if (began) refusals++;
      // A user holds one grant in a project, which the next round replaces.
      const { userGrantId } = answer?.body ?? {};
      if (userGrantId) await client.delete(`/v1/user-grants/${userGrantId}`);
    }
  };
  const writers = Array.from({ length: 12 }, (_, n) => writer(n));
  await expect.poll(() => made.grants > 5 && made.others > 20).toBe(true);
  // Whoever is told of a conflict tries again: twelve others change the project meanwhile.
  const remove = () => postern.admin.delete(`/v1/projects/${projectId}`);
  let removed = await remove();
  for (let tries = 1; tries < 5 && removed.status === 409; tries++) removed = await remove();
  const { jobId } = done(removed);
  isAnswered = true;
  await Promise.all(writers);
  expect(late).toEqual([]);
  expect(await ended(jobId)).toMatchObject({ state: "JOB_STATE_ENDED", type: "project.deleted" });
  await using client = oneConnection(postern.databaseUrl);
  for (const table of ["all_projects", "all_project_roles", "user_grants", "applications"])
    expect(await client.sql.unsafe(`select from ${table} where project_id = '${projectId}'`)).toEqual([]);
  const repeated = await client.sql`
    select stream from events where type = 'user_grant.removed' and project_id = ${projectId} group by stream having count(*) > 1`;
  expect(repeated).toEqual([]);
}, 120_000);

test("the grant of a project to an organization of many users gives nothing at once", async () => {
  const elsewhere = await organization(postern);
  const projectId = await projectWith(["reader"]);
  const shared = { grantedOrganizationId: elsewhere, roleKeys: ["reader"] };
  const grants = `/v1/projects/${projectId}/grants`;
  const { projectGrantId } = done(await postern.admin.post(grants, shared));
  const [holder = ""] = await holdersOf(postern, {
    projectId,
    roleKey: "reader",
    count,
    organizationId: elsewhere,
    projectGrantId,
  });
  expect(await decision(holder, "reader", projectId)).toBe(true);
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.delete(`${grants}/${projectGrantId}`));
    await expect.poll(() => decision(holder, "reader", projectId)).toBe(false);
    expect(refused(await there().post(grants, shared))).toEqual([400, "BEING_DELETED"]);
    // What others delete waits for the job, or follows it.
    const { jobId: next } = done(await there().delete(`/v1/projects/${projectId}/roles/reader`));
    expect(refused(await there().get(`/v1/jobs/${next}`))).toEqual([200, undefined]);
    await isReplayed();
    return begun;
  })();
  expect(await ended(jobId)).toMatchObject({ state: "JOB_STATE_ENDED", type: "project_grant.revoked" });
  done(await there().post(grants, { grantedOrganizationId: elsewhere }));
}, 120_000);

test("roles that a project grant of many users loses are gone at once, and come back to nobody", async () => {
  const elsewhere = await organization(postern);
  const projectId = await projectWith(["reader", "writer", "editor"]);
  const grants = `/v1/projects/${projectId}/grants`;
  const shared = { grantedOrganizationId: elsewhere, roleKeys: ["reader", "writer"] };
  const { projectGrantId } = done(await postern.admin.post(grants, shared));
  const lent = { projectId, projectGrantId, organizationId: elsewhere, count };
  const [holder = ""] = await holdersOf(postern, { ...lent, roleKey: "reader" });
  const inside = { "x-service-orgid": elsewhere };
  const { userId: other } = await signedUp(postern);
  const both = { userId: other, projectId, projectGrantId, roleKeys: ["reader", "writer"] };
  const { userGrantId } = done(await postern.admin.post(`/v1/users/${other}/grants`, both, inside));
  const change = async (roleKeys: readonly string[]) => there().put(`${grants}/${projectGrantId}`, { roleKeys });
  expect(await decision(holder, "reader", projectId)).toBe(true);
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.put(`${grants}/${projectGrantId}`, { roleKeys: ["writer"] }));
    await expect.poll(() => decision(holder, "reader", projectId)).toBe(false);
    expect(await decision(other, "reader", projectId)).toBe(false);
    expect(await decision(other, "writer", projectId)).toBe(true);
    const { projectGrants } = done(await there().get(grants));
    expect(projectGrants).toMatchObject([{ roleKeys: ["writer"] }]);
    // It gets no new holders, and others may change meanwhile.
    const { userId } = await signedUp(postern);
    const grant = { projectId, projectGrantId, roleKeys: ["reader"] };
    expect(refused(await there().post(`/v1/users/${userId}/grants`, grant, inside))).toEqual([400, "ROLE_UNKNOWN"]);
    const again = await change(["writer", "reader"]);
    expect(refused(again)).toEqual([400, "BEING_DELETED"]);
    expect(again.body.details[1]?.fieldViolations).toMatchObject([{ field: "roleKeys[1]" }]);
    done(await change(["writer", "editor"]));
    await isReplayed();
    return begun;
  })();
  expect(await ended(jobId)).toMatchObject({ type: "project_grant.changed", eventCount: String(count + 1) });
  const { userGrant } = done(await there().get(`/v1/user-grants/${userGrantId}`, inside));
  expect(userGrant).toMatchObject({ roleKeys: ["writer"], details: { sequence: "2" } });
  done(await change(["writer", "editor", "reader"]));
  expect(await decision(holder, "reader", projectId)).toBe(false);
}, 120_000);

test("many roles from another organization are gone at once when they are ended, and cannot be allowed meanwhile", async () => {
  const { userId, client } = await signedUp(postern);
  const giver = await organization(postern);
  const inside = { "x-service-orgid": giver };
  const projects = await manyProjects(giver);
  const [projectId = ""] = projects;
  const items = projects.map((one) => ({ userId, projectId: one, roleKeys: one === projectId ? ["reader"] : [] }));
  done(
    await postern.admin.post("/v1/user-grants:batchAdd", { items: items.slice(0, 1000), allOrNothing: true }, inside),
  );
  done(await postern.admin.post("/v1/user-grants:batchAdd", { items: items.slice(1000), allOrNothing: true }, inside));
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, inside));
  done(await postern.admin.post(`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_OWNER"] }, inside));
  const asUser = clientOf(other.url, client.token);
  const path = `/v1/projects/${projectId}`;
  done(await asUser.get(path, inside));
  expect(await decision(userId, "reader", projectId)).toBe(true);
  const command = { organizationId: giver };
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.post(`/v1/users/${userId}/roles:end`, command));
    await expect.poll(async () => (await asUser.get(path, inside)).status).toBe(403);
    expect(await decision(userId, "reader", projectId)).toBe(false);
    expect(done(await there().get(`/v1/users/${userId}/roles`)).userRoles ?? []).toEqual([]);
    expect(done(await asUser.get("/v1/users/me")).projectRoles ?? []).toEqual([]);
    const { members } = done(await there().get(`${path}/members`, inside));
    expect(members.map((one: { userId: string }) => one.userId)).not.toContain(userId);
    expect(refused(await there().post(`/v1/users/${userId}/roles:allow`, command))).toEqual([400, "BEING_DELETED"]);
    expect(refused(await there().post(`/v1/users/${userId}/grants`, { projectId }, inside))).toEqual([
      400,
      "ENDED_BY_RECEIVER",
    ]);
    expect(done(await there().post(`/v1/users/${userId}/roles:end`, command))).toMatchObject({ jobId: begun.jobId });
    await isReplayed();
    return begun;
  })();
  // The membership on the organization ended with the call.
  expect(await ended(jobId)).toMatchObject({ type: "user.roles_ended", eventCount: String(count + 1) });
  done(await there().post(`/v1/users/${userId}/roles:allow`, command));
  expect(await decision(userId, "reader", projectId)).toBe(false);
  expect(done(await there().get(`/v1/users/${userId}/roles`)).userRoles ?? []).toEqual([]);
}, 120_000);

/** Lets users connect with an application: each gives its consent, and signs in. */
async function connected(appId: string, users: readonly string[]) {
  await using client = oneConnection(postern.databaseUrl);
  const mark = unique();
  const named = client.sql`
    select u.owner, u.user_id, ${mark} || u.user_id as id from users u where u.user_id = any(${[...users]})`;
  await client.sql`
    insert into events (owner, stream, version, type, payload, actor, request_id, time)
    select owner, id, 1, 'consent.given', jsonb_build_object('userId', user_id, 'appId', ${appId}::text, 'scopes', '[]'::jsonb),
      user_id, 'request', date_trunc('milliseconds', now()) from (${named}) n`;
  await client.sql`
    insert into consents (owner, consent_id, user_id, app_id, scopes, version, created, changed)
    select owner, id, user_id, ${appId}, '{}', 1, e.time, e.time from (${named}) n join events e using (owner)
    where e.stream = n.id`;
  await client.sql`
    insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
    select id, owner, user_id, sha256(id::bytea), now(), '{pwd}', now(), now() + interval '1 day' from (${named}) n`;
  await client.sql`
    insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, created, expiration_date)
    select 'to-' || id, id, user_id, ${appId}, owner, 'openid', false, now(), now() + interval '1 day' from (${named}) n`;
}

const connectionsOf = async (appId: string) => {
  await using client = oneConnection(postern.databaseUrl);
  const [row] = await client.sql<{ consents: number; signOns: number }[]>`
    select (select count(*)::int from consents where app_id = ${appId}) as consents,
      (select count(*)::int from sign_ons where app_id = ${appId}) as "signOns"`;
  return row;
};

test("an application of many users is gone at once, and a job ends what they have there", async () => {
  const projectId = await projectWith(["reader"]);
  const users = await holdersOf(postern, { projectId, roleKey: "reader", count: 600 });
  const applications = `/v1/projects/${projectId}/applications`;
  const { appId } = done(await postern.admin.post(`${applications}/oidc`, { name: "Large" }));
  const { appId: small } = done(await postern.admin.post(`${applications}/oidc`, { name: "Small" }));
  await connected(appId, users);
  await connected(small, users.slice(0, 3));
  expect(await connectionsOf(appId)).toEqual({ consents: users.length, signOns: users.length });
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await postern.admin.delete(`${applications}/${appId}`));
    expect(refused(await there().get(`${applications}/${appId}`))).toEqual([404, "APPLICATION_NOT_FOUND"]);
    const connections = done(await there().get(`/v1/users/${users[0]}/connected-applications`)).applications;
    expect(connections.map((one: { name: string }) => one.name)).toEqual(["Small"]);
    await isReplayed();
    return begun;
  })();
  // The withdrawal of a consent ends the sign-ins that rested on it.
  expect(await ended(jobId)).toMatchObject({ type: "application.deleted", eventCount: String(users.length) });
  expect(await connectionsOf(appId)).toEqual({ consents: 0, signOns: 0 });
  expect(done(await postern.admin.delete(`${applications}/${small}`)).jobId).toBeUndefined();
  expect(await connectionsOf(small)).toEqual({ consents: 0, signOns: 0 });
}, 120_000);

test("a project whose applications have many users is deleted in batches", async () => {
  const projectId = await projectWith(["reader"]);
  const users = await holdersOf(postern, { projectId, roleKey: "reader", count: 600 });
  const { appId } = done(await postern.admin.post(`/v1/projects/${projectId}/applications/oidc`, { name: "Large" }));
  await connected(appId, users);
  const { jobId } = done(await postern.admin.delete(`/v1/projects/${projectId}`));
  expect(await ended(jobId)).toMatchObject({ state: "JOB_STATE_ENDED" });
  expect(await connectionsOf(appId)).toEqual({ consents: 0, signOns: 0 });
}, 120_000);

test("a user of many grants is gone at once, and who began it sees the job", async () => {
  const { userId, username, client } = await signedUp(postern);
  const own = await organization(postern);
  await using database = oneConnection(postern.databaseUrl);
  const inOwn = { "x-service-orgid": own };
  const projects = await manyProjects(own);
  const items = projects.map((projectId) => ({ userId, projectId }));
  done(await postern.admin.post("/v1/user-grants:batchAdd", { items: items.slice(0, 1000) }, inOwn));
  done(await postern.admin.post("/v1/user-grants:batchAdd", { items: items.slice(1000) }, inOwn));
  const manager = await signedUp(postern);
  done(await postern.admin.post("/v1/members", { userId: manager.userId, roles: ["ORG_USER_MANAGER"] }));
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await manager.client.delete(`/v1/users/${userId}`));
    await expect
      .poll(async () => refused(await clientOf(other.url, client.token).get("/v1/users/me")))
      .toEqual([401, "TOKEN_INVALID"]);
    expect(refused(await there().get(`/v1/users/${userId}`))).toEqual([404, "USER_NOT_FOUND"]);
    done(await postern.admin.post("/v1/users/machine", { username, name: "Robot" }));
    await isReplayed();
    return begun;
  })();
  expect(await ended(jobId)).toMatchObject({ state: "JOB_STATE_ENDED", actorId: manager.userId });
  expect(await database.sql`select from all_users where user_id = ${userId}`).toEqual([]);
}, 120_000);

test("a job of another organization is not found, and nobody else's is listed for a role on a part", async () => {
  const elsewhere = await organization(postern);
  const { jobId } = done(await postern.admin.delete(`/v1/organizations/${elsewhere}`));
  expect(refused(await there().get(`/v1/jobs/${jobId}`))).toEqual([404, "JOB_NOT_FOUND"]);
  expect(await ended(jobId, "&instance=true")).toMatchObject({ organizationId: elsewhere });
  const { jobs } = done(await there().get("/v1/jobs?instance=true&state=JOB_STATE_ENDED&pageSize=1000"));
  expect(jobs.map(({ id }: { id: string }) => id)).toContain(jobId);
  const { userId, client } = await signedUp(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: ["PROJECT_OWNER"], projectId: await projectWith([]) }));
  expect(done(await client.get("/v1/jobs")).jobs ?? []).toEqual([]);
});

test("the log replayed after all of it gives the same tables", isReplayed, 120_000);
