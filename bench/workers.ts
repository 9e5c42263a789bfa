import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import type { Sql } from "../src/postgres/pool/connect.ts";
import { openClient } from "../test/fixture/database_client.ts";
import type { Recipe } from "../test/fixture/recipes.ts";
import { seed } from "../test/fixture/seed.ts";
import { cpuSecondsOfFamily, parentOf } from "./hostile/process.ts";
import { generate, type LoadOutcome } from "./load.ts";
import { startDatabaseServer, unreached } from "./server.ts";
import { startSystem } from "./system_under_test.ts";

const users = 4_000;
const numbers = [1, 2];
const callers = [32, 128];
// Nodes whose calls are reckoned: with as many cores of their own, and a database on other ones.
const reckoned = [4, 8];

const operations: Readonly<Record<string, Recipe>> = {
  GetMe: { kind: "get_me" },
  GetUser: { kind: "get_user", users },
  AddUserGrant: { kind: "add_user_grant", users },
};

/** Compares a node of one process with one of two workers, and reckons what more cores would give. */
export async function workers(pace: Pace, only?: string): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  const { env, token } = await seeded(databases);
  await using sql = openClient(env.DATABASE_URL ?? "");
  await using opened = new AsyncDisposableStack();
  const nodes: Node[] = [];
  for (const count of numbers) nodes.push(opened.use(await startNode(env, count)));
  const rows: Row[] = [];
  for (const [index, node] of nodes.entries())
    rows.push(row("memory", nameOf(numbers[index]), { "MB idle": await megabytesOf(node) }));
  for (const [name, recipe] of Object.entries(operations).filter(([name]) => !only || name === only))
    for (const count of callers)
      rows.push(...(await compare({ name, recipe, count, nodes, token, sql: sql.client, pace })));
  return rows;
}

/** The environment of a database with users in it. */
async function seeded(databases: Awaited<ReturnType<typeof startDatabaseServer>>) {
  await using system = await startSystem(databases, "workers");
  await using sql = openClient(system.databaseUrl);
  await seed(sql.client, system.organizationId, { users, projects: 200, grants: 0, changes: 0 });
  return { env: system.env, token: system.token };
}

type Node = AsyncDisposable & { readonly url: string; readonly pid: number };

const nameOf = (count = 1) => (count === 1 ? "one process" : `${count} workers`);

/** Starts the program itself. */
async function startNode(env: Readonly<Record<string, string>>, count: number): Promise<Node> {
  const program = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const port = String(await freePort());
  const settings = { ...unreached, ...env, PORT: port, WORKERS: String(count), DATABASE_CONNECTIONS: "32" };
  const child = spawn(process.execPath, [program], { env: settings, stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${url}/readyz`)).status === 200;
  while (!(await isReady().catch(() => false))) await pause(50);
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** The memory of a process and its children; a page that they share counts once. */
async function megabytesOf({ pid }: Node): Promise<number> {
  const children = await readdir(`/proc/${pid}/task`).then(async (threads) => {
    const lists = await Promise.all(threads.map((one) => readFile(`/proc/${pid}/task/${one}/children`, "utf8")));
    return lists.flatMap((list) => list.split(" ").filter(Boolean));
  });
  const each = await Promise.all(
    [String(pid), ...children].map(async (one) => {
      const text = await readFile(`/proc/${one}/smaps_rollup`, "utf8");
      return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024;
    }),
  );
  return Math.round(each.reduce((sum, one) => sum + one, 0));
}

type Comparison = Readonly<{ name: string; recipe: Recipe; count: number; nodes: readonly Node[] }> &
  Readonly<{ token: string; sql: Sql; pace: Pace }>;

type Measured = LoadOutcome & { readonly serverUs: number; readonly databaseUs: number; readonly megabytes: number };

async function compare({ name, recipe, count, nodes, token, sql, pace }: Comparison): Promise<Row[]> {
  // No two calls have the same number, whichever node they go to.
  let from = users * (1 + count);
  const database = await parentOf(await backendOf(sql));
  const runOn =
    (node: Node) =>
    async (seconds: number): Promise<Measured> => {
      const before = [await cpuSecondsOfFamily(node.pid), await cpuSecondsOfFamily(database)] as const;
      const load = {
        url: node.url,
        protocol: "json",
        callers: count,
        seconds,
        settle: 1,
        token,
        recipe,
        from,
      } as const;
      const outcome = await generate(load);
      from = outcome.next;
      const us = (after: number, first: number) => ((after - first) * 1e6) / outcome.granted;
      const serverUs = us(await cpuSecondsOfFamily(node.pid), before[0]);
      const databaseUs = us(await cpuSecondsOfFamily(database), before[1]);
      return { ...outcome, serverUs, databaseUs, megabytes: await megabytesOf(node) };
    };
  const entrants = nodes.map((node, at) => ({ name: nameOf(numbers[at]), run: runOn(node) }));
  const found = await interleave(entrants, pace);
  const alone = found.get(nameOf(1));
  const subject = `${name} · ${count}`;
  const measured = [...found].map(([who, outcomes]) =>
    row(subject, who, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x one process": round(ratio(outcomes, alone, ({ rate }) => rate)),
      "p99 ms": round(middle(outcomes, ({ p99 }) => p99)),
      ...costOf(outcomes),
      MB: Math.round(middle(outcomes, ({ megabytes }) => megabytes)),
      refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
    }),
  );
  return [...measured, ...reckonedFrom(subject, found.get(nameOf(Math.max(...numbers))))];
}

const costOf = (outcomes: readonly Measured[] = []) => ({
  "server us": Math.round(middle(outcomes, ({ serverUs }) => serverUs)),
  "database us": Math.round(middle(outcomes, ({ databaseUs }) => databaseUs)),
});

/** Reckons the calls that so many cores are worth when they do nothing else, and the cores that the database needs for them. */
function reckonedFrom(subject: string, outcomes: readonly Measured[] | undefined): Row[] {
  const { "server us": serverUs, "database us": databaseUs } = costOf(outcomes);
  return reckoned.map((cores) => ({
    ...row(subject, `${cores} workers`, {
      "calls/s": Math.round((cores * 1e6) / serverUs),
      "database cores": round((cores * databaseUs) / serverUs),
    }),
    note: "reckoned from the CPU of a call, not measured",
  }));
}

async function backendOf(sql: Sql): Promise<number> {
  const [found] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  if (!found) throw new Error("the database does not tell its process");
  return found.pid;
}
