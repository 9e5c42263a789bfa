import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { percentile, round } from "../packages/gateway/bench/stats.ts";
import { statementFor } from "../src/events/fold.ts";
import { planning } from "../src/postgres/pool/connect.ts";
import { folds } from "../src/runtime/modules.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { idOf, role } from "../test/fixture/seed.ts";
import { cpuSecondsOfFamily } from "./hostile/process.ts";
import { loaded } from "./loaded.ts";
import { makeFolder, postmasterOf, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";
import { outsiderOf, post } from "./users.ts";

const megabyte = 1024 * 1024;
const project = idOf("project", 0);
const organization = "Load";

/** What ends with all that hangs on it: the path of the call, and the fact by which one statement ended it before there were jobs. */
type Work = {
  readonly subject: string;
  readonly pathIn: (organizationId: string) => string;
  readonly fact?: { readonly type: string; readonly payload: object };
};

const works: readonly Work[] = [
  {
    subject: "a role that all users hold is removed",
    pathIn: () => `/v1/projects/${project}/roles/${role}`,
    fact: { type: "project.role_removed", payload: { key: role } },
  },
  {
    subject: "the project of all grants is deleted",
    pathIn: () => `/v1/projects/${project}`,
    fact: { type: "project.deleted", payload: {} },
  },
  // One statement did so in hours, and none can any more.
  { subject: "the organization of all users is deleted", pathIn: (id) => `/v1/organizations/${id}` },
];

const ways = [
  { who: "one statement", end: byStatement, ends: works.filter(({ fact }) => fact) },
  { who: "call and job", end: byCall, ends: works },
];

/**
 * Removes a role that every user holds and deletes the project of their grants, in one statement each and by calls whose jobs do it in
 * batches; then deletes the organization of the users. Both ways have the same tables, and a service that numbers and follows the events. Somebody in another
 * organization calls and watches meanwhile.
 */
export async function cascade(users: number, kept?: string): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  const name = `apart_${users}`;
  await loaded(folder.path, [{ name, users, grantsEach: 1, changesEach: 0, organization }]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  const rows: Row[] = [];
  const alone = new Map<string, number>();
  for (const { who, end, ends } of ways) {
    const copy = `${name}_run`;
    await databases.drop(copy);
    await using system = await startSystem(databases, copy, { like: name, settings: { DEADLINE_MAX_MS: "600000" } });
    const at = { ...system, organizationId: await organizationIn(system) };
    await using bystander = await bystanderOf(system);
    const idle = await bystander.during(() => pause(idleMs));
    for (const work of ends) {
      const { cpu, ...figures } = await measured(at, { bystander, idle, end: () => end(at, work) });
      const one = alone.get(work.subject) ?? cpu;
      alone.set(work.subject, one);
      const costs = { "database CPU s": round(cpu), ...(work.fact && { "x one statement": round(cpu / one) }) };
      const goals =
        who === "one statement" ? {} : { "x one statement": { most: 1.2 }, "GetMe's p99 x idle": { most: 3 } };
      rows.push({ ...row(work.subject, who, { ...costs, ...figures }), goals });
    }
    rows.push(await leftIn(system, who));
  }
  return rows;
}

/** The organization that was filled. */
async function organizationIn({ databaseUrl }: SystemUnderTest): Promise<string> {
  await using sql = openClient(databaseUrl);
  const [found] = await sql.client`select organization_id as id from organizations where name = ${organization}`;
  return String(found?.id);
}

async function leftIn({ databaseUrl }: SystemUnderTest, who: string): Promise<Row> {
  await using sql = openClient(databaseUrl);
  const [left] = await sql.client`
    select (select count(*)::int from user_grants) as grants, (select count(*)::int from user_grant_roles) as roles,
      (select count(*)::int from all_users where user_id ^@ ${idOf("user", 0).slice(0, 4)}) as users`;
  const goals = { grants: { most: 0 }, roles: { most: 0 }, ...(who === "call and job" && { users: { most: 0 } }) };
  return { ...row("left", who, left ?? {}), goals };
}

type Ended = { readonly "answered after s"?: number };

type Measured = { readonly bystander: Bystander; readonly idle: Seen; readonly end: () => Promise<Ended> };

/** Measures the service while something ends: the CPU of the database, the most memory, and what another organization notices. */
async function measured({ server, databaseUrl }: SystemUnderTest, { bystander, idle, end }: Measured) {
  await using sql = openClient(databaseUrl);
  const postmaster = await postmasterOf(databaseUrl);
  const count = async () => Number((await sql.client`select count(*) as count from events`)[0]?.count);
  const before = await count();
  // What was loaded is numbered first.
  await rested(postmaster);
  const cpuBefore = await cpuSecondsOfFamily(postmaster);
  const began = performance.now();
  let ended: Ended = {};
  let took = 0;
  const rss: number[] = [];
  const seen = await bystander.during(
    async () => {
      ended = await end();
      took = performance.now() - began;
    },
    async () => void rss.push((await server.usage()).rss),
  );
  await rested(postmaster);
  return {
    cpu: (await cpuSecondsOfFamily(postmaster)) - cpuBefore,
    ...ended,
    "done after s": round(took / 1000),
    events: (await count()) - before,
    "RSS MB": round(most(rss) / megabyte),
    "GetMe at most ms": round(most(seen.answered)),
    "GetMe's p99 ms": round(percentile(seen.answered, 0.99)),
    "GetMe's p99 x idle": round(percentile(seen.answered, 0.99) / percentile(idle.answered, 0.99)),
    "an event heard after at most ms": round(most(seen.heard)),
  };
}

const most = (values: readonly number[]) => values.reduce((one, other) => Math.max(one, other), 0);

const idleMs = 10_000;

const headersOf = (token: string) => ({ authorization: `Bearer ${token}` });

/** Ends something as it was before there were jobs: one statement appends the fact with all that follows from it. */
async function byStatement({ databaseUrl }: SystemUnderTest, { fact }: Work): Promise<Ended> {
  if (!fact) return {};
  await using opened = openClient(databaseUrl);
  const sql = opened.client;
  for (const [name, value] of Object.entries(planning)) await sql.unsafe(`set ${name} = ${value}`);
  const [at] = await sql`
    select 0 as n, owner, project_id as stream, (version + 1)::text as version from projects where project_id = ${project}`;
  const by = { actor: null, request_id: "cascade", origin: null, time: new Date().toISOString() };
  await sql.unsafe(statementFor([fact.type], folds), [JSON.stringify([{ ...at, ...fact, secret: null, ...by }])]);
  return {};
}

async function byCall({ server, token, organizationId }: SystemUnderTest, { pathIn }: Work): Promise<Ended> {
  const headers = { ...headersOf(token), "x-service-orgid": organizationId };
  const began = performance.now();
  const answer = await fetch(server.url + pathIn(organizationId), { method: "DELETE", headers });
  const answered = performance.now() - began;
  if (!answer.ok) throw new Error(await answer.text());
  const { jobId } = (await answer.json()) as { jobId?: string };
  if (jobId) await ended(`${server.url}/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`, headers);
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

/** How long each call took, in milliseconds, and how long after its call was answered each event was heard. */
type Seen = { readonly answered: number[]; readonly heard: number[] };

/** Somebody in another organization. */
type Bystander = AsyncDisposable & {
  readonly during: (work: () => Promise<unknown>, look?: () => Promise<void>) => Promise<Seen>;
};

/** Asks who it is fifty times a second, makes a project a second, and watches the events of its organization. */
async function bystanderOf(system: SystemUnderTest): Promise<Bystander> {
  const { url } = system.server;
  const token = await outsiderOf(system);
  // The stream may be faster than the response.
  const [heardAt, hearings] = [new Map<string, number>(), new Map<string, (at: number) => void>()];
  const over = new AbortController();
  const stream = await fetch(`${url}/v1/events:watch?types=project.created`, {
    headers: { ...headersOf(token), accept: "application/x-ndjson" },
    signal: over.signal,
  });
  const watched = listen(stream, (objectId) => {
    heardAt.set(objectId, performance.now());
    hearings.get(objectId)?.(performance.now());
  }).catch(() => {});
  return {
    async during(work, look = async () => {}) {
      const seen: Seen = { answered: [], heard: [] };
      const expected: Promise<unknown>[] = [];
      let isDone = false;
      const asking = repeated(20, async () => {
        const asked = performance.now();
        const answer = await fetch(`${url}/v1/users/me`, { headers: headersOf(token) });
        if (!answer.ok) throw new Error(await answer.text());
        await answer.arrayBuffer();
        seen.answered.push(performance.now() - asked);
        await look();
        return isDone;
      });
      const making = repeated(1000, async () => {
        const { projectId } = await post(url, "/v1/projects", { body: { name: randomUUID() }, token });
        const [id, answered] = [String(projectId), performance.now()];
        const { promise, resolve } = Promise.withResolvers<number>();
        hearings.set(id, resolve);
        const known = heardAt.get(id);
        if (known !== undefined) resolve(known);
        const heard = promise.then((at) => seen.heard.push(Math.max(0, at - answered)));
        expected.push(Promise.race([heard, watched.then(() => Promise.reject(new Error("the stream has ended")))]));
        return isDone;
      });
      const working = work().finally(() => {
        isDone = true;
      });
      await Promise.all([working, asking, making]);
      await Promise.all(expected);
      return seen;
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await watched;
    },
  };
}

/** Tells the object of each event of a stream. */
async function listen(stream: Response, heard: (objectId: string) => void): Promise<void> {
  let rest = "";
  for await (const text of (stream.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) heard(JSON.parse(line).event.objectId);
  }
}

/** Works until it returns true, with a pause after each time. */
async function repeated(everyMs: number, work: () => Promise<boolean>): Promise<void> {
  while (!(await work())) await pause(everyMs);
}
