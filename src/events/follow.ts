import type { JsonValue } from "@bufbuild/protobuf";
import type { Fragment, Sql } from "../postgres/pool/connect.ts";
import type { Origin } from "./log.ts";
import { beginning, type Position, type StoredAt } from "./position.ts";

/** An event as stored in the log. */
export type StoredEvent = Position &
  StoredAt & {
    readonly owner: string;
    readonly stream: string;
    readonly version: bigint;
    readonly type: string;
    readonly payload: JsonValue;
    readonly actor: string | null;
    readonly requestId: string;
    readonly origin: Origin | null;
    readonly aboutUserId: string | null;
    readonly projectId: string | null;
    readonly time: Date;
  };

/** The columns of an event `events`, without its number. */
export const eventColumns = (sql: Sql) => sql`
  epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
  about_user_id as "aboutUserId", project_id as "projectId", time`;

/** The id of the batch in which the event `numbered` got its number. */
export const batchOf = (sql: Sql) => sql`
  (select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1)`;

/** Numbered events after a number, and up to another, that match a condition on `events`. */
type Stretch = { readonly after: bigint; readonly upTo?: bigint; readonly limit: number; readonly where?: Fragment };

/** A select of the next events in the order of the log. */
export const eventsIn = (sql: Sql, { after, upTo, limit, where = sql`true` }: Stretch) => sql`
  select numbered.number, ${batchOf(sql)} as batch, events.*
  from (
    select * from event_numbers where number > ${after} ${upTo === undefined ? sql`` : sql`and number <= ${upTo}`}
    order by number ${upTo === undefined ? sql`limit ${limit}` : sql``}
  ) numbered cross join lateral (
    select ${eventColumns(sql)}, about_user_id, project_id from events
    where events.epoch = numbered.epoch and events.xid = numbered.xid and events.position = numbered.position offset 0
  ) events
  where ${where} order by numbered.number limit ${limit}`;

/** Reads the next events after a number, in the order of the log. */
export const eventsAfter = (sql: Sql, after: bigint, limit: number) =>
  sql<StoredEvent[]>`${eventsIn(sql, { after, limit })}`;

/** The position of the last numbered event; every later event comes after it. */
export async function endOfLog(sql: Sql): Promise<Position> {
  const [end] = await sql<Position[]>`
    select last as number, id as batch from event_batches order by first desc limit 1`;
  return end ?? beginning;
}

/** Whether the log still has the history to which a position belongs. A standby may not have received it yet. */
const isHeldIn = (sql: Sql, { number, batch }: Position) =>
  batch
    ? sql`coalesce((select case when b.last >= ${number} then b.id = ${batch} else pg_is_in_recovery() end
      from event_batches b where b.first <= ${number} order by b.first desc limit 1), false)`
    : sql`true`;

export async function isHeld(sql: Sql, position: Position): Promise<boolean> {
  const [row] = await sql<{ held: boolean }[]>`select ${isHeldIn(sql, position)} as held`;
  return row?.held ?? false;
}

/** The callbacks of a listener of the tail. */
export type Listener = {
  /** Called with every event from now on, in the order of the log. */
  readonly events: (events: readonly StoredEvent[]) => void;
  /** Called if the log lost its last events, by a restore or a failover; the listener then receives the history that exists now. */
  readonly lost: () => void;
};

/** A follower of the log, shared by many listeners. */
export type Tail = AsyncDisposable & {
  /** Numbers and reads events at once, because something was appended. */
  readonly poke: () => void;
  /** Adds a listener; returns a function that removes it. */
  readonly listen: (listener: Listener) => () => void;
  /** The time since the end of the log was last reached. */
  readonly behindMs: () => number;
};

export type TailOptions = {
  /** Numbers events; returns whether there are more. */
  readonly number: () => Promise<boolean>;
  /** Runs a short read apart from the statements of calls. */
  readonly read: <T>(statement: (sql: Sql) => Promise<T>) => Promise<T>;
  /** The interval between reads if nothing was appended here. */
  readonly everyMs: number;
  /** Called with the first of several consecutive failures of either. */
  readonly onError: (error: unknown) => void;
};

