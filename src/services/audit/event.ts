import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  EventSchema,
  type EventService,
  type ListEventsRequest,
  ListEventsRequestSchema,
  type WatchEventsRequest,
  WatchEventsRequestSchema,
  type WatchEventsResponse,
  WatchEventsResponseSchema,
} from "../../../gen/postern/v1/event_pb.ts";
import { type Deps, organizationOf, reachOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { descOf, factFrom } from "../../events/fact.ts";
import { batchOf, endOfLog, eventColumns, type StoredEvent, type Tail } from "../../events/follow.ts";
import { numberAll } from "../../events/numbering.ts";
import { formatPosition, type Position, parsePosition } from "../../events/position.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { mapInPieces } from "../../security/pieces.ts";
import { cut, mostRead, notAToken, pageOf, tokenFaults, tokenIn } from "../reading/page.ts";
import { type Begin, beginAt, type EventFilter, matching, onBehalfOf, watch } from "./event_watch.ts";

export const eventService = ({ sql }: Pick<Deps, "sql">, tail: Tail) =>
  ({
    async listEvents(request, call) {
      const page = pageOf(ListEventsRequestSchema, request, 2);
      const filter = { ...filterOf(request, organizationOf(call)), ...periodOf(request) };
      const part = { before: cursorIn(page.after), limit: page.limit, ofProject: !reachOf(call).whole };
      const read = await eventsBefore(sql, filter, part);
      const rows = await numbered(sql, read);
      const { rows: events, nextPageToken } = cut(rows, page, keysOf);
      return { events: await mapInPieces(events, event), nextPageToken };
    },

    watchEvents(request, call) {
      const filter = filterOf(request, organizationOf(call));
      const begins = begun(sql, filter, request.after);
      return { begins, sharesMessages: true, [Symbol.asyncIterator]: () => eventsFrom(begins) };

      async function* eventsFrom(begin: Promise<Begin>) {
        const following = { sql, tail, filter, signal: call.signal };
        for await (const one of watch(following, await begin)) yield responseOf(one);
      }
    },
  }) satisfies ServiceImpl<typeof EventService>;

export const eventRules = [
  messageRule(ListEventsRequestSchema, wrongInList),
  messageRule(WatchEventsRequestSchema, wrongInWatch),
];

function wrongInList(request: ListEventsRequest): Violation[] {
  return [...unknownTypes(request), ...wrongToken(request)];
}

function wrongToken(request: ListEventsRequest): readonly Violation[] {
  const faults = tokenFaults(ListEventsRequestSchema, request, 2);
  if (faults.length > 0 || !request.pageToken) return faults;
  return cursorIn(tokenIn(request.pageToken, 2)?.keys) ? [] : [notAToken];
}

function wrongInWatch(request: WatchEventsRequest): Violation[] {
  const isPosition = !request.after || parsePosition(request.after);
  return [...unknownTypes(request), ...(isPosition ? [] : [notAPosition])];
}

export function unknownTypes({ types }: { readonly types: readonly string[] }): Violation[] {
  return types.flatMap((type, at) =>
    descOf(type) ? [] : [{ field: `types[${at}]`, text: "EVENT_TYPE_UNKNOWN", params: { type } }],
  );
}

export const notAPosition: Violation = { field: "after", text: "POSITION_FOREIGN", reason: "POSITION_INVALID" };

type FilterFields = Omit<EventFilter, "owner"> & { readonly instance: boolean };

const filterOf = ({ instance, ...fields }: FilterFields, organization: string): EventFilter => {
  const { objectId, actorId, aboutUserId, projectId, onBehalfOfId, types } = fields;
  return { owner: instance ? "" : organization, objectId, actorId, aboutUserId, projectId, onBehalfOfId, types };
};

type Period = { readonly since: Date | undefined; readonly until: Date | undefined };

const periodOf = ({ since, until }: Pick<ListEventsRequest, "since" | "until">): Period => ({
  since: since && momentOf(since),
  until: until && momentOf(until),
});

const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Rounds a bound up to whole milliseconds, the precision of events. No event is later than the last moment. */
function momentOf({ seconds, nanos }: Timestamp): Date {
  return new Date(Math.min(Number(seconds) * 1000 + Math.ceil(nanos / 1e6), lastMoment));
}

/** Finds the position where a watch begins, before its stream opens, so that it misses no later event. */
export async function begun(sql: Sql, filter: EventFilter, after: string): Promise<Begin> {
  const position = parsePosition(after);
  if (!position) {
    await numberAll(sql);
    return { at: await endOfLog(sql) };
  }
  const begin = await beginAt(sql, filter, position);
  if (!begin) throw refuse.invalid([notAPosition]);
  return begin;
}

const response = Symbol("response");

/** The message of an event, shared by all watchers of the tail, so that the gateway encodes it once. It is freed with the event. */
function responseOf(row: StoredEvent & { [response]?: WatchEventsResponse }): WatchEventsResponse {
  row[response] ??= create(WatchEventsResponseSchema, { event: event(row) });
  return row[response];
}

/** The message of an event as JSON. */
export const eventJson = (row: StoredEvent): JsonValue =>
  toJson(EventSchema, create(EventSchema, event(row)), { alwaysEmitImplicit: true });

export function event(row: StoredEvent) {
  return {
    position: formatPosition(row),
    type: row.type,
    objectId: row.stream,
    sequence: row.version,
    resourceOwner: row.owner,
    actorId: row.actor ?? undefined,
    requestId: row.requestId,
    ...(row.origin ? { origin: row.origin } : {}),
    aboutUserId: row.aboutUserId ?? undefined,
    projectId: row.projectId ?? undefined,
    onBehalfOfId: onBehalfOf(row) ?? undefined,
    time: timestampFromDate(row.time),
    fact: factFrom(row.type, row.payload),
  };
}

/** The position of an event in a list, whose latest events come first. */
type EventCursor = Pick<StoredEvent, "time" | "position">;

const keysOf = ({ time, position }: EventCursor) => [time.toISOString(), String(position)];

function cursorIn(keys: readonly string[] | undefined): EventCursor | undefined {
  const [time = "", position = ""] = keys ?? [];
  const ours = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time) && /^\d{1,18}$/.test(position);
  return ours && !Number.isNaN(Date.parse(time)) ? { time: new Date(time), position: BigInt(position) } : undefined;
}

