import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../../../src/config/logger.ts";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { openRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { newToken } from "../../../src/security/token.ts";
import { dueErasures } from "../../../src/services/users/erasure.ts";
import { oneConnection } from "../../events/log_of.ts";
import { openClient } from "../../fixture/database_client.ts";
import { heldJobs } from "../../fixture/many_holders.ts";
import { newEraser } from "../../fixture/organization.ts";
import { everyRow, word } from "../../fixture/person.ts";
import { type Answer, type Client, machine, organization, type Postern, startPostern } from "../../harness.ts";

const settings = { trustedProxies: ["127.0.0.1"], masterKeys: [randomBytes(32)], adminToken: newToken("pt") };

let postern: Postern;
let runtime: Runtime;
let organizationId: string;
/** An owner of an organization that gives no time to restore. */
let owner: Client;
beforeAll(async () => {
  postern = await startPostern(settings);
  runtime = await openRuntime(postern.config, { logger: createLogger(postern.config), join: true });
  organizationId = await organization(postern);
  owner = await newEraser(postern, organizationId);
  await restoreDays(0);
});
afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const within = () => ({ "x-service-orgid": organizationId });
const restoreDays = async (days: number) =>
  done(await postern.admin.put("/v1/policies/privacy", { policy: { restoreDays: days } }, within()));
const endOf = async (jobId: string) =>
  expect(done(await postern.admin.get(`/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`)).job).toMatchObject({
    state: "JOB_STATE_ENDED",
  });

const rowsWith = async (text: string) => (await everyRow(postern.databaseUrl)).filter(({ row }) => row.includes(text));

async function isReplayed() {
  await using client = oneConnection(postern.databaseUrl);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
}

/** The statement that writes an attempt about a user, as a node does a moment after it. */
const attempt = (userId: string, agent: string) => `
  insert into events (owner, stream, version, type, payload, request_id, origin, time)
  values ('${organizationId}', '${crypto.randomUUID()}', 1, 'attempt.password_refused', '{"userId": "${userId}"}', 'late',
    '{"address": "203.0.113.9", "userAgent": "${agent}"}', date_trunc('milliseconds', now()) - interval '1 minute')`;

test("attempts that are written while a user is erased, or later, do not say from where", async () => {
  const [early, inFlight, late] = [word(), word(), word()];
  const { userId } = await machine(postern, { organizationId });
  await using writer = openClient(postern.databaseUrl);
  await using other = openClient(postern.databaseUrl);
  await writer.client.unsafe(attempt(userId, early));
  expect(await rowsWith(early)).toHaveLength(1);
  await writer.client.unsafe(`begin; ${attempt(userId, inFlight)}`);
  const { jobId } = done(await owner.post(`/v1/users/${userId}:erase`));
  // The job waits for what is being written, and whatever comes after waits for the job; others do not.
  const locks = () => other.client`
    select from pg_locks join pg_stat_activity using (pid)
    where datname = current_database() and locktype = 'advisory' and mode = 'ExclusiveLock' and not granted`;
  const isWaiting = async () =>
    (await locks()).length > 0 ||
    done(await postern.admin.get(`/v1/jobs/${jobId}`, within())).job.state === "JOB_STATE_ENDED";
  await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true);
  const { userId: bystander } = await machine(postern, { organizationId });
  await other.client.unsafe(attempt(bystander, "bystander"));
  const behind = other.client.unsafe(attempt(userId, late));
  await writer.client.unsafe("commit");
  await behind;
  await endOf(jobId);
  await writer.client.unsafe(attempt(userId, late));
  for (const agent of [early, inFlight, late]) expect([agent, await rowsWith(agent)]).toEqual([agent, []]);
  expect(await rowsWith("bystander")).toHaveLength(1);
  const { events } = done(await postern.admin.get(`/v1/events?aboutUserId=${userId}&instance=true`));
  const attempts = events.filter(({ type }: { type: string }) => type.startsWith("attempt."));
  expect(attempts).toHaveLength(4);
  await isReplayed();

  // As the retention policy leaves it: without the events that tell of the erasure.
  await writer.client.unsafe(`set session_replication_role = replica; delete from events where stream = '${userId}';
    set session_replication_role = origin; insert into burned_ids (id) values ('${userId}')`);
  await writer.client.unsafe(attempt(userId, late));
  expect(await rowsWith(late)).toEqual([]);
});

