import { setTimeout as pause } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import type { Sql } from "../src/postgres/pool/connect.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { idSql, seed } from "../test/fixture/seed.ts";
import { startDatabaseServer } from "./server.ts";
import { over, steadyLoad, steadyRow } from "./steady.ts";
import { startSystem } from "./system_under_test.ts";

const users = 10_000;
const rounds = 4;

/** Sweeps expired sessions while others write at a steady pace, and compares the writes with those before. */
export async function growth(sessions: number): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using system = await startSystem(databases, "growth");
  await using opened = openClient(system.databaseUrl);
  const sql = opened.client;
  await seed(sql, system.organizationId, { users, projects: 200, grants: 0, changes: 0 });
  const load = steadyLoad(system, users);
  await load();
  const before = [];
  for (let at = 0; at < rounds; at++) before.push(await load());
  await addExpired(sql, system.organizationId, sessions);
  const sweep = swept(sql);
  await sweep.begun;
  const during = [];
  const took = sweep.took();
  for (const isOver = over(took); !isOver(); ) during.push(await load());
  const [left] = await sql`
    select (select count(*)::int from sessions) as sessions, (select count(*)::int from bearers where session_id is not null) as bearers`;
  const figures = { seconds: round(await took), "sessions/s": Math.round(sessions / (await took)) };
  return [
    steadyRow("without a sweep", before),
    steadyRow(`while ${sessions} expired sessions are swept`, during),
    { ...row(`${sessions} expired sessions`, "sweep", figures), goals: { seconds: { most: 60 } } },
    { ...row("left", "tables", left ?? {}), goals: { sessions: { most: 0 }, bearers: { most: 0 } } },
  ];
}

async function addExpired(sql: Sql, owner: string, sessions: number): Promise<void> {
  await sql.unsafe(
    `with made as (
       insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
       select $1, 'expired' || n, ${idSql("user", `n % ${users}`)}, now() - interval '1 hour' - n * interval '1 millisecond', 1,
         now() - interval '1 day', now() - interval '1 day' from generate_series(1, $2) n
       returning *
     )
     insert into bearers (hash, owner, user_id, session_id, expiration_date)
     select sha256(session_id::bytea), owner, user_id, session_id, expiration_date from made`,
    [owner, sessions],
  );
}

/** Follows the sweep of the service: when it begins, and the seconds that it takes. */
function swept(sql: Sql) {
  const isLeft = async () =>
    (await sql`select from sessions where expiration_date < now() - interval '1 minute' limit 1`).length > 0;
  const deleted = async () => {
    await sql`select pg_stat_clear_snapshot()`;
    const [found] = await sql<{ rows: number }[]>`
      select n_tup_del::int as rows from pg_stat_user_tables where relname = 'sessions'`;
    return found?.rows ?? 0;
  };
  const begun = (async () => {
    while ((await deleted()) === 0) await pause(20);
    return performance.now();
  })();
  const took = async () => {
    const from = await begun;
    while (await isLeft()) await pause(100);
    return (performance.now() - from) / 1000;
  };
  return { begun, took };
}
