import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { EventService } from "../../gen/postern/v1/event_pb.ts";
import { type Deps, organizationOf } from "../deps.ts";
import { refuse, type Violation } from "../errors.ts";
import { descOf, factFrom } from "../events/fact.ts";
import type { StoredEvent, Tail } from "../events/follow.ts";
import { endOfLog, eventColumns, formatPosition, type Position, parsePosition } from "../events/follow.ts";
import type { Sql } from "../postgres/connect.ts";
import { cut, pageOf } from "./page.ts";

/** The audit log: everything that happened, who caused it and when. */
export const eventService = ({ sql }: Pick<Deps, "sql">, tail: Tail) =>
  ({
    async listEvents(request, call) {
      const page = pageOf(request, 1);
      const wanted = { ...wantedBy(request, organizationOf(call)), ...periodOf(request) };
      const before = page.after && pagePosition(page.after[0] ?? "");
      const rows = await eventsBefore(sql, wanted, { before, limit: page.limit });
      const { rows: events, nextPageToken } = cut(rows, page, (row) => [formatPosition(row)]);
      return { events: events.map(event), nextPageToken };
    },

    async *watchEvents(request, call) {
      const wanted = wantedBy(request, organizationOf(call));
      const from = request.after ? await positionIn(sql, request.after) : undefined;
      for await (const one of follow({ sql, tail, wanted, signal: call.signal }, from)) yield { event: event(one) };
    },
  }) satisfies ServiceImpl<typeof EventService>;

type Filter = { instance: boolean; objectId: string; actorId: string; types: string[] };

/** The events that are asked for; an empty text asks for any. */
type Wanted = {
  readonly owner: string;
  readonly objectId: string;
  readonly actorId: string;
  readonly types: readonly string[];
};

function wantedBy({ instance, objectId, actorId, types }: Filter, organization: string): Wanted {
  const violations = types.flatMap((type, at) =>
    descOf(type) ? [] : [{ field: `types[${at}]`, description: `"${type}" is not a type of event` }],
  );
  if (violations.length > 0) throw refuse.invalid(violations);
  return { owner: instance ? "" : organization, objectId, actorId, types };
}

type Period = { readonly since: Date | undefined; readonly until: Date | undefined };

function periodOf(request: { since?: Timestamp | undefined; until?: Timestamp | undefined }): Period {
  const times = { since: request.since && momentOf(request.since), until: request.until && momentOf(request.until) };
  const violations: Violation[] = Object.entries(times).flatMap(([field, time]) =>
    time === "none" ? [{ field, description: "is not a time in the years 1 to 9999" }] : [],
  );
  if (times.since === "none" || times.until === "none") throw refuse.invalid(violations);
  return { since: times.since, until: times.until };
}

const firstSecond = -62_135_596_800n;
const lastSecond = 253_402_300_799n;

// Times of events are whole milliseconds, so a finer bound is as good as the next millisecond.
function momentOf({ seconds, nanos }: Timestamp): Date | "none" {
  const inRange = seconds >= firstSecond && seconds < lastSecond && nanos >= 0 && nanos <= 999_999_999;
  return inRange ? new Date(Number(seconds) * 1000 + Math.ceil(nanos / 1e6)) : "none";
}

function pagePosition(token: string): Position {
  const position = parsePosition(token);
  if (position) return position;
  const violation = {
    field: "pageToken",
    description: "is not a page token of this list",
    reason: "PAGE_TOKEN_INVALID",
  };
  throw refuse.because("PAGE_TOKEN_INVALID", { violations: [violation] });
}

async function positionIn(sql: Sql, after: string): Promise<Position> {
  const position = parsePosition(after);
  if (position && (await isReached(sql, position))) return position;
  const violation = { field: "after", description: "is not the position of an event", reason: "POSITION_INVALID" };
  throw refuse.because("POSITION_INVALID", { violations: [violation] });
}

function event(row: StoredEvent) {
  return {
    position: formatPosition(row),
    type: row.type,
    objectId: row.stream,
    sequence: row.version,
    resourceOwner: row.owner,
    actorId: row.actor ?? undefined,
    requestId: row.requestId,
    time: timestampFromDate(row.time),
    fact: factFrom(row.type, row.payload),
  };
}

