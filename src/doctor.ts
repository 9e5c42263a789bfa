import type { Config } from "./config.ts";
import { rebuild } from "./events/rebuild.ts";
import { createLogger, folds, type House, openHouse } from "./house.ts";
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

// A transaction id that is still to come means that the log was restored from a dump and no new epoch was begun.
async function logFinding(sql: Sql): Promise<Finding> {
  const [row] = await sql<{ events: bigint; ahead: bigint }[]>`
    select count(*) as events, count(*) filter (where xid >= pg_snapshot_xmax(pg_current_snapshot())) as ahead from events`;
  const ahead = row?.ahead ?? 0n;
  return {
    ok: ahead === 0n,
    line: `log: ${row?.events} events${ahead ? `, ${ahead} from another database's future` : ""}`,
  };
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
