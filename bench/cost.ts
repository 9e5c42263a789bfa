import { Agent, request as send } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import type { Sql } from "../src/postgres/pool/connect.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { type Recipe, requestOf } from "../test/fixture/recipes.ts";
import { idOf, seed } from "../test/fixture/seed.ts";
import { cpuSecondsOfFamily, parentOf } from "./hostile/process.ts";
import { startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const users = 20_000;
const callers = 32;
const signers = 64;
const password = "Blue-Kettle-42";

type HttpCall = Readonly<{ method: string; path: string; body?: object | undefined; key?: string; anonymous?: true }>;
type Operation = Readonly<{ name: string; call: (n: number) => HttpCall }>;

/** Measures what one call of each operation costs: CPU of the node and of the database, rows, bytes of WAL and of tables. */
export async function cost(seconds: number): Promise<Row[]> {
  // Without the images of whole pages that follow each checkpoint: how many there are depends on the time between checkpoints.
  await using databases = await startDatabaseServer({ settings: { full_page_writes: "off", autovacuum: "off" } });
  await using system = await startSystem(databases, "cost");
  await using opened = openClient(system.databaseUrl);
  const sql = opened.client;
  await seed(sql, system.organizationId, { users, projects: 200, grants: 0, changes: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const caller = (call: HttpCall) => answered(system, agent, call);
  for (let n = 0; n < signers; n++) await caller(newPerson(`signer-${n}`, password));
  const rows = [await idle(system, sql)];
  for (const { name, call } of operations()) {
    await load(caller, call, { seconds: 1, from: 0 });
    rows.push(await measured({ system, sql, name, run: () => load(caller, call, { seconds, from: 100_000 }) }));
  }
  agent.destroy();
  return rows;
}

function operations(): Operation[] {
  const recipe = (name: string, one: Recipe): Operation => ({ name, call: (n) => requestOf(one, n) });
  const token = (n: number) => ({ method: "POST", path: `/v1/users/${idOf("user", n % users)}/tokens`, body: {} });
  return [
    recipe("GetMe", { kind: "get_me" }),
    recipe("GetUser", { kind: "get_user", users }),
    recipe("AddUserGrant", { kind: "add_user_grant", users }),
    recipe("ChangePhone", { kind: "change_phone", users }),
    recipe("CreateOidcApplication", { kind: "create_application" }),
    { name: "CreateHumanUser", call: (n) => newPerson(`person-${n}`) },
    { name: "CreateAccessToken", call: token },
    { name: "CreateAccessToken with a key", call: (n) => ({ ...token(n), key: `key-${n}` }) },
    { name: "CreateSession", call: signIn },
  ];
}

function newPerson(username: string, secret?: string): HttpCall {
  const person = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com` };
  return { method: "POST", path: "/v1/users/human", body: { ...person, ...(secret && { password: secret }) } };
}

const signIn = (n: number): HttpCall => ({
  ...{ method: "POST", path: "/v1/sessions", anonymous: true },
  body: { loginName: `signer-${n % signers}`, password },
});

type Stretch = { readonly seconds: number; readonly from: number };

/** Calls for some seconds; returns the number of calls. */
async function load(caller: (call: HttpCall) => Promise<void>, call: Operation["call"], { seconds, from }: Stretch) {
  const end = performance.now() + seconds * 1000;
  let next = from;
  const one = async () => {
    while (performance.now() < end) await caller(call(next++));
  };
  await Promise.all(Array.from({ length: callers }, one));
  return next - from;
}

function answered({ server, token }: SystemUnderTest, agent: Agent, call: HttpCall): Promise<void> {
  const { method, path, body, key, anonymous } = call;
  const headers = {
    ...(anonymous ? {} : { authorization: `Bearer ${token}` }),
    ...(body ? { "content-type": "application/json" } : {}),
    ...(key ? { "idempotency-key": key } : {}),
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent = send(server.url + path, { agent, method, headers }, async (answer) => {
    let text = "";
    for await (const chunk of answer) text += chunk;
    if (answer.statusCode === 200) resolve();
    else reject(new Error(`${method} ${path}: ${text}`));
  });
  sent.on("error", reject);
  sent.end(body ? JSON.stringify(body) : undefined);
  return promise;
}

type Measuring = Readonly<{ system: SystemUnderTest; sql: Sql; name: string; run: () => Promise<number> }>;

async function measured({ system, sql, name, run }: Measuring): Promise<Row> {
  const before = await counters(system, sql);
  const calls = await run();
  const after = await counters(system, sql);
  const each = (field: keyof typeof before) => (after[field] - before[field]) / calls;
  return row(name, `${callers} callers`, {
    calls,
    "node us": Math.round(each("node")),
    "database us": Math.round(each("database")),
    "rows written": round(each("written")),
    "rows removed": round(each("removed")),
    "WAL bytes": Math.round(each("wal")),
    "table bytes": Math.round(each("size")),
  });
}

/** CPU in microseconds, rows, bytes of WAL and of the database so far. */
async function counters({ server }: SystemUnderTest, sql: Sql) {
  // The server reports what its sessions did when they have been idle for a second.
  await pause(2_500);
  await sql`select pg_stat_clear_snapshot()`;
  const [found] = await sql<{ pid: number; wal: string; size: string; written: string; removed: string }[]>`
    select pg_backend_pid() as pid, pg_current_wal_insert_lsn() - '0/0' as wal, pg_database_size(current_database()) as size,
      (select sum(n_tup_ins + n_tup_upd) from pg_stat_user_tables) as written,
      (select sum(n_tup_del + n_tup_upd) from pg_stat_user_tables) as removed`;
  if (!found) throw new Error("the database does not count");
  return {
    node: (await server.usage()).cpu,
    database: (await cpuSecondsOfFamily(await parentOf(found.pid))) * 1e6,
    ...{ wal: Number(found.wal), size: Number(found.size) },
    ...{ written: Number(found.written), removed: Number(found.removed) },
  };
}

const idleSeconds = 20;

/** The cost of a node without calls. */
async function idle(system: SystemUnderTest, sql: Sql): Promise<Row> {
  const statements = async () => {
    await sql`select pg_stat_clear_snapshot()`;
    const [found] = await sql<{ count: string }[]>`
      select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`;
    return Number(found?.count);
  };
  const [before, first] = [await counters(system, sql), await statements()];
  await pause(idleSeconds * 1000);
  const [after, last] = [await counters(system, sql), await statements()];
  const took = idleSeconds + 2.5;
  return row("nothing", "no caller", {
    "statements/s": round((last - first) / took),
    "node CPU %": round((after.node - before.node) / took / 1e4),
    "database CPU %": round((after.database - before.database) / took / 1e4),
    "WAL bytes": Math.round((after.wal - before.wal) / took),
  });
}
