import type { Config } from "./config.ts";
import { rebuild } from "./events/rebuild.ts";
import { createLogger, folds, type House, openHouse } from "./house.ts";
import { smsHealth } from "./notify/outbox.ts";
import { connect, type Sql } from "./postgres/connect.ts";

/** What the doctor found. */
export type Report = { readonly ok: boolean; readonly lines: readonly string[] };

type Finding = { readonly ok: boolean; readonly line: string };

const tolerableSkewMs = 1000;

// A replay is one long transaction of statements that may take long.
const oneConnection = { connections: 1, waitMs: 60_000, statementTimeoutMs: 24 * 3_600_000 };

/** Checks database, migrations, keys, clock and log; on request also whether the log replayed gives the tables there are. */
export async function doctor(config: Config, { rebuild: replay }: { rebuild: boolean }): Promise<Report> {
  const logger = createLogger({ ...config, logLevel: "warn" });
  // Opening the house already proves that the database answers, its tables are up to date, and the master key fits.
  await using house = await openHouse(config, { logger, join: true });
  const sql = house.deps.sql;
  const findings = [
    await databaseFinding(sql),
    good("migrations: up to date"),
    good("keys: the master key is the one of this database"),
    await clockFinding(sql),
    await logFinding(sql),
    await smsFinding(sql),
    ...(replay ? await replayFindings(house) : []),
  ];
  return {
    ok: findings.every(({ ok }) => ok),
    lines: findings.map(({ ok, line }) => `${ok ? "ok  " : "FAIL"}  ${line}`),
  };
}

const good = (line: string): Finding => ({ ok: true, line });

async function databaseFinding(sql: Sql): Promise<Finding> {
  const [row] = await sql<{ version: string; size: string }[]>`
    select current_setting('server_version') as version, pg_size_pretty(pg_database_size(current_database())) as size`;
  return good(`database: PostgreSQL ${row?.version}, ${row?.size}`);
}

async function clockFinding(sql: Sql): Promise<Finding> {
  const before = Date.now();
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`;
  const after = Date.now();
  const there = row?.now.getTime() ?? 0;
  const skew = Math.max(before - there, there - after, 0);
  return { ok: skew <= tolerableSkewMs, line: `clock: ${skew} ms apart from the database's` };
}

async function logFinding(sql: Sql): Promise<Finding> {
  const [row] = await sql<{ events: bigint; unsettled: bigint; epoch: number }[]>`
    select count(*) as events, count(*) filter (where not is_settled(e.epoch, e.xid)) as unsettled,
      (select epoch from instance) as epoch from events e`;
  return good(`log: ${row?.events} events in epoch ${row?.epoch}, ${row?.unsettled} not settled yet`);
}

async function smsFinding(sql: Sql): Promise<Finding> {
  const { waiting, oldestSeconds, dead } = await smsHealth(sql);
  const line = `sms: ${waiting} waiting, the oldest for ${Math.round(oldestSeconds)} s, ${dead} given up`;
  return { ok: dead === 0, line };
}

async function replayFindings({ database, logger }: House): Promise<Finding[]> {
  await using client = connect(database.migrationUrl, { ...oneConnection, log: logger });
  const { equal, differences } = await rebuild(client.sql, folds);
  if (equal) return [good("fold: the log replayed gives the tables there are")];
  return differences.map(({ table, missing, extra }) => ({
    ok: false,
    line: `fold: ${table} differs from the log; missing ${JSON.stringify(missing)}, too many ${JSON.stringify(extra)}`,
  }));
}
