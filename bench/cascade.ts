import { setTimeout as pause } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { statementFor } from "../src/events/fold.ts";
import { planning } from "../src/postgres/pool/connect.ts";
import { folds } from "../src/runtime/modules.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { idOf, role } from "../test/fixture/seed.ts";
import { cpuSecondsOfFamily } from "./hostile/process.ts";
import { loaded } from "./loaded.ts";
import { makeFolder, postmasterOf, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const megabyte = 1024 * 1024;
const project = idOf("project", 0);

/** The fact that ends something with all that hangs on it, and the path of the call that appends it. */
type Work = { readonly subject: string; readonly type: string; readonly payload: object; readonly path: string };

const works: readonly Work[] = [
  {
    subject: "a role that all users hold is removed",
    type: "project.role_removed",
    payload: { key: role },
    path: `/roles/${role}`,
  },
  { subject: "the project of all grants is deleted", type: "project.deleted", payload: {}, path: "" },
];

const ways = [
  { who: "one statement", end: byStatement },
  { who: "call and job", end: byCall },
];

/**
 * Removes a role that every user holds, then deletes the project of their grants: in one statement each, and by calls whose jobs do it in
 * batches. Both have the same tables, and a service that numbers and follows the events.
 */
export async function cascade(users: number, kept?: string): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  const name = `grants_${users}`;
  await loaded(folder.path, [{ name, users, grantsEach: 1, changesEach: 0 }]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  const rows: Row[] = [];
  const alone = new Map<string, number>();
  for (const { who, end } of ways) {
    const copy = `${name}_run`;
    await databases.drop(copy);
    await using system = await startSystem(databases, copy, { like: name, settings: { DEADLINE_MAX_MS: "600000" } });
    for (const work of works) {
      const { cpu, ...figures } = await measured(system, () => end(system, work));
      const one = alone.get(work.subject) ?? cpu;
      alone.set(work.subject, one);
      const costs = { "database CPU s": round(cpu), "x one statement": round(cpu / one) };
      rows.push({ ...row(work.subject, who, { ...costs, ...figures }), goals: { "x one statement": { most: 1.2 } } });
    }
    rows.push(await leftIn(system, who));
  }
  return rows;
}

async function leftIn({ databaseUrl }: SystemUnderTest, who: string): Promise<Row> {
  await using sql = openClient(databaseUrl);
  const [left] = await sql.client`
    select (select count(*)::int from user_grants) as grants, (select count(*)::int from user_grant_roles) as roles`;
  return { ...row("left", who, left ?? {}), goals: { grants: { most: 0 }, roles: { most: 0 } } };
}

type Ended = { readonly "answered after s"?: number };

/** Measures the service while something ends: the CPU of the database, the most memory, and the longest answer to another caller. */
async function measured({ server, token, databaseUrl }: SystemUnderTest, end: () => Promise<Ended>) {
  await using sql = openClient(databaseUrl);
  const postmaster = await postmasterOf(databaseUrl);
  const count = async () => Number((await sql.client`select count(*) as count from events`)[0]?.count);
  const before = await count();
  // What was loaded is numbered first.
  await rested(postmaster);
  const cpuBefore = await cpuSecondsOfFamily(postmaster);
  const over = new AbortController();
  const watched = watch(over.signal, async () => {
    const asked = performance.now();
    await (await fetch(`${server.url}/v1/users/me`, { headers: headersOf(token) })).arrayBuffer();
    return { took: performance.now() - asked, rss: (await server.usage()).rss };
  });
  const began = performance.now();
  const ended = await end();
  const took = performance.now() - began;
  await rested(postmaster);
  const cpu = (await cpuSecondsOfFamily(postmaster)) - cpuBefore;
  over.abort();
  const seen = await watched;
  return {
    cpu,
    ...ended,
    "done after s": round(took / 1000),
    events: (await count()) - before,
    "RSS MB": round(Math.max(...seen.map(({ rss }) => rss)) / megabyte),
    "GetMe at most ms": round(Math.max(...seen.map((one) => one.took))),
  };
}

const headersOf = (token: string) => ({ authorization: `Bearer ${token}` });

/** Ends something as it was before there were jobs: one statement appends the fact with all that follows from it. */
async function byStatement({ databaseUrl }: SystemUnderTest, { type, payload }: Work): Promise<Ended> {
  await using opened = openClient(databaseUrl);
  const sql = opened.client;
  for (const [name, value] of Object.entries(planning)) await sql.unsafe(`set ${name} = ${value}`);
  const [at] = await sql`
    select 0 as n, owner, project_id as stream, (version + 1)::text as version from projects where project_id = ${project}`;
  const by = { actor: null, request_id: "cascade", origin: null, time: new Date().toISOString() };
  await sql.unsafe(statementFor([type], folds), [JSON.stringify([{ ...at, type, payload, secret: null, ...by }])]);
  return {};
}

async function byCall({ server, token }: SystemUnderTest, { path }: Work): Promise<Ended> {
  const headers = headersOf(token);
  const began = performance.now();
  const answer = await fetch(`${server.url}/v1/projects/${project}${path}`, { method: "DELETE", headers });
  const answered = performance.now() - began;
  if (!answer.ok) throw new Error(await answer.text());
  const { jobId } = (await answer.json()) as { jobId?: string };
  if (jobId) await ended(`${server.url}/v1/jobs/${jobId}:wait?timeoutSeconds=50`, headers);
  return { "answered after s": round(answered / 1000) };
}

async function ended(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (;;) {
    const { job } = (await (await fetch(url, { headers })).json()) as { job: { state: string } };
    if (job.state === "JOB_STATE_ENDED") return;
  }
}

// An idle service asks for less.
const idleSeconds = 0.05;

/** Waits until the database does no more than an idle service asks for: events are numbered and read soon after they are written. */
async function rested(postmaster: number): Promise<void> {
  for (let before = Number.NEGATIVE_INFINITY; ; ) {
    const now = await cpuSecondsOfFamily(postmaster);
    if (now - before < idleSeconds) return;
    before = now;
    await pause(1000);
  }
}

async function watch<T>(signal: AbortSignal, look: () => Promise<T>): Promise<T[]> {
  const seen: T[] = [];
  while (!signal.aborted) {
    seen.push(await look());
    await pause(50);
  }
  return seen;
}
