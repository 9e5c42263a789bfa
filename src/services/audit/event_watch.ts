import {
  beginOf,
  eventColumns,
  isAfter,
  isUnseen,
  type Mark,
  type Position,
  type StoredEvent,
  type Tail,
} from "../../events/follow.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

/** The filter of a watch; empty fields match every event. */
export type EventFilter = {
  readonly owner: string;
  readonly objectId: string;
  readonly actorId: string;
  readonly types: readonly string[];
};

export type Following = {
  readonly sql: Sql;
  readonly tail: Tail;
  readonly filter: EventFilter;
  readonly signal: AbortSignal;
};

// How many events are buffered for a watcher before it must read the log again, and how many one statement scans.
const most = 500;
const stretch = 5_000;

/** Yields every matching event after the mark, in order: from the log until it has caught up, then from the tail. */
export async function* watch({ sql, tail, filter, signal }: Following, from: Mark) {
  // Listening begins before the log is read. Events that arrive meanwhile may be seen twice; their position gives them away.
  using hearing = hear(tail, filter, signal);
  let at = beginOf(from);
  let behind = true;
  while (!signal.aborted) {
    const { events, upTo, missed }: News = behind ? await caughtUp(sql, filter, at) : await hearing.next();
    for (const one of events) {
      if (!isAfter(one, at)) continue;
      if (isUnseen(one, from)) yield one;
      at = one;
    }
    if (upTo && isAfter(upTo, at)) at = upTo;
    behind = missed;
  }
  signal.throwIfAborted();
}

/** The next events, the position they extend to, and whether the log must be read for more. */
type News = { readonly events: readonly StoredEvent[]; readonly upTo?: Position | undefined; readonly missed: boolean };

/** Reads the matching events of the next stretch. Finding a rare event thus takes many short statements instead of one long one. */
async function caughtUp(sql: Sql, filter: EventFilter, at: Position): Promise<News> {
  const end = await endOfStretch(sql, at);
  const events = await eventsMatching(sql, filter, { after: at, upTo: end });
  const full = events.length === most;
  return { events, upTo: full ? undefined : end, missed: full || end !== undefined };
}

/** Buffers the tail's events for the watch. Events beyond the limit are dropped, and the log must be read again. */
function hear(tail: Tail, filter: EventFilter, signal: AbortSignal): Disposable & { next: () => Promise<News> } {
  let events: StoredEvent[] = [];
  let upTo: Position | undefined;
  let missed = false;
  let wake = () => {};
  const woken = () => wake();
  const stop = tail.listen((received) => {
    if (!missed) events.push(...received.filter((one) => matches(one, filter)));
    if (events.length > most) missed = true;
    if (missed) events = [];
    upTo = missed ? undefined : received.at(-1);
    if (missed || events.length > 0) wake();
  });
  signal.addEventListener("abort", woken);
  return {
    async next() {
      if (events.length === 0 && !missed && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve));
      const news = { events, upTo, missed };
      [events, upTo, missed] = [[], undefined, false];
      return news;
    },
    [Symbol.dispose]() {
      stop();
      signal.removeEventListener("abort", woken);
    },
  };
}

const matches = (event: StoredEvent, { owner, objectId, actorId, types }: EventFilter) =>
  (!owner || event.owner === owner) &&
  (!objectId || event.stream === objectId) &&
  (!actorId || event.actor === actorId) &&
  (types.length === 0 || types.includes(event.type));

export const matching = (sql: Sql, { owner, objectId, actorId, types }: EventFilter) => sql`
  ${owner ? sql`owner = ${owner}` : sql`true`}
  ${objectId ? sql`and stream = ${objectId}` : sql``}
  ${actorId ? sql`and actor = ${actorId}` : sql``}
  ${types.length > 0 ? sql`and type = any(${[...types]})` : sql``}`;

const place = (sql: Sql, { epoch, xid, position }: Position) =>
  sql`(${epoch}::integer, ${xid}::text::xid8, ${position}::bigint)`;

/** Finds the end of the next stretch of the log; undefined if less than a stretch is left. */
async function endOfStretch(sql: Sql, after: Position): Promise<Position | undefined> {
  const [end] = await sql<Position[]>`
    select epoch, xid::text as xid, position from events
    where (events.epoch, events.xid, events.position) > ${place(sql, after)} and is_settled(events.epoch, events.xid)
    order by events.epoch, events.xid, events.position offset ${stretch - 1} limit 1`;
  return end;
}

type Stretch = { readonly after: Position; readonly upTo: Position | undefined };

// The stretch is read first: an index of the filter would read everything that ever matched it, again for each stretch.
const eventsMatching = (sql: Sql, filter: EventFilter, { after, upTo }: Stretch) => sql<StoredEvent[]>`
  select ${eventColumns(sql)} from (
    select * from events
    where (events.epoch, events.xid, events.position) > ${place(sql, after)}
      and ${upTo ? sql`(events.epoch, events.xid, events.position) <= ${place(sql, upTo)}` : sql`is_settled(events.epoch, events.xid)`}
    order by events.epoch, events.xid, events.position limit ${stretch}
  ) events
  where ${matching(sql, filter)}
  order by events.epoch, events.xid, events.position limit ${most}`;

export async function isReached(sql: Sql, position: Position): Promise<boolean> {
  const [row] = await sql<{ reached: boolean }[]>`
    select exists (select from events
      where (events.epoch, events.xid, events.position) >= ${place(sql, position)}) as reached`;
  return row?.reached ?? false;
}
