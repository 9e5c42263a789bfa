import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../fixture/database_client.ts";
import { holdStatement } from "../fixture/held_row.ts";
import { type Answer, machine, organization, type Postern, signedUp, startPostern } from "../harness.ts";

// Statements that wait for a row wait for longer than any of these tests takes, so that nobody is served because others gave up.
let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ databaseConnections: 8, databaseStatementTimeoutMs: 600_000 });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const header = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** An organization with a project, and an owner of it who calls. */
async function tenant() {
  const organizationId = await organization(postern);
  const { userId, client } = await machine(postern, { organizationId });
  const member = { userId, roles: ["ORG_OWNER"] };
  expect((await postern.admin.post("/v1/members", member, header(organizationId))).status).toBe(200);
  const project = await client.post("/v1/projects", { name: "Shop" });
  const projectId: string = project.body.projectId;
  expect((await client.post(`/v1/projects/${projectId}/roles`, { key: "reader" })).status).toBe(200);
  return { organizationId, projectId, client };
}

type Tenant = Awaited<ReturnType<typeof tenant>>;

async function usersOf({ client }: Tenant, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, (_, n) => ({ human: human(`person${n}`) }));
  const made = await client.post("/v1/users:batchCreate", { items });
  return made.body.outcomes.map((outcome: { created: { userId: string } }) => outcome.created.userId);
}

let made = 0;
const human = (name: string) => ({
  username: `${name}-${++made}`,
  givenName: "Ada",
  familyName: "Byron",
  email: `${name}-${made}@example.com`,
});

const deactivate = ({ client }: Tenant, userId: string) => client.post(`/v1/users/${userId}:deactivate`);
const grant = ({ client, projectId }: Tenant, userId: string) =>
  client.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] });
const rename = ({ client }: Tenant, userId: string) =>
  client.call("PATCH", `/v1/users/${userId}/human`, { givenName: "Augusta" });

const remove = ({ client }: Tenant, userId: string) => client.delete(`/v1/users/${userId}`);

/** Makes calls of a tenant while the rows of its users are locked, until some wait for locks; they wait until this is disposed. */
async function stuck(of: Tenant, calls: () => readonly Promise<Answer>[], some = 3) {
  await using opened = new AsyncDisposableStack();
  const where = `where owner = '${of.organizationId}'`;
  const held = await holdStatement(postern.databaseUrl, `select from all_users ${where} for update`);
  const ended = Promise.allSettled(calls());
  opened.defer(async () => {
    await held[Symbol.asyncDispose]();
    await ended;
  });
  const { client: sql } = opened.use(openClient(postern.databaseUrl));
  const waiting = async () => {
    const [row] = await sql`select count(*)::integer as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return row?.n;
  };
  await expect.poll(waiting).toBeGreaterThanOrEqual(some);
  // Until all of these calls have come as far as they get.
  let last = -1;
  for (let now = await waiting(); now !== last; now = await waiting()) {
    last = now;
    await sleep(500);
  }
  return opened.move();
}

/** What another organization does meanwhile: the four operations, reads, and whatever ends a stolen account. */
async function doesItsWork(of: Tenant, users: readonly string[]) {
  const { client, projectId, organizationId } = of;
  const person = await signedUp(postern, { organizationId });
  const [first = "", second = ""] = users;
  const change = { oldPassword: person.password, newPassword: "Red-Kettle-43" };
  const application = { name: "Web", redirectUris: ["https://shop.example.com/callback"] };
  const answers = [
    await person.client.put("/v1/users/me/password", change),
    await client.post(`/v1/projects/${projectId}/applications/oidc`, application),
    await client.post(`/v1/users/${first}/phone`, { phone: "+41791234567", returnCode: {} }),
    await grant(of, first),
    await client.get(`/v1/users/${first}`),
    await client.get("/v1/users?pageSize=10"),
    await client.get(`/v1/users/${first}/grants`),
    await rename(of, first),
    await deactivate(of, second),
    await client.delete(`/v1/users/${second}`),
  ];
  const failed = answers.filter(({ status }) => status !== 200);
  expect(failed.map(({ status, body }) => [status, body])).toEqual([]);
}

test.each([36, 500])("%i deactivations that wait for a row keep no neighbour waiting", async (count) => {
  const [busy, neighbour] = [await tenant(), await tenant()];
  const [theirs, ours] = [await usersOf(busy, count), await usersOf(neighbour, 2)];
  await using _ = await stuck(busy, () => theirs.map((userId) => deactivate(busy, userId)));
  await doesItsWork(neighbour, ours);
});

test("calls of two organizations that wait for rows keep no other waiting, however many they are and of whatever kind", async () => {
  const [busy, alsoBusy, neighbour] = [await tenant(), await tenant(), await tenant()];
  const callsOf = (of: Tenant, users: readonly string[]) => () =>
    users.flatMap((userId) => [deactivate, grant, rename, remove].map((call) => call(of, userId)));
  const [theirs, others, ours] = [await usersOf(busy, 100), await usersOf(alsoBusy, 100), await usersOf(neighbour, 2)];
  await using _ = await stuck(busy, callsOf(busy, theirs));
  await using __ = await stuck(alsoBusy, callsOf(alsoBusy, others));
  await doesItsWork(neighbour, ours);
});

test("deletions of two organizations, which wait for rows and hold all connections for long statements, keep no other waiting", async () => {
  const [busy, alsoBusy, neighbour] = [await tenant(), await tenant(), await tenant()];
  const removals = (of: Tenant, users: readonly string[]) => () => users.map((userId) => remove(of, userId));
  const [theirs, others, ours] = [await usersOf(busy, 4), await usersOf(alsoBusy, 4), await usersOf(neighbour, 2)];
  await using _ = await stuck(busy, removals(busy, theirs), 1);
  await using __ = await stuck(alsoBusy, removals(alsoBusy, others), 2);
  await doesItsWork(neighbour, ours);
});
