import type { Config } from "../config/config.ts";
import { createLogger } from "../config/logger.ts";
import { type JobsHealth, jobsHealth } from "../events/job.ts";
import { unnumberedSeconds } from "../events/numbering.ts";
import { rebuild } from "../events/rebuild.ts";
import { hasReplay, schemasOf } from "../events/rebuild_tables.ts";
import type { Replayed } from "../events/replay.ts";
import { type RetentionHealth, retentionHealth } from "../events/retention.ts";
import { mostCounted, type OutboxHealth } from "../notify/health.ts";
import { logoutHealth } from "../notify/logout/outbox.ts";
import { mailHealth } from "../notify/mail/outbox.ts";
import { smsHealth } from "../notify/sms/outbox.ts";
import { subscriptionHealth } from "../notify/subscriptions/outbox.ts";
import { isLockLost, isRefusedByServer, isUnavailable, StartError } from "../postgres/failure.ts";
import { connectMaintenance } from "../postgres/open.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { folds } from "../runtime/modules.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { relyingParty } from "../security/passkey.ts";

export type Report = { readonly ok: boolean; readonly lines: readonly string[] };

type Finding = { readonly ok: boolean; readonly warns?: true; readonly line: string };

const tolerableSkewMs = 1000;

/** Additional checks, and the callback for the progress of a replay. */
type Examination = { readonly rebuild: boolean; readonly tell?: (line: string) => void };

