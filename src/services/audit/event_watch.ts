import { refuse } from "../../errors.ts";
import { typeOf } from "../../events/fact.ts";
import { batchOf, endOfLog, isHeld, type StoredEvent, type Tail } from "../../events/follow.ts";
import { type EarlierPosition, formatPosition, isSeen, type Position } from "../../events/position.ts";
import { stretchAfter, stretchLength } from "../../events/stretch.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type Turn, takeHeavyTurn } from "../../security/pace.ts";

/** The filter of a watch; empty fields match every event. */
export type EventFilter = {
  readonly owner: string;
  readonly objectId: string;
  readonly actorId: string;
  readonly aboutUserId: string;
  readonly projectId: string;
  readonly onBehalfOfId: string;
  readonly types: readonly string[];
};

export type Following = {
  readonly sql: Sql;
  readonly tail: Tail;
  readonly filter: EventFilter;
  readonly signal: AbortSignal;
};

// The number of events buffered for a watcher before it must read the log again: those of two large calls. Watchers share the events.
const most = 2_000;
// The number of events read by one statement, whose rows then hold the event loop for less than a millisecond.
const mostRead = 100;

/** The start of a watch; events that a client of release 0.1.0 has seen are skipped. */
export type Begin = { readonly at: Position; readonly skips?: EarlierPosition };

/** Yields every matching event after the position, in order: from the log until it has caught up, then from the tail. */
export async function* watch({ sql, tail, filter, signal }: Following, { at: from, skips }: Begin) {
  // Listening begins before the log is read. Events that arrive meanwhile may be read twice; their number reveals that.
  using hearing = hear(tail, filter, signal);
  let at = from;
  let behind = true;
  // Reading on and on is heavy work; most watchers read once, since they begin near the end.
  let readsOn = false;
  using turns = streamTurns(signal);
  while (!signal.aborted) {
    // Held until the client's connection has taken the events, because turning them into messages takes longer than reading them.
    if (behind && readsOn) await turns.take();
    else turns.end();
    const news: News | undefined = await (behind ? caughtUp(sql, filter, at) : hearing.next());
    readsOn = behind;
    if (!news) throw await historyLost(sql, filter, at);
    const first: bigint = news.first ?? at.number + 1n;
    // If the tail was behind, the log may since have lost events after those read from it, and the tail would not notice.
    if (first <= at.number && !(await isHeld(sql, at))) throw await historyLost(sql, filter, at);
    // If the tail was ahead, the events between have not been read yet, unless they were deleted.
    behind = news.missed || first > at.number + 1n;
    if (first > at.number + 1n) continue;
    for (const one of news.events) {
      if (one.number <= at.number) continue;
      if (!skips || !isSeen(one, skips)) yield one;
      at = one;
    }
    if (news.upTo && news.upTo.number > at.number) at = news.upTo;
  }
  signal.throwIfAborted();
}

/** The next events, the position they extend to, and whether the log must be read for more. */
type News = {
  readonly events: readonly StoredEvent[];
  /** The number of the first event that the tail has delivered since, whether it matches or not. */
  readonly first?: bigint | undefined;
  readonly upTo?: Position | undefined;
  readonly missed: boolean;
};

// A client that reads slowly makes nobody else of its organization wait for longer. All streams of an organization count as one member, so
// that a large call waits for one of them at most.
const ofStream = { longestMs: 100, member: "streams" };

/** The turns of a stream that catches up: it reads on until its turn is over. */
function streamTurns(signal: AbortSignal) {
  let turn: Turn | undefined;
  const end = () => {
    turn?.[Symbol.dispose]();
    turn = undefined;
  };
  return {
    async take(): Promise<void> {
      if (turn && !turn.isOver) return;
      turn = await takeHeavyTurn({ ...ofStream, signal });
      turn.begin();
    },
    end,
    [Symbol.dispose]: end,
  };
}

async function caughtUp(sql: Sql, filter: EventFilter, at: Position): Promise<News | undefined> {
  const read = await stretchAfter(sql, { at, where: matching(sql, filter), most: mostRead });
  return read && { events: read.events, upTo: read.upTo, missed: read.isMore };
}

/** Buffers the tail's events for the watch. Events beyond the limit are dropped, and the log must be read again. */
function hear(tail: Tail, filter: EventFilter, signal: AbortSignal) {
  let events: StoredEvent[] = [];
  let first: bigint | undefined;
  let upTo: Position | undefined;
  let missed = false;
  let isLost = false;
  let wake = () => {};
  const woken = () => wake();
  const stop = tail.listen({
    events(received) {
      first ??= received[0]?.number;
      if (!missed) events.push(...received.filter((one) => matches(one, filter)));
      if (events.length > most) missed = true;
      if (missed) events = [];
      upTo = missed ? undefined : received.at(-1);
      if (missed || events.length > 0) wake();
    },
    lost() {
      isLost = true;
      wake();
    },
  });
  signal.addEventListener("abort", woken);
  return {
    async next(): Promise<News | undefined> {
      const waits = events.length === 0 && !missed && !isLost && !signal.aborted;
      if (waits) await new Promise<void>((resolve) => (wake = resolve));
      if (isLost) return undefined;
      const news = { events, first, upTo, missed };
      [events, first, upTo, missed] = [[], undefined, undefined, false];
      return news;
    },
    [Symbol.dispose]() {
      stop();
      signal.removeEventListener("abort", woken);
    },
  };
}

