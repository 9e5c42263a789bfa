import { randomUUID } from "node:crypto";
import type { Sql } from "../postgres/pool/connect.ts";
import { rest } from "../security/pace.ts";
import { lookAgain } from "./follow.ts";
import { giveLeaseBack, isHeldByAnother, takeLease } from "./lease.ts";

/** A kind of expired data to delete regularly. */
export type Chore = {
  readonly name: string;
  /** Deletes at most this many rows; returns how many it deleted or looked at: as many as it may if there may be more. */
  readonly batch: (most: number) => Promise<number>;
};

export type SweepOptions = {
  readonly sql: Sql;
  /** The name of the lease on the chores, which no other sweep uses. */
  readonly work?: string;
  readonly chores: readonly Chore[];
  readonly everyMs?: number;
  /** The clock by which chores decide what has expired. */
  readonly clock?: () => Date;
  /** Called if a chore fails; it is tried again the next time. */
  readonly onError: (error: unknown, chore: string) => void;
};

const most = 1_000;

// If a node stops, another continues after this time.
const longestPollMs = 5_000;

/**
 * Deletes expired data in small batches, on one node at a time. After a restore, or when no node was running, there may be millions of rows:
 * half of the time belongs to the calls of others.
 */
export function startSweep(options: SweepOptions): AsyncDisposable {
  const { sql, work = "sweep", chores, everyMs = 60_000, clock = () => new Date(), onError } = options;
  const lease = { work, holder: randomUUID(), seconds: 30 + (2 * everyMs) / 1000 };
  const stopping = new AbortController();
  let mayHold = false;
  let nextAt = 0;
  const pollMs = Math.min(everyMs, longestPollMs);
  const { stop } = lookAgain({ everyMs: pollMs, onError: (error) => onError(error, work), look });

  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await stop();
      if (mayHold) await giveLeaseBack(sql, lease).catch((error: unknown) => onError(error, work));
    },
  };

  async function look(): Promise<boolean> {
    if (performance.now() < nextAt || (await isHeldByAnother(sql, lease))) return false;
    await refuseAhead(sql, clock);
    for (const chore of chores) await finish(chore).catch((error: unknown) => onError(error, chore.name));
    if (mayHold) nextAt = performance.now() + everyMs;
    return false;
  }

  async function finish({ batch }: Chore): Promise<void> {
    while (await mayGoOn()) {
      const began = performance.now();
      if ((await batch(most)) < most) return;
      await rest(performance.now() - began, stopping.signal);
    }
  }

  async function mayGoOn(): Promise<boolean> {
    if (stopping.signal.aborted) return false;
    // Until the response arrives, the lease may be held: the response could get lost.
    mayHold = true;
    mayHold = await takeLease(sql, lease);
    return mayHold;
  }
}

const tolerableSeconds = 60;

/** Throws if this node's clock is ahead: it would delete data that has not expired, and correcting the clock would not bring it back. */
async function refuseAhead(sql: Sql, clock: () => Date): Promise<void> {
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`;
  const seconds = Math.floor((clock().getTime() - (row?.now.getTime() ?? 0)) / 1000);
  if (seconds > tolerableSeconds)
    throw new Error(`the clock is ${seconds} s ahead of the database's: nothing is deleted until they agree`);
}

/** The maximum number of rows in one batch, and the time from which to look for them. */
export type Stretch = { readonly from: Date; readonly most: number };

/** The number of deleted rows, and the latest of their times. */
export type Deleted = { readonly count: number; readonly last: Date | null };

/**
 * Makes a chore that deletes rows in the order of their times. Each batch begins where the previous one ended: while a transaction is open
 * elsewhere, indexes keep the entries of deleted rows, and searching from the beginning would read them all each time.
 */
export function inOrder(name: string, remove: (stretch: Stretch) => Promise<readonly Deleted[]>): Chore {
  const beginning = new Date(0);
  let from = beginning;
  return {
    name,
    async batch(most) {
      const [{ count, last } = { count: 0, last: null }] = await remove({ from, most });
      // Rows locked by others are left for the next run, which starts over.
      from = count < most || last === null ? beginning : last;
      return count;
    },
  };
}

/** The rows that a chore deletes when they expire: their table with its key, the time column, and an additional condition. */
export type DueRows = { readonly table: string; readonly key: string; readonly time?: string; readonly where?: string };

/** Deletes the next expired rows of a stretch. */
export function deleteDue(sql: Sql, rows: DueRows, { from, until, most }: Stretch & { readonly until: Date }) {
  const { table, key, time = "expiration_date", where = "true" } = rows;
  const [tableName, keys, at] = [sql.unsafe(table), sql.unsafe(key), sql.unsafe(time)];
  return sql<Deleted[]>`
    with gone as (
      delete from ${tableName} where (${keys}) in (
        select ${keys} from ${tableName} where ${at} >= ${from} and ${at} <= ${until} and ${sql.unsafe(where)}
        order by ${at} limit ${most} for update skip locked)
      returning ${at}
    )
    select count(*)::int as count, max(${at}) as last from gone`;
}

/** The retention time of idempotency keys. */
export type RetentionSettings = { readonly idempotencyRetentionSeconds: number };

/** Deletes idempotency records whose keys may be reused. */
export const expiredRecords = (sql: Sql, clock: () => Date, settings: RetentionSettings): Chore =>
  inOrder("idempotency records", ({ from, most }) => {
    const before = new Date(clock().getTime() - settings.idempotencyRetentionSeconds * 1000);
    return sql<Deleted[]>`
      with gone as (
        delete from idempotency where (caller, operation, key) in (
          select caller, operation, key from idempotency where created >= ${from} and created < ${before}
          order by created limit ${most} for update skip locked)
        returning created
      )
      select count(*)::int as count, max(created) as last from gone`;
  });