type Following = { readonly sql: Sql; readonly tail: Tail; readonly wanted: Wanted; readonly signal: AbortSignal };

const most = 500;

/** Every wanted event after a position, in order: from the log until it is caught up, then as the tail hears them. */
async function* follow({ sql, tail, wanted, signal }: Following, from: Position | undefined) {
  // Listening begins before the log is read: what is heard meanwhile may come twice, and is told apart by its position.
  using hearing = hear(tail, wanted, signal);
  let at = from ?? (await endOfLog(sql));
  let behind = true;
  while (!signal.aborted) {
    const { events, upTo, missed }: News = behind ? await caughtUp(sql, wanted, at) : await hearing.next();
    for (const one of events) {
      if (!isAfter(one, at)) continue;
      yield one;
      at = one;
    }
    if (upTo && isAfter(upTo, at)) at = upTo;
    behind = missed;
  }
  signal.throwIfAborted();
}

/** The next events, where they end, and whether more stand in the log that only reading it can tell. */
type News = { readonly events: readonly StoredEvent[]; readonly upTo?: Position | undefined; readonly missed: boolean };

async function caughtUp(sql: Sql, wanted: Wanted, at: Position): Promise<News> {
  const events = await eventsWanted(sql, wanted, at);
  return { events, missed: events.length === most };
}

/** Keeps what the tail hears until it is asked for; what is too much to keep is forgotten and must be read again. */
function hear(tail: Tail, wanted: Wanted, signal: AbortSignal): Disposable & { next: () => Promise<News> } {
  let events: StoredEvent[] = [];
  let upTo: Position | undefined;
  let missed = false;
  let wake = () => {};
  const woken = () => wake();
  const stop = tail.listen((heard) => {
    if (!missed) events.push(...heard.filter((one) => isWanted(one, wanted)));
    if (events.length > most) missed = true;
    if (missed) events = [];
    upTo = missed ? undefined : heard.at(-1);
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

const isWanted = (event: StoredEvent, { owner, objectId, actorId, types }: Wanted) =>
  (!owner || event.owner === owner) &&
  (!objectId || event.stream === objectId) &&
  (!actorId || event.actor === actorId) &&
  (types.length === 0 || types.includes(event.type));

function isAfter(one: Position, other: Position): boolean {
  if (one.epoch !== other.epoch) return one.epoch > other.epoch;
  if (one.xid !== other.xid) return BigInt(one.xid) > BigInt(other.xid);
  return one.position > other.position;
}

const matching = (sql: Sql, { owner, objectId, actorId, types }: Wanted) => sql`
  ${owner ? sql`owner = ${owner}` : sql`true`}
  ${objectId ? sql`and stream = ${objectId}` : sql``}
  ${actorId ? sql`and actor = ${actorId}` : sql``}
  ${types.length > 0 ? sql`and type = any(${[...types]})` : sql``}`;

const place = (sql: Sql, { epoch, xid, position }: Position) =>
  sql`(${epoch}::integer, ${xid}::text::xid8, ${position}::bigint)`;

type Before = { readonly before: Position | undefined; readonly limit: number };

const eventsBefore = (sql: Sql, { since, until, ...wanted }: Wanted & Period, { before, limit }: Before) => sql<
  StoredEvent[]
>`
  select ${eventColumns(sql)} from events
  where ${matching(sql, wanted)}
    and ${since ? sql`time >= ${since}` : sql`true`} and ${until ? sql`time < ${until}` : sql`true`}
    and ${before ? sql`(events.epoch, events.xid, events.position) < ${place(sql, before)}` : sql`true`}
  order by events.epoch desc, events.xid desc, events.position desc limit ${limit}`;

const eventsWanted = (sql: Sql, wanted: Wanted, after: Position) => sql<StoredEvent[]>`
  select ${eventColumns(sql)} from events
  where ${matching(sql, wanted)}
    and (events.epoch, events.xid, events.position) > ${place(sql, after)}
    and is_settled(events.epoch, events.xid)
  order by events.epoch, events.xid, events.position limit ${most}`;

async function isReached(sql: Sql, position: Position): Promise<boolean> {
  const [row] = await sql<{ reached: boolean }[]>`
    select exists (select from events
      where (events.epoch, events.xid, events.position) >= ${place(sql, position)}) as reached`;
  return row?.reached ?? false;
}
