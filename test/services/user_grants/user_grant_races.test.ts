import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type Client, machine, type Postern, startPostern } from "../../harness.ts";

let postern: Postern;
let sql: postgres.Sql;
const users: string[] = [];

beforeAll(async () => {
  postern = await startPostern();
  const url = new URL(postern.databaseUrl);
  const host = url.searchParams.get("host") ?? url.hostname;
  sql = postgres({ host, user: url.username, database: url.pathname.slice(1), max: 1 });
  for (let n = 0; n < 24; n++) users.push((await machine(postern)).userId);
});
afterAll(async () => {
  await sql.end();
  await postern[Symbol.asyncDispose]();
});

async function newProject(roleKeys: readonly string[]): Promise<string> {
  const { body } = await postern.admin.post("/v1/projects", { name: `Project ${randomUUID()}` });
  for (const key of roleKeys) await postern.admin.post(`/v1/projects/${body.projectId}/roles`, { key });
  return body.projectId;
}

const add = (userId: string, body: object, client: Client = postern.admin) =>
  client.post(`/v1/users/${userId}/grants`, body);
const statusOf = ({ status, body }: Answer) =>
  status === 200 ? "ok" : body.details?.find(({ reason }: { reason?: string }) => reason)?.reason;
const soon = () => new Promise((done) => setTimeout(done, Math.random() * 8));
const shuffled = <T>(items: readonly T[]) =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
const rolesHeld = (projectId: string) => sql<{ id: string; key: string; version: string; facts: string }[]>`
  select g.user_grant_id as id, r.role_key as key, g.version,
    (select count(*) from events e where e.owner = g.owner and e.stream = g.user_grant_id) as facts
  from user_grants g join user_grant_roles r using (user_grant_id) where g.project_id = ${projectId}`;

test("a role that is removed while it is being granted stays in no grant", async () => {
  for (let round = 0; round < 8; round++) {
    const projectId = await newProject(["admin", "user"]);
    const adds = users.map(async (userId) => {
      await soon();
      return statusOf(await add(userId, { projectId, roleKeys: shuffled(["admin", "user"]) }));
    });
    await soon();
    const removed = await postern.admin.delete(`/v1/projects/${projectId}/roles/admin`);
    expect(removed.status).toBe(200);
    expect(new Set(["ok", "ROLE_UNKNOWN", ...(await Promise.all(adds))]).size).toBe(2);
    const held = await rolesHeld(projectId);
    expect(held.filter(({ key }) => key === "admin")).toEqual([]);
    expect(held.filter(({ version, facts }) => version !== facts)).toEqual([]);
  }
});

test("a role that is removed while grants are changed to it stays in no grant", async () => {
  for (let round = 0; round < 5; round++) {
    const projectId = await newProject(["admin", "user"]);
    const items = users.map((userId) => ({ userId, projectId, roleKeys: ["user"] }));
    const { body } = await postern.admin.post("/v1/user-grants:batchAdd", { items, allOrNothing: true });
    const changes = body.outcomes.map(async (outcome: { added: { userGrantId: string } }) => {
      await soon();
      const path = `/v1/user-grants/${outcome.added.userGrantId}`;
      return statusOf(await postern.admin.put(path, { roleKeys: ["admin", "user"] }));
    });
    await soon();
    expect((await postern.admin.delete(`/v1/projects/${projectId}/roles/admin`)).status).toBe(200);
    expect(new Set(["ok", "ROLE_UNKNOWN", ...(await Promise.all(changes))]).size).toBe(2);
    expect((await rolesHeld(projectId)).filter(({ key }) => key === "admin")).toEqual([]);
  }
});

test("roles that are added at the same time are all there, and one that is taken beside them is not", async () => {
  const keys = ["a", "b", "c", "d", "e", "f"];
  for (const userId of users.slice(0, 5)) {
    const projectId = await newProject([...keys, "gone"]);
    const { userGrantId } = (await add(userId, { projectId, roleKeys: ["gone"] })).body;
    const change = async (verb: string, key: string) => {
      for (;;) {
        const answer = await postern.admin.post(`/v1/user-grants/${userGrantId}:${verb}`, { roleKeys: [key] });
        if (statusOf(answer) !== "CONFLICT") return statusOf(answer);
      }
    };
    const ended = await Promise.all([...keys.map((key) => change("addRoles", key)), change("removeRoles", "gone")]);
    expect(new Set(ended)).toEqual(new Set(["ok"]));
    expect((await rolesHeld(projectId)).map(({ key }) => key).toSorted()).toEqual(keys);
  }
});

test("a project that is deleted while it is being granted leaves no grant", async () => {
  for (let round = 0; round < 8; round++) {
    const projectId = await newProject(["a", "b", "c"]);
    const adds = users.map(async (userId) => {
      await soon();
      return statusOf(await add(userId, { projectId, roleKeys: shuffled(["a", "b", "c"]) }));
    });
    await soon();
    expect(statusOf(await postern.admin.delete(`/v1/projects/${projectId}`))).toBe("ok");
    expect(new Set(["ok", "PROJECT_NOT_FOUND", ...(await Promise.all(adds))]).size).toBe(2);
    expect(await sql`select 1 from user_grants where project_id = ${projectId}`).toHaveLength(0);
  }
});

