import {
  beginOf,
  eventColumns,
  isAfter,
  isUnseen,
  type Mark,
  type Position,
  type StoredEvent,
  type Tail,
} from "../events/follow.ts";
import type { Sql } from "../postgres/connect.ts";

/** The events that are asked for; an empty text asks for any. */
export type EventFilter = {
  readonly owner: string;
  readonly objectId: string;
  readonly actorId: string;
  readonly types: readonly string[];
};

/** A watch, and what it goes by. */
export type Following = {
  readonly sql: Sql;
  readonly tail: Tail;
  readonly wanted: EventFilter;
  readonly signal: AbortSignal;
};

// How many events a watcher is behind at most before it reads the log again, and how many of the log it looks at in one go.
const most = 500;
const stretch = 5_000;

/** Every wanted event that the mark has not seen, in order: from the log until it is caught up, then as the tail hears them. */
export async function* watch({ sql, tail, wanted, signal }: Following, from: Mark) {
  // Listening begins before the log is read: what is received meanwhile may come twice, and is told apart by its position.
  using hearing = hear(tail, wanted, signal);
  let at = beginOf(from);
  let behind = true;
  while (!signal.aborted) {
    const { events, upTo, missed }: News = behind ? await caughtUp(sql, wanted, at) : await hearing.next();
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

/** The next events, where they end, and whether more stand in the log that only reading it can tell. */
type News = { readonly events: readonly StoredEvent[]; readonly upTo?: Position | undefined; readonly missed: boolean };

/** The wanted events of the next stretch: to find a rare one takes many statements rather than a long one. */
async function caughtUp(sql: Sql, wanted: EventFilter, at: Position): Promise<News> {
  const end = await endOfStretch(sql, at);
  const events = await eventsWanted(sql, wanted, { after: at, upTo: end });
  const full = events.length === most;
  return { events, upTo: full ? undefined : end, missed: full || end !== undefined };
}

/** Keeps what the tail hears until it is asked for; what is too much to keep is forgotten and must be read again. */
function hear(tail: Tail, wanted: EventFilter, signal: AbortSignal): Disposable & { next: () => Promise<News> } {
  let events: StoredEvent[] = [];
  let upTo: Position | undefined;
  let missed = false;
  let wake = () => {};
  const woken = () => wake();
  const stop = tail.listen((received) => {
    if (!missed) events.push(...received.filter((one) => isWanted(one, wanted)));
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

const isWanted = (event: StoredEvent, { owner, objectId, actorId, types }: EventFilter) =>
  (!owner || event.owner === owner) &&
  (!objectId || event.stream === objectId) &&
  (!actorId || event.actor === actorId) &&
  (types.length === 0 || types.includes(event.type));

/** The condition that an event is wanted. */
export const matching = (sql: Sql, { owner, objectId, actorId, types }: EventFilter) => sql`
  ${owner ? sql`owner = ${owner}` : sql`true`}
  ${objectId ? sql`and stream = ${objectId}` : sql``}
  ${actorId ? sql`and actor = ${actorId}` : sql``}
  ${types.length > 0 ? sql`and type = any(${[...types]})` : sql``}`;

const place = (sql: Sql, { epoch, xid, position }: Position) =>
  sql`(${epoch}::integer, ${xid}::text::xid8, ${position}::bigint)`;

/** Where the next stretch of the log ends; undefined when it is not as long as that. */
async function endOfStretch(sql: Sql, after: Position): Promise<Position | undefined> {
  const [end] = await sql<Position[]>`
    select epoch, xid::text as xid, position from events
    where (events.epoch, events.xid, events.position) > ${place(sql, after)} and is_settled(events.epoch, events.xid)
    order by events.epoch, events.xid, events.position offset ${stretch - 1} limit 1`;
  return end;
}

type Stretch = { readonly after: Position; readonly upTo: Position | undefined };

const eventsWanted = (sql: Sql, wanted: EventFilter, { after, upTo }: Stretch) => sql<StoredEvent[]>`
  select ${eventColumns(sql)} from events
  where ${matching(sql, wanted)}
    and (events.epoch, events.xid, events.position) > ${place(sql, after)}
    and ${upTo ? sql`(events.epoch, events.xid, events.position) <= ${place(sql, upTo)}` : sql`is_settled(events.epoch, events.xid)`}
  order by events.epoch, events.xid, events.position limit ${most}`;

/** Whether the log has come as far as the position. */
export async function isReached(sql: Sql, position: Position): Promise<boolean> {
  const [row] = await sql<{ reached: boolean }[]>`
    select exists (select from events
      where (events.epoch, events.xid, events.position) >= ${place(sql, position)}) as reached`;
  return row?.reached ?? false;
}
