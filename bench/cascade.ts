import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { idOf, role } from "../test/fixture/seed.ts";
import { cpuSecondsOfFamily } from "./hostile/process.ts";
import { loaded } from "./loaded.ts";
import { makeFolder, postmasterOf, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const megabyte = 1024 * 1024;

/** Removes a role that every user holds, then deletes the project of their grants; waits until their jobs have ended. */
export async function cascade(users: number, kept?: string): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  const name = `grants_${users}`;
  await loaded(folder.path, [{ name, users, grantsEach: 1, changesEach: 0 }]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  const copy = `${name}_run`;
  await databases.drop(copy);
  await using system = await startSystem(databases, copy, { like: name, settings: { DEADLINE_MAX_MS: "600000" } });
  const project = `/v1/projects/${idOf("project", 0)}`;
  const idle = await system.server.usage();
  const rows = [
    row("idle", "service", { "RSS MB": round(idle.rss / megabyte) }),
    await timed(system, `a role of ${users} grants is removed`, `${project}/roles/${role}`),
    await timed(system, `a project with ${users} grants is deleted`, project),
  ];
  await using sql = openClient(system.databaseUrl);
  const [left] = await sql.client`
    select (select count(*)::int from user_grants) as grants, (select count(*)::int from user_grant_roles) as roles`;
  return [...rows, { ...row("left", "tables", left ?? {}), goals: { grants: { most: 0 }, roles: { most: 0 } } }];
}

/** Makes one long call, and measures the service meanwhile: the most memory, and the longest answer to another caller. */
async function timed({ server, token, databaseUrl }: SystemUnderTest, subject: string, path: string): Promise<Row> {
  await using sql = openClient(databaseUrl);
  const postmaster = await postmasterOf(databaseUrl);
  const count = async () => Number((await sql.client`select count(*) as count from events`)[0]?.count);
  const before = await count();
  const headers = { authorization: `Bearer ${token}` };
  const cpuBefore = await cpuSecondsOfFamily(postmaster);
  const began = performance.now();
  const over = new AbortController();
  const watched = watch(over.signal, async () => {
    const asked = performance.now();
    await (await fetch(`${server.url}/v1/users/me`, { headers })).arrayBuffer();
    return { took: performance.now() - asked, rss: (await server.usage()).rss };
  });
  const answer = await fetch(server.url + path, { method: "DELETE", headers });
  const answered = performance.now() - began;
  const { jobId } = (await answer.clone().json()) as { jobId?: string };
  if (jobId) await ended(`${server.url}/v1/jobs/${jobId}:wait?timeoutSeconds=50`, headers);
  const took = performance.now() - began;
  const cpu = (await cpuSecondsOfFamily(postmaster)) - cpuBefore;
  over.abort();
  const seen = await watched;
  if (!answer.ok) throw new Error(await answer.text());
  return row(subject, "service", {
    "answered after s": round(answered / 1000),
    "done after s": round(took / 1000),
    "database CPU s": round(cpu),
    events: (await count()) - before,
    "RSS MB": round(Math.max(...seen.map(({ rss }) => rss)) / megabyte),
    "GetMe at most ms": round(Math.max(...seen.map((one) => one.took))),
  });
}

async function ended(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (;;) {
    const { job } = (await (await fetch(url, { headers })).json()) as { job: { state: string } };
    if (job.state === "JOB_STATE_ENDED") return;
  }
}

async function watch<T>(signal: AbortSignal, look: () => Promise<T>): Promise<T[]> {
  const seen: T[] = [];
  while (!signal.aborted) {
    seen.push(await look());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return seen;
}