test("a user that is deleted while it is being granted leaves no grant", async () => {
  const projects = await Promise.all(Array.from({ length: 8 }, () => newProject(["user"])));
  for (let round = 0; round < 5; round++) {
    const { userId } = await machine(postern);
    const adds = projects.map(async (projectId) => {
      await soon();
      return statusOf(await add(userId, { projectId, roleKeys: ["user"] }));
    });
    await soon();
    expect(statusOf(await postern.admin.delete(`/v1/users/${userId}`))).toBe("ok");
    expect(new Set(["ok", "USER_NOT_FOUND", ...(await Promise.all(adds))]).size).toBe(2);
    expect(await sql`select 1 from user_grants where user_id = ${userId}`).toHaveLength(0);
  }
});

test("of many equal additions one wins, and the others name it", async () => {
  const projectId = await newProject(["user"]);
  for (const userId of users) {
    const answers = await Promise.all(Array.from({ length: 6 }, () => add(userId, { projectId, roleKeys: ["user"] })));
    expect(answers.map(statusOf).toSorted()).toEqual([
      "USER_GRANT_EXISTS",
      "USER_GRANT_EXISTS",
      "USER_GRANT_EXISTS",
      "USER_GRANT_EXISTS",
      "USER_GRANT_EXISTS",
      "ok",
    ]);
    const won = answers.find(({ status }) => status === 200)?.body.userGrantId;
    for (const { status, body } of answers) if (status !== 200) expect(body.details[0].metadata.userGrantId).toBe(won);
  }
});

test("batches that want the same grants in different orders each have an outcome for every item", async () => {
  for (let round = 0; round < 5; round++) {
    const projectId = await newProject(["user"]);
    const batches = await Promise.all(
      Array.from({ length: 4 }, (_, n) => {
        const items = shuffled(users).map((userId) => ({ userId, projectId, roleKeys: ["user"] }));
        const key = { "idempotency-key": `${projectId}-${n}` };
        const ask = () => postern.admin.post("/v1/user-grants:batchAdd", { items }, key);
        return ask().then(async (first) => ({ first, again: await ask() }));
      }),
    );
    const outcomes = batches.flatMap(({ first }) => first.body.outcomes);
    expect(outcomes).toHaveLength(4 * users.length);
    expect(outcomes.filter(({ added }) => added)).toHaveLength(users.length);
    for (const { first, again } of batches) expect(again.body).toEqual(first.body);
  }
});

test("removing a role takes it out of ten thousand grants, a batch at a time, as facts", async () => {
  const projectId = await newProject(["admin", "user"]);
  await grantTenThousand(projectId);
  const removed = await postern.admin.delete(`/v1/projects/${projectId}/roles/admin`);
  expect(removed.status).toBe(200);
  expect(await ended(removed.body.jobId)).toBe("JOB_STATE_ENDED");
  const [counted] = await sql`
    select count(*)::int as grants, count(*) filter (where version = 2)::int as newer,
      (select count(*)::int from user_grant_roles where project_id = ${projectId} and role_key = 'admin') as stale,
      (select count(*)::int from user_grant_roles where project_id = ${projectId}) as roles,
      (select max(n) from (select count(*)::int as n from events e join user_grants g on g.user_grant_id = e.stream
       where g.project_id = ${projectId} and e.version = 2 group by e.xid) statement) <= 1000 as "isInBatches"
    from user_grants where project_id = ${projectId}`;
  expect(counted).toEqual({ grants: 10_000, newer: 10_000, stale: 0, roles: 10_000, isInBatches: true });
  const deleted = await postern.admin.delete(`/v1/projects/${projectId}`);
  expect(deleted.status).toBe(200);
  expect(await ended(deleted.body.jobId)).toBe("JOB_STATE_ENDED");
  expect(await sql`select 1 from user_grants where project_id = ${projectId}`).toHaveLength(0);
});

const ended = async (jobId: string) =>
  (await postern.admin.get(`/v1/jobs/${jobId}:wait?timeoutSeconds=50`)).body.job?.state;

/** Facts and rows as the service would have written them. */
async function grantTenThousand(projectId: string): Promise<void> {
  const owner = postern.organizationId;
  await sql`
    with numbers as (select i, ${`${projectId}-`} || i as id from generate_series(1, 10000) i),
    people as (
      insert into users (owner, user_id, kind, username, name, version, created, changed)
      select ${owner}, id, 'machine', id, id, 1, now(), now() from numbers),
    facts as (
      insert into events (owner, stream, version, type, payload, request_id, time)
      select ${owner}, 'grant-' || id, 1, 'user_grant.added', jsonb_build_object(
        'userId', id, 'projectId', ${projectId}::text, 'roleKeys', jsonb_build_array('admin', 'user')), 'bulk', now()
      from numbers),
    grants as (
      insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
      select ${owner}, 'grant-' || id, id, ${projectId}, 1, now(), now() from numbers)
    insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
    select ${owner}, 'grant-' || id, ${projectId}, key from numbers cross join unnest(array['admin', 'user']) key`;
}