const begun = typeOf("delegation", "begun");

/** The user on whose behalf the actor of an event acted; null if in their own name. */
export const onBehalfOf = ({ type, aboutUserId }: Pick<StoredEvent, "type" | "aboutUserId">): string | null =>
  type === begun ? aboutUserId : null;

const matches = (event: StoredEvent, { owner, objectId, actorId, aboutUserId, projectId, ...more }: EventFilter) =>
  (!owner || event.owner === owner) &&
  (!objectId || event.stream === objectId) &&
  (!actorId || event.actor === actorId) &&
  (!aboutUserId || event.aboutUserId === aboutUserId) &&
  (!projectId || event.projectId === projectId) &&
  (!more.onBehalfOfId || onBehalfOf(event) === more.onBehalfOfId) &&
  (more.types.length === 0 || more.types.includes(event.type));

export const matching = (sql: Sql, { owner, objectId, actorId, aboutUserId, projectId, ...more }: EventFilter) => sql`
  ${owner ? sql`owner = ${owner}` : sql`true`}
  ${objectId ? sql`and stream = ${objectId}` : sql``}
  ${actorId ? sql`and actor = ${actorId}` : sql``}
  ${aboutUserId ? sql`and about_user_id = ${aboutUserId}` : sql``}
  ${projectId ? sql`and project_id = ${projectId}` : sql``}
  ${more.onBehalfOfId ? sql`and about_user_id = ${more.onBehalfOfId} and type = ${begun}` : sql``}
  ${more.types.length > 0 ? sql`and type = any(${[...more.types]})` : sql``}`;

/** Finds where a watch after a position begins; undefined if the log has not reached it. Throws if the log lost its history. */
export async function beginAt(sql: Sql, filter: EventFilter, after: Position | EarlierPosition) {
  if ("epoch" in after) return beginAfterEarlier(sql, after);
  if (!(await isHeld(sql, after))) throw await historyLost(sql, filter, after);
  return { at: after };
}

/**
 * Finds where to begin for a client of release 0.1.0. Events of transactions after its own were numbered no earlier than in the first
 * batch that could contain them.
 */
async function beginAfterEarlier(sql: Sql, skips: EarlierPosition): Promise<Begin | undefined> {
  const { epoch, xid, position, open } = skips;
  // Read first: events numbered after this are read, whether or not the next statement sees their numbers.
  const end = await endOfLog(sql);
  const [row] = await sql<{ isReached: boolean; number: bigint | null }[]>`
    select exists (select from events where (events.epoch, events.xid, events.position) >= (${epoch}, ${xid}::text::xid8, ${position}))
        or exists (select from event_batches b where (b.epoch, pg_snapshot_xmax(b.snapshot)) > (${epoch}, ${xid}::text::xid8)) as "isReached",
      least(
        (select b.first from event_batches b where (b.epoch, pg_snapshot_xmax(b.snapshot)) > (${epoch}, ${xid}::text::xid8)
         order by b.epoch, pg_snapshot_xmax(b.snapshot), b.first limit 1),
        (select min(n.number) from unnest(${[...open]}::text[]::xid8[]) as open (xid) cross join lateral (
           select events.position from events where events.epoch = ${epoch} and events.xid = open.xid offset 0) e
         join event_numbers n on n.position = e.position)
      ) as number`;
  if (!row?.isReached) return undefined;
  // Nothing after it has a number yet, so the client has seen everything.
  if (row.number === null) return { at: end, skips };
  return { at: { number: row.number - 1n, batch: "" }, skips };
}

const mostPositions = 10;

/** Makes the error for a position whose history the log lost: with the last positions of the filter that the client may have seen. */
async function historyLost(sql: Sql, filter: EventFilter, { number }: Position) {
  const { number: last } = await endOfLog(sql);
  const upTo = number <= last ? number - 1n : last;
  const held = await sql<Position[]>`
    select numbered.number, ${batchOf(sql)} as batch
    from (
      select * from event_numbers where number > ${upTo - stretchLength} and number <= ${upTo} order by number desc
    ) numbered cross join lateral (
      select owner, stream, actor, about_user_id, project_id, type from events
      where events.epoch = numbered.epoch and events.xid = numbered.xid and events.position = numbered.position offset 0
    ) events
    where ${matching(sql, filter)} order by numbered.number desc limit ${mostPositions}`;
  const positions = held.map(formatPosition).join(",");
  return refuse.because("POSITION_LOST", { params: positions ? { positions } : {} });
}