/** Checks database, migrations, keys, clock and log, and optionally whether replaying the log yields the same tables. */
export async function doctor(config: Config, asked: Examination): Promise<Report> {
  try {
    return await examine(config, asked);
  } catch (error) {
    if (isLockLost(error))
      throw new StartError("A table is locked, or another process is replaying the log: try again later", {
        cause: error,
      });
    if (isRefusedByServer(error) || isUnavailable(error))
      throw new StartError(`The check did not end: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    throw error;
  }
}

async function examine(config: Config, { rebuild: replay, tell }: Examination): Promise<Report> {
  const logger = createLogger({ ...config, logLevel: "warn" });
  // Opening the runtime already proves that the database responds, its tables are up to date, and the master key is right.
  await using runtime = await openRuntime(config, { logger, join: true });
  const sql = runtime.deps.sql;
  const findings = [
    await databaseFinding(sql),
    good("migrations: up to date"),
    workersFinding(config),
    good("keys: the master key belongs to this database"),
    await clockFinding(sql),
    await logFinding(sql),
    retentionFinding(await retentionHealth(sql)),
    deliveryFinding("sms", await smsHealth(sql)),
    deliveryFinding("mail", await mailHealth(sql)),
    // Applications that do not accept sign-outs or events are not the service's fault.
    good(deliveryFinding("sign-outs at applications", await logoutHealth(sql)).line),
    good(deliveryFinding("subscriptions", await subscriptionHealth(sql)).line),
    jobsFinding(await jobsHealth(sql)),
    await passkeyFinding(sql, relyingParty(config).id),
    ...(replay ? await replayFindings(runtime, tell) : await unfinishedReplay(sql)),
  ];
  return {
    ok: findings.every(({ ok }) => ok),
    lines: findings.map(({ ok, warns, line }) => `${ok ? (warns ? "warn" : "ok  ") : "FAIL"}  ${line}`),
  };
}

const good = (line: string): Finding => ({ ok: true, line });

async function databaseFinding(sql: Sql): Promise<Finding> {
  const [row] = await sql<{ version: string; size: string }[]>`
    select current_setting('server_version') as version, pg_size_pretty(pg_database_size(current_database())) as size`;
  return good(`database: PostgreSQL ${row?.version}, ${row?.size}`);
}

/** Warns if a node's processes have too few connections for all kinds of statements: short, long and probes. */
function workersFinding({ workers, databaseConnections }: Config): Finding {
  const each = Math.floor(databaseConnections / workers);
  const line = `workers: ${workers}, with ${each} of ${databaseConnections} connections each`;
  if (workers === 1 || each > 2) return good(line);
  return { ok: true, warns: true, line: `${line}; with fewer than 3, long statements and probes have to wait` };
}

async function clockFinding(sql: Sql): Promise<Finding> {
  const before = Date.now();
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`;
  const after = Date.now();
  const there = row?.now.getTime() ?? 0;
  const skew = Math.max(before - there, there - after, 0);
  return { ok: skew <= tolerableSkewMs, line: `clock: ${skew} ms off the database's` };
}

async function logFinding(sql: Sql): Promise<Finding> {
  const [row] = await sql<{ events: bigint; epoch: number }[]>`
    select last as events, (select i.epoch from instance i) as epoch from event_batches order by first desc limit 1`;
  const waiting = await unnumberedSeconds(sql);
  const late = waiting > longestWaitSeconds ? `, one of them without a number for ${Math.round(waiting)} s` : "";
  return { ok: !late, line: `log: ${row?.events} events in epoch ${row?.epoch}${late}` };
}

// A running node numbers an event a moment after its commit.
const longestWaitSeconds = 10;

/** Warns if events are kept for much longer than the retention policy says, as they are for a while after it was set. */
function retentionFinding(kinds: readonly RetentionHealth[]): Finding {
  const behind = Math.max(0, ...kinds.map(({ behindSeconds }) => behindSeconds));
  const days = kinds.map((one) => `${retentionKinds[one.kind]} ${one.days === null ? "always" : `${one.days} days`}`);
  const deleted = kinds.reduce((sum, one) => sum + one.deleted, 0n);
  const late = behind > longestRetentionSeconds;
  const line = `retention: ${days.join(", ")}; ${deleted} events deleted`;
  return late ? { ok: true, warns: true, line: `${line}, ${Math.floor(behind / daySeconds)} days behind` } : good(line);
}

const retentionKinds = { sign_in: "sign-ins", administration: "administration" } as const;
const daySeconds = 86_400;
const longestRetentionSeconds = daySeconds;

const counted = (count: number) => (count === mostCounted ? `${count} or more` : String(count));

function deliveryFinding(name: string, { waiting, oldestSeconds, dead }: OutboxHealth): Finding {
  const line = `${name}: ${counted(waiting)} waiting, the oldest for ${Math.round(oldestSeconds)} s, ${counted(dead)} given up`;
  return { ok: dead === 0, line };
}

/** Reports a stalled job; the log says why. */
function jobsFinding({ underWay, stalledSeconds }: JobsHealth): Finding {
  const still = stalledSeconds > longestPauseSeconds;
  const line = `jobs: ${underWay} under way${still ? `, one of them without progress for ${Math.round(stalledSeconds)} s` : ""}`;
  return { ok: !still, line };
}

const longestPauseSeconds = 300;

/** Warns about passkeys bound to another host than PUBLIC_URL's, which browsers do not offer on our pages. */
async function passkeyFinding(sql: Sql, host: string): Promise<Finding> {
  const rows = await sql<{ host: string | null; count: number }[]>`
    select host, count(*)::integer as count from passkeys group by host order by count(*) desc`;
  const all = rows.reduce((sum, { count }) => sum + count, 0);
  const lost = rows.filter((row) => row.host !== null && row.host !== host);
  if (lost.length === 0) return good(`passkeys: ${all}, for ${host}`);
  const named = lost.slice(0, 5).map((row) => `${row.count} for ${row.host}`);
  const line = `passkeys: ${all}, of which ${named.join(", ")} no longer work: PUBLIC_URL names ${host}`;
  return { ok: true, warns: true, line };
}

/** Warns of the tables that a stopped replay left, which contain everything in the log. */
async function unfinishedReplay(sql: Sql): Promise<Finding[]> {
  const { replayed } = await schemasOf(sql);
  const line = `tables: a replay of the log was stopped; doctor --rebuild goes on with it, or drop the schema ${replayed}`;
  return (await hasReplay(sql, replayed)) ? [{ ok: true, warns: true, line }] : [];
}

async function replayFindings({ database, logger }: Runtime, tell?: (line: string) => void): Promise<Finding[]> {
  await using client = await connectMaintenance(database, logger);
  const { equal, differences } = await rebuild(client.sql, folds, tell && told(tell));
  if (equal) return [good("tables: the same as those that replaying the log gives")];
  return differences.map(({ table, missing, extra }) => ({
    ok: false,
    line: `tables: ${table} differs from the log; missing ${JSON.stringify(missing)}, too many ${JSON.stringify(extra)}`,
  }));
}

const everyMs = 5_000;

/** Reports from time to time how much of the log was replayed. */
function told(tell: (line: string) => void): (replayed: Replayed) => void {
  let next = performance.now() + everyMs;
  return ({ at, of }) => {
    if (performance.now() < next) return;
    next = performance.now() + everyMs;
    tell(`replayed ${at} of ${of} events (${(at * 100n) / (of || 1n)} %)`);
  };
}