type Before = {
  readonly before: EventCursor | undefined;
  readonly limit: number;
  /** Whether the caller may read the events about the project of the filter, and no others. */
  readonly ofProject: boolean;
};

/** An event that may not be numbered yet. */
export type Unnumbered = Omit<StoredEvent, keyof Position> & {
  readonly number: bigint | null;
  readonly batch: string | null;
};

/** An event read for a page; see `cut`. */
type ReadEvent = Unnumbered & { readonly isMatch: boolean; readonly isLast: boolean };

// Ordered by time rather than by position, because an index leads to any past time. Events that match the whole filter may be rare, so a
// page ends after a fixed number of rows read from the one index used.
async function eventsBefore(sql: Sql, { since, until, ...filter }: EventFilter & Period, part: Before) {
  const { before, limit, ofProject } = part;
  const bounds = sql`${since ? sql`time >= ${since}` : sql`true`} and ${until ? sql`time < ${until}` : sql`true`}
    and ${before ? sql`(time, events.position) < (${before.time}, ${before.position}::bigint)` : sql`true`}`;
  const leading = await leadingOf(sql, filter, ofProject ? "projectId" : undefined);
  const read = leading.types.length > 0 ? ofTypes(sql, leading, { bounds, limit }) : ofOne(sql, leading, bounds);
  return sql<ReadEvent[]>`
    select ${eventColumns(sql)}, numbered.number, ${batchOf(sql)} as batch, "isMatch", "isLast" from (
      select *, coalesce(${matching(sql, filter)}, false) as "isMatch",
        row_number() over (order by time desc, events.position desc) = ${mostRead} as "isLast"
      from (${read}) events
    ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
    where "isMatch" or "isLast" order by time desc, events.position desc limit ${limit}`;
}

const ofOne = (sql: Sql, leading: EventFilter, bounds: Fragment) => sql`
  select * from events where ${matching(sql, leading)} and ${bounds}
  order by time desc, events.position desc limit ${mostRead}`;

/** The latest events of each of an organization's types, in one order. */
const ofTypes = (
  sql: Sql,
  { owner, types }: EventFilter,
  { bounds, limit }: { bounds: Fragment; limit: number },
) => sql`
  select events.* from unnest(${[...new Set(types)]}::text[]) of_type cross join lateral (
    select * from events where owner = ${owner} and type = of_type and ${bounds}
    order by time desc, events.position desc limit ${limit}) events
  order by time desc, events.position desc limit ${limit}`;

export const unfiltered: EventFilter = {
  owner: "",
  objectId: "",
  actorId: "",
  aboutUserId: "",
  projectId: "",
  onBehalfOfId: "",
  types: [],
};

/** The part of a filter that an index serves: one id, else the organization, with types if there are any. */
async function leadingOf(sql: Sql, filter: EventFilter, only?: (typeof ledBy)[number]): Promise<EventFilter> {
  const { owner, types } = filter;
  // What was done on behalf of a user is about that user.
  const ids = { ...filter, aboutUserId: filter.aboutUserId || filter.onBehalfOfId };
  const name = only ?? ledBy.find((one) => ids[one]);
  const id = name && ids[name];
  // The token after a page without events reveals the time of an event that was read, which must not be about another organization's
  // object.
  if (name && id && (!owner || (await isKnown(sql, owner, id)))) return { ...unfiltered, [name]: id };
  return { ...unfiltered, owner, types: owner && !name ? types : [] };
}

const ledBy = ["objectId", "aboutUserId", "projectId", "actorId"] as const;

/** Whether an object has events in the organization. */
async function isKnown(sql: Sql, owner: string, id: string): Promise<boolean> {
  const [row] = await sql`select from events where owner = ${owner} and stream = ${id} limit 1`;
  return row !== undefined;
}

/** Numbers events that were committed a moment ago. Each event gets one position, whichever reader numbers it first. */
export async function numbered<R extends Unnumbered>(
  sql: Sql,
  rows: readonly R[],
): Promise<readonly (R & StoredEvent)[]> {
  const without = rows.filter(({ number }) => number === null).map(({ position }) => String(position));
  if (without.length > 0) await numberAll(sql);
  const found = without.length > 0 ? await numbersOf(sql, without) : [];
  const byPosition = new Map(found.map(({ position, ...number }) => [position, number]));
  return rows.map((row) => ({ ...row, ...byPosition.get(row.position) }) as R & StoredEvent);
}

const numbersOf = (sql: Sql, positions: readonly string[]) => sql<(Position & Pick<StoredEvent, "position">)[]>`
  select numbered.position, numbered.number, ${batchOf(sql)} as batch from event_numbers numbered
  where numbered.position = any(${[...positions]}::text[]::bigint[])`;
