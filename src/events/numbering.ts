import { setTimeout as pause } from "node:timers/promises";
import { isUnavailable } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import type { ProcessLog } from "../postgres/process_log.ts";

/** A select of the events without a number that the transaction sees: those that get the next ones. */
export const unnumberedOf = (sql: Sql) => sql`
  select e.* from (select * from event_batches order by first desc limit 1) b cross join lateral (
    select e.* from pg_snapshot_xip(b.snapshot) as open (xid) cross join lateral (
      select * from events where epoch = b.epoch and events.xid = open.xid offset 0) e
    union all
    select * from events where (epoch, xid) >= (b.epoch, pg_snapshot_xmax(b.snapshot))) e`;

/**
 * The approximate number of events that one call numbers. It numbers those of a transaction together, because a snapshot distinguishes
 * transactions but not their parts: three seconds for a million, while later ones wait. Calls and jobs write a thousand at a time; only a
 * deletion by a node of release 0.1.0 writes more.
 */
const batch = 5_000;

/** Numbers the next batch of committed events, unless another session is numbering; returns whether there are more. */
export async function numberEvents(sql: Sql): Promise<boolean> {
  return ((await numberBatch(sql)) ?? 0) >= batch;
}

/** Numbers the next batch of committed events and returns their number; null if another session is numbering. */
async function numberBatch(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ numbered: number | null }[]>`select number_events(false) as numbered`;
  return row?.numbered ?? null;
}

/** Numbers all events that are committed by now. */
export async function numberAll(sql: Sql): Promise<void> {
  for (let isMore = true; isMore; ) {
    const [row] = await sql<{ numbered: number }[]>`select number_events(true) as numbered`;
    isMore = (row?.numbered ?? 0) >= batch;
  }
}

const againMs = 1_000;
const mostTries = 10;
const reportMs = 10_000;

/**
 * Numbers the events of a log before a node follows it. After an upgrade from release 0.1.0 these are all events: whoever waits for a later
 * one would wait for them, too. Half of the time belongs to the calls of others. If another session numbers, or the database cannot, it tries
 * again for ten seconds; a session that hangs must not keep nodes from starting. Returns whether all have numbers.
 */
export async function numberBacklog(sql: Sql, log: ProcessLog): Promise<boolean> {
  const unable = (error: unknown) => {
    if (!isUnavailable(error)) throw error;
    log.warn({ err: error }, "the events of the log cannot be numbered; trying again");
    return null;
  };
  let [events, tries, reportedAt] = [0, 0, performance.now()];
  while (tries < mostTries) {
    const began = performance.now();
    const numbered = await numberBatch(sql).catch(unable);
    if (numbered !== null && numbered < batch) return true;
    tries = numbered === null ? tries + 1 : 0;
    events += numbered ?? 0;
    if (performance.now() - reportedAt > reportMs) {
      log.info({ events }, "the events of the log are being numbered");
      reportedAt = performance.now();
    }
    await pause(numbered === null ? againMs : performance.now() - began);
  }
  log.warn({ events }, "not all events of the log have numbers: another session is numbering them, or hangs");
  return false;
}

/** The number of seconds that the oldest event without a number has been waiting for one; 0 if there is none. */
export async function unnumberedSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select greatest(0, extract(epoch from now() - e.time))::float8 as seconds
    from (select epoch, snapshot from event_batches order by first desc limit 1) b cross join lateral (
      select time from events
      where (events.epoch, events.xid) >= (b.epoch, pg_snapshot_xmax(b.snapshot))
      order by events.epoch, events.xid, events.position limit 1) e`;
  return row?.seconds ?? 0;
}
