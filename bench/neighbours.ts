import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import type { Pace } from "../packages/gateway/bench/rounds.ts";
import { median, percentile, round } from "../packages/gateway/bench/stats.ts";
import { loaded } from "./loaded.ts";
import type { Noise } from "./neighbours/noise.ts";
import { type Databases, makeFolder, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";
import { outsiderOf, post } from "./users.ts";

const noisyUsers = 20_000;

// Of one round the p99 is a few calls, which an idle machine makes a third faster or slower.
const rounds = 3;
// The 99th percentile of a hundred calls would be the slowest of them.
const fewestCalls = 400;
// Slow calls are measured for no longer than this, first idle and then beside the noise, so that all takes less than nine minutes.
const longestMs = 140_000;

/**
 * Two organizations: the four operations of one, while nobody else calls, and while the other does everything at once that costs. The noise
 * comes from a process that yields to all others, which leaves the processor to the server and the database. Each round has a new copy of
 * the database.
 */
export async function neighbours(pace: Pace, kept?: string): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  const name = `grants_${noisyUsers}`;
  await loaded(folder.path, [{ name, users: noisyUsers, grantsEach: 1, changesEach: 0 }]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  const found: Round[] = [];
  for (let n = 0; n < rounds; n++) found.push(await besideNoise(databases, name, pace.seconds * pace.rounds));
  const operations = [...(found[0]?.idle.keys() ?? [])];
  return operations.map((operation) => {
    const figures = found.map((one) => figuresOf(one, operation));
    const medians = Object.keys(figures[0] ?? {}).map((key) => [
      key,
      round(median(figures.map((one) => one[key] ?? 0))),
    ]);
    const most = round(Math.max(...figures.map((one) => one[ratio] ?? 0)));
    const shown = { ...Object.fromEntries(medians), "in the worst round": most };
    return { ...row(operation, "beside a noisy neighbour", shown), goals: { [ratio]: { most: 3 } } };
  });
}

const ratio = "p99 x idle";

/** The times of each operation in a round. */
type Round = Readonly<Record<"idle" | "beside", Times>>;

function figuresOf({ idle, beside }: Round, operation: string): Readonly<Record<string, number>> {
  const [before, after] = [idle.get(operation) ?? [], beside.get(operation) ?? []];
  return {
    "calls idle": before.length,
    calls: after.length,
    "p50 idle ms": percentile(before, 0.5),
    "p50 ms": percentile(after, 0.5),
    "p99 idle ms": percentile(before, 0.99),
    "p99 ms": percentile(after, 0.99),
    [ratio]: percentile(after, 0.99) / percentile(before, 0.99),
  };
}

async function besideNoise(databases: Databases, like: string, seconds: number): Promise<Round> {
  const copy = `${like}_neighbours`;
  await databases.drop(copy);
  await using system = await startSystem(databases, copy, { like });
  const quiet = await quietNeighbour(system);
  const enough = { calls: fewestCalls, latest: performance.now() + longestMs };
  await measured(quiet, { seconds: 2 });
  const idle = await measured(quiet, { seconds, ...enough });
  await using noise = await startNoise(system);
  await pause(2_000);
  await measured(quiet, { seconds: 25 });
  const beside = await measured(quiet, { seconds, ...enough });
  const counts = await noise.stop();
  process.stdout.write(`the other organization meanwhile: ${JSON.stringify(counts)}\n`);
  return { idle, beside };
}

/** An operation, which throws if it is refused. */
type Operation = () => Promise<void>;
type Operations = Readonly<Record<string, Operation>>;
type Times = ReadonlyMap<string, readonly number[]>;

/** Makes the four operations of an organization with users of its own. */
async function quietNeighbour(system: SystemUnderTest): Promise<Operations> {
  const { url } = system.server;
  const token = await outsiderOf(system);
  const call = callsTo(url);
  const passwords = ["Blue-Kettle-42", "Grey-Teapot-43"];
  const people = Array.from({ length: 500 }, (_, n) => ({
    ...{ username: `quiet${n}`, givenName: "Ada", familyName: "Byron", email: `quiet${n}@example.com` },
    ...(n === 0 ? { password: passwords[0] } : {}),
  }));
  const made = await post(url, "/v1/users:batchCreate", { body: { items: people.map((human) => ({ human })) }, token });
  const users = (made.outcomes as { created: { userId: string } }[]).map(({ created }) => created.userId);
  const session = await post(url, "/v1/sessions", { body: { loginName: "quiet0", password: passwords[0] ?? "" } });
  const projects: string[] = [];
  for (let n = 0; n < 20; n++) {
    const { projectId } = await post(url, "/v1/projects", { body: { name: `Quiet ${n}` }, token });
    projects.push(String(projectId));
    await post(url, `/v1/projects/${projectId}/roles`, { body: { key: "reader" }, token });
  }
  const redirectUris = ["https://example.com/callback"];
  let n = 0;
  const user = () => users[n % users.length];
  const project = () => projects[Math.floor(n / users.length) % projects.length];
  return {
    async ChangePassword() {
      const [oldPassword, newPassword] = passwords;
      await call("PUT /v1/users/me/password", String(session.token), { oldPassword, newPassword });
      passwords.reverse();
    },
    CreateOidcApplication: () =>
      call(`POST /v1/projects/${projects[0]}/applications/oidc`, token, { name: `App ${n}`, redirectUris }),
    ChangePhone: () =>
      call(`POST /v1/users/${user()}/phone`, token, { phone: `+49151${20_000_000 + n}`, returnCode: {} }),
    async AddUserGrant() {
      await call(`POST /v1/users/${user()}/grants`, token, { projectId: project(), roleKeys: ["reader"] });
      n++;
    },
  };
}

const callsTo = (url: string) => async (operation: string, token: string, body: object) => {
  const [method = "", path = ""] = operation.split(" ");
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${operation}: ${await answer.text()}`);
  await answer.arrayBuffer();
};

/** For how long operations are made, and how often at least, unless that takes until the latest moment. */
type Extent = { readonly seconds: number; readonly calls?: number; readonly latest?: number };

/** Makes the operations in turn, with a rest between two calls. */
async function measured(operations: Operations, { seconds, calls = 0, latest = 0 }: Extent): Promise<Times> {
  const times = new Map<string, number[]>(Object.keys(operations).map((name) => [name, []]));
  const end = performance.now() + seconds * 1000;
  const isOver = (round: number) => {
    const now = performance.now();
    return now >= end && (round >= calls || now >= latest);
  };
  for (let round = 0; !isOver(round); round++)
    for (const [name, operation] of Object.entries(operations)) {
      const began = performance.now();
      await operation();
      times.get(name)?.push(performance.now() - began);
      await pause(5);
    }
  return times;
}

/** Starts the noise of an owner of the large organization; stopping it returns how many calls of each kind were made. */
async function startNoise({ server, token, organizationId }: SystemUnderTest) {
  const at = { token, organization: organizationId };
  const names = { username: "noisy", name: "Noisy" };
  const { userId } = await post(server.url, "/v1/users/machine", { body: names, ...at });
  await post(server.url, "/v1/members", { body: { userId, roles: ["ORG_OWNER"] }, ...at });
  const made = await post(server.url, `/v1/users/${userId}/tokens`, { body: {}, ...at });
  const options: Noise = { url: server.url, token: String(made.token), users: noisyUsers };
  const file = fileURLToPath(new URL("./neighbours/noise.ts", import.meta.url));
  // In a session of its own; it ends by itself if this process does, whose signals it does not get.
  const child = fork(file, [JSON.stringify(options)], { detached: true });
  if (child.pid) await yieldToAll(child.pid);
  return {
    async stop(): Promise<object> {
      const counts = once(child, "message");
      child.send("stop");
      const [found] = await counts;
      await once(child, "exit");
      return found;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

/**
 * Lets a process run only when no other would. Where the kernel groups processes by session (sched_autogroup_enabled), priorities count
 * only within a group, and each process of PostgreSQL has one of its own: only the group of the noise can yield to those.
 */
async function yieldToAll(pid: number): Promise<void> {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  await writeFile(`/proc/${pid}/autogroup`, "19").catch(() => {});
}
