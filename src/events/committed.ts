import type { Sql } from "../postgres/pool/connect.ts";
import { lookAgain } from "./follow.ts";

/** A fact in the log, as far as a cache needs it. */
export type CommittedFact = { readonly type: string; readonly stream: string };

export type CommittedOptions = {
  /** Runs a read separately from the statements of calls. */
  readonly read: <T>(ask: (sql: Sql) => Promise<T>) => Promise<T>;
  /** Types of facts to leave out. */
  readonly except: readonly string[];
  readonly everyMs: number;
  /** Called with facts soon after their commit, in no particular order, each at least once. */
  readonly onFacts: (facts: readonly CommittedFact[]) => void;
  /** Called when facts may have been missed. */
  readonly onGap: () => void;
  /** Called with the first of several consecutive failures. */
  readonly onError: (error: unknown) => void;
};

const most = 1_000;

/**
 * Watches the log for facts from all nodes without waiting for their order, so that an open transaction does not hold up the others. Each
 * read finds the facts of transactions that the previous read's snapshot did not see.
 */
export async function watchCommitted(options: CommittedOptions): Promise<AsyncDisposable> {
  const { read, except, everyMs, onFacts, onGap, onError } = options;
  let before: string | undefined = (await read(snapshotNow)).snapshot;
  const { stop } = lookAgain({ everyMs, onError: failed, look });
  return { [Symbol.asyncDispose]: stop };

  async function look(): Promise<boolean> {
    const since = before;
    const { snapshot, facts, isBefore } = await read((sql) =>
      since === undefined ? snapshotNow(sql) : factsSince(sql, since, except),
    );
    before = snapshot;
    // A restored or promoted server reuses transaction numbers.
    if (since === undefined || isBefore || facts.length > most) onGap();
    else if (facts.length > 0) onFacts(facts);
    return false;
  }

  function failed(error: unknown): void {
    if (before !== undefined) onError(error);
    // The next connection may reach another server.
    before = undefined;
  }
}

export type Seen = { readonly snapshot: string; readonly isBefore: boolean; readonly facts: readonly CommittedFact[] };

async function snapshotNow(sql: Sql): Promise<Seen> {
  return seenIn(
    await sql<Seen[]>`
    select pg_current_snapshot()::text as snapshot, false as "isBefore", '[]'::jsonb as facts`,
  );
}

/** Reads the facts that a snapshot does not see, one more than are passed on. */
export async function factsSince(sql: Sql, snapshot: string, except: readonly string[]): Promise<Seen> {
  return seenIn(
    await sql<Seen[]>`
    with before as materialized (
      select ${snapshot}::text::pg_snapshot as snapshot, coalesce((select i.epoch from instance i), 1) as epoch
    ),
    fresh as (
      select e.type, e.stream from events e
      where e.epoch = (select epoch from before) and e.xid >= (select pg_snapshot_xmax(snapshot) from before)
        and e.type <> all(${[...except]})
      union all
      select e.type, e.stream from events e
      where e.epoch = (select epoch from before) and e.xid = any(array(select pg_snapshot_xip(snapshot) from before))
        and e.type <> all(${[...except]})
      limit ${most + 1}
    )
    select pg_current_snapshot()::text as snapshot,
      pg_snapshot_xmax(pg_current_snapshot()) < (select pg_snapshot_xmax(snapshot) from before) as "isBefore",
      coalesce((select jsonb_agg(jsonb_build_object('type', type, 'stream', stream)) from fresh), '[]') as facts`,
  );
}

function seenIn([row]: readonly Seen[]): Seen {
  if (!row) throw new Error("the log was read without an answer");
  return row;
}