/** Numbers the log's events and follows it from its end, for listeners that need all nodes' events. */
export async function followTail({ number, read, everyMs, onError }: TailOptions): Promise<Tail> {
  const listeners = new Set<Listener>();
  let at = await read(endOfLog);
  let atEnd = performance.now();
  // Events numbered by other nodes are read even if this one cannot number any.
  const reading = lookAgain({ everyMs, restMs, ...reported(onError, look) });
  const numbering = lookAgain({ everyMs, restMs, ...reported(onError, () => number().finally(reading.poke)) });

  return {
    poke: numbering.poke,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    behindMs: () => performance.now() - atEnd,
    async [Symbol.asyncDispose]() {
      await Promise.all([numbering.stop(), reading.stop()]);
    },
  };

  async function look(): Promise<boolean> {
    const { held, events } = await read((sql) => news(sql, at));
    if (!held) {
      at = await read(endOfLog);
      for (const { lost } of listeners) lost();
      return true;
    }
    const isFull = events.length === most;
    if (!isFull) atEnd = performance.now();
    at = events.at(-1) ?? at;
    if (events.length > 0) for (const listener of listeners) listener.events(events);
    return isFull;
  }
}

/** Makes a poll that reports the first of several consecutive failures. */
function reported(
  onError: (error: unknown) => void,
  look: () => Promise<boolean>,
): Pick<LookOptions, "look" | "onError"> {
  let fails = false;
  return {
    async look() {
      const isMore = await look();
      fails = false;
      return isMore;
    },
    onError(error) {
      if (!fails) onError(error);
      fails = true;
    },
  };
}

const most = 1_000;

type News = { readonly held: boolean; readonly events: readonly StoredEvent[] };

/** Reads the events after a position, unless it belongs to another history. */
async function news(sql: Sql, at: Position): Promise<News> {
  const rows = await sql<({ held: boolean } & (StoredEvent | { number: null }))[]>`
    with history as materialized (select ${isHeldIn(sql, at)} as held)
    select history.held, e.* from history
    left join lateral (${eventsIn(sql, { after: at.number, limit: most })}) e on history.held order by e.number`;
  return { held: rows[0]?.held ?? false, events: rows.filter((row) => row.number !== null) as StoredEvent[] };
}

// Reading the log after every command of a lone caller cost a quarter of its throughput.
const restMs = 20;
// Where everything takes long, it would be read most of the time.
const longestRestMs = 40;

export type LookOptions = {
  /** The interval between polls if nothing pokes. */
  readonly everyMs: number;
  readonly onError: (error: unknown) => void;
  /** Polls once; returns whether there may be more. */
  readonly look: () => Promise<boolean>;
  /** The minimum interval between polls, unless there may be more. After a poll that takes long, the rest is as long, within limits. */
  readonly restMs?: number;
};

/** Polls until stopped: at once if poked or if there was more, otherwise after an interval. */
export function lookAgain({ everyMs, restMs = 0, onError, look }: LookOptions) {
  let stopped = false;
  let poked = false;
  let resting = false;
  let wake = () => {};
  const running = run();
  return {
    poke(): void {
      poked = true;
      if (!resting) wake();
    },
    async stop(): Promise<void> {
      stopped = true;
      wake();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!stopped) {
      poked = false;
      const began = performance.now();
      const more = await look().catch((error: unknown) => void onError(error));
      if (more) continue;
      const tookMs = performance.now() - began;
      const restedMs = restMs > 0 ? Math.max(restMs - tookMs, Math.min(tookMs, longestRestMs)) : 0;
      await rest(restedMs);
      if (!poked) await pause(Math.max(0, everyMs - Math.max(restMs, restedMs)));
    }
  }

  async function rest(milliseconds: number): Promise<void> {
    if (milliseconds <= 0) return;
    resting = true;
    await pause(milliseconds);
    resting = false;
  }

  async function pause(milliseconds: number): Promise<void> {
    if (stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