test("whoever wins, a user who is restored when the time is over is either there, or erased as a whole", async () => {
  await restoreDays(1);
  const clock = () => new Date(Date.now() + 2 * 86_400_000);
  const chore = dueErasures({ ...runtime.deps, clock });
  for (let round = 0; round < 6; round++) {
    const { userId, username } = await machine(postern, { organizationId });
    done(await owner.post(`/v1/users/${userId}:erase`));
    const [restored] = await Promise.all([owner.post(`/v1/users/${userId}:restore`), chore.batch(100)]);
    const { jobs } = done(await postern.admin.get("/v1/jobs?pageSize=1000", within()));
    const job = jobs.find(({ objectId }: { objectId: string }) => objectId === userId);
    if (job) await endOf(job.id);
    const reason = restored.body.details?.[0]?.reason ?? "";
    expect([job !== undefined, restored.status, reason, (await rowsWith(username)).length > 0]).toEqual(
      job ? [true, 400, "ERASURE_NOT_SCHEDULED", false] : [false, 200, "", true],
    );
  }
  await restoreDays(0);
  await isReplayed();
}, 120_000);

type Plan = readonly { "QUERY PLAN": readonly { Plan: Readonly<Record<string, number>> }[] }[];

test("a batch costs as much as it erases, however many events the user has, and nobody else waits", async () => {
  const { userId } = await machine(postern, { organizationId });
  const { userId: other } = await machine(postern, { organizationId });
  const name = word();
  await using database = openClient(postern.databaseUrl);
  const { client: sql } = database;
  const of = (id: string, count: number) => sql`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select owner, stream, version + i, 'user.machine_changed', jsonb_build_object('name', ${name}::text), 'many',
      date_trunc('milliseconds', now()) - make_interval(secs => ${count} - i)
    from events cross join generate_series(1, ${count}) i where stream = ${id} and version = 1`;
  const blocksOf = async (id: string, count: number) => {
    await of(id, count);
    await sql`update users set version = ${count + 1}, name = ${name} where user_id = ${id}`;
    await sql`analyze events`;
    await using held = await heldJobs(postern);
    const { jobId } = done(await owner.post(`/v1/users/${id}:erase`));
    await sql.unsafe("begin");
    // What it reads, and then what it changes.
    const [row] = (await sql`
      explain (analyze, buffers, format json) select * from erase_events(${id}, '{}', null, 100)`) as unknown as Plan;
    const personal = JSON.stringify({ "user.machine_changed": ["name"] });
    await sql`select * from erase_events(${id}, ${personal}::text::jsonb, null, 100)`;
    // The rows are locked, and others go on writing and erasing.
    done(await postern.admin.post("/v1/users/machine", { username: word(), name: "Robot" }, within()));
    done(await postern.admin.get(`/v1/events?aboutUserId=${id}&pageSize=100`, within()));
    await sql.unsafe("rollback");
    await held[Symbol.asyncDispose]();
    await endOf(jobId);
    const { "Shared Hit Blocks": hit = 0, "Shared Read Blocks": read = 0 } = row?.["QUERY PLAN"][0]?.Plan ?? {};
    return hit + read;
  };
  const few = await blocksOf(other, 300);
  const many = await blocksOf(userId, 6_000);
  expect(few).toBeGreaterThan(0);
  expect([few, many]).toEqual([few, Math.min(many, 2 * few)]);
  expect(await rowsWith(name)).toEqual([]);
  await isReplayed();
}, 240_000);
