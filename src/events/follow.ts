import type { JsonValue } from "@bufbuild/protobuf";
import type { Sql } from "../postgres/pool/connect.ts";

/** A position in the log. */
export type Position = { readonly epoch: number; readonly xid: string; readonly position: bigint };

/** A position, and the earlier transactions that were still open when it was read, so that their events were not seen. */
export type Mark = Position & { readonly open: readonly string[] };

/** An event as stored in the log. */
export type StoredEvent = Position & {
  readonly owner: string;
  readonly stream: string;
  readonly version: bigint;
  readonly type: string;
  readonly payload: JsonValue;
  readonly actor: string | null;
  readonly requestId: string;
  readonly time: Date;
};

/** The position before the first event. */
export const beginning: Position = { epoch: 0, xid: "0", position: 0n };

/** Formats a position for clients: `1.740.58`, or `1.740.58~3.1` while the transactions 737 and 739 are open. */
export function formatPosition({ epoch, xid, position, open = [] }: Position & Partial<Mark>): string {
  // With too many open transactions, the position moves back before all of them, and later events are read again.
  if (open.length > mostOpen) return formatPosition({ epoch, xid: least(open), position: 0n });
  const behind = open.map((one) => BigInt(xid) - BigInt(one)).join(".");
  return `${epoch}.${xid}.${position}${behind && `~${behind}`}`;
}

/** Parses a client's position; undefined for any other text. */
export function parsePosition(text: string): Mark | undefined {
  const [, epoch = "", xid = "", position = "", behind] = written.exec(text) ?? [];
  if (!epoch || BigInt(xid) >= 2n ** 64n) return undefined;
  const open = behind?.split(".").map((one) => BigInt(xid) - BigInt(one)) ?? [];
  if (open.some((one) => one < 0n)) return undefined;
  return { epoch: Number(epoch), xid, position: BigInt(position), open: open.map(String) };
}

const mostOpen = 100;
const written = /^(\d{1,9})\.(\d{1,20})\.(\d{1,18})(?:~(\d{1,20}(?:\.\d{1,20}){0,99}))?$/;

/** The position from which to read for a client that has seen the log up to the mark. */
export function beginOf({ open, ...place }: Mark): Position {
  return open.length > 0 ? { ...place, xid: least(open), position: 0n } : place;
}

export function isUnseen(event: Position, mark: Mark): boolean {
  return isAfter(event, mark) || (event.epoch === mark.epoch && mark.open.includes(event.xid));
}

export function isAfter(one: Position, other: Position): boolean {
  if (one.epoch !== other.epoch) return one.epoch > other.epoch;
  if (one.xid !== other.xid) return BigInt(one.xid) > BigInt(other.xid);
  return one.position > other.position;
}

const least = (xids: readonly string[]): string => String(xids.map(BigInt).reduce((a, b) => (a < b ? a : b)));

export const eventColumns = (sql: Sql) => sql`
  epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time`;

/** Reads the next events after a position, in log order, up to the first event that a slow writer might still precede. */
export function eventsAfter(sql: Sql, { epoch, xid, position }: Position, limit: number): Promise<StoredEvent[]> {
  return sql<StoredEvent[]>`
    select ${eventColumns(sql)} from events
    where (events.epoch, events.xid, events.position) > (${epoch}, ${xid}::text::xid8, ${position})
      and is_settled(events.epoch, events.xid)
    order by events.epoch, events.xid, events.position limit ${limit}`;
}

/** Reads the end of the log; every later event comes after it. */
export async function endOfLog(sql: Sql): Promise<Position> {
  const [end] = await sql<Position[]>`
    select epoch, xid::text as xid, position from events
    where is_settled(events.epoch, events.xid) order by events.epoch desc, events.xid desc, events.position desc limit 1`;
  return end ?? beginning;
}

/** How many seconds the oldest event that no follower may read yet has been waiting; 0 if there is none. */
export async function unsettledSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select greatest(0, extract(epoch from now() - e.time))::float8 as seconds from events e
    where (e.epoch, e.xid) >= ((select i.epoch from instance i), pg_snapshot_xmin(pg_current_snapshot()))
    order by e.epoch, e.xid, e.position limit 1`;
  return row?.seconds ?? 0;
}

/** A follower of the log, shared by many listeners. */
export type Tail = AsyncDisposable & {
  /** Reads the log at once, because something was appended. */
  readonly poke: () => void;
  /** Calls the listener with every event from now on, in order; returns a function that removes it. */
  readonly listen: (listener: (events: readonly StoredEvent[]) => void) => () => void;
  /** How long ago the end of the readable log was reached. */
  readonly behindMs: () => number;
};

export type TailOptions = {
  readonly sql: Sql;
  /** The interval between reads if nothing was appended here. */
  readonly everyMs: number;
  readonly onError: (error: unknown) => void;
};

/** Follows the log from its end, for listeners that need all nodes' events. */
export async function followTail({ sql, everyMs, onError }: TailOptions): Promise<Tail> {
  const listeners = new Set<(events: readonly StoredEvent[]) => void>();
  let at = await endOfLog(sql);
  let atEnd = performance.now();
  const looking = lookAgain({ everyMs, restMs, onError, look });

  return {
    poke: looking.poke,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    behindMs: () => performance.now() - atEnd,
    [Symbol.asyncDispose]: looking.stop,
  };

  async function look(): Promise<boolean> {
    const events = await eventsAfter(sql, at, 1000);
    const last = events.at(-1);
    if (events.length < 1000) atEnd = performance.now();
    if (!last) return false;
    at = last;
    for (const listener of listeners) listener(events);
    return events.length === 1000;
  }
}

// Reading the log after every command of a lone caller cost a quarter of its throughput.
const restMs = 20;

export type LookOptions = Pick<TailOptions, "everyMs" | "onError"> & {
  /** Polls once; returns whether there may be more. */
  readonly look: () => Promise<boolean>;
  /** The minimum interval between polls, unless there may be more. */
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
      const rested = performance.now() + restMs;
      const more = await look().catch((error: unknown) => void onError(error));
      if (more) continue;
      await rest(rested - performance.now());
      if (!poked) await pause(everyMs);
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
