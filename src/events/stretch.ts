import type { Fragment, Sql } from "../postgres/pool/connect.ts";
import { placesFor } from "../security/places.ts";
import { batchOf, endOfLog, eventsIn, isHeld, type StoredEvent } from "./follow.ts";
import type { Position } from "./position.ts";

/** The number of event numbers that one statement scans. */
export const stretchLength = 5_000n;

/** The start of a stretch of the log, the condition on `events` that its events match, and the maximum number of them. */
export type Wanted = { readonly at: Position; readonly where: Fragment; readonly most: number };

/** The matching events of a stretch, and its end; no end if there may be more events in it. */
export type Stretch = {
  readonly events: readonly StoredEvent[];
  readonly upTo: Position | undefined;
  /** Whether the log may have more. */
  readonly isMore: boolean;
};

// Readers that catch up take turns by organization, and wait as long as necessary.
const inPlace = placesFor({ limit: 4, waitMs: 2 ** 31 - 1 });

/**
 * Reads the matching events of the next stretch; undefined if the log lost the history of the position. Finding a rare event thus takes
 * many short statements instead of one long one.
 */
export const stretchAfter = (sql: Sql, wanted: Wanted): Promise<Stretch | undefined> =>
  inPlace(() => readAfter(sql, wanted));

async function readAfter(sql: Sql, { at, where, most }: Wanted): Promise<Stretch | undefined> {
  const end = await endOfStretch(sql, at.number);
  const events = await sql<StoredEvent[]>`
    ${eventsIn(sql, { after: at.number, upTo: end.number, limit: most, where })}`;
  // Checked last: events read after a failover must not pass for the continuation of the position.
  if (!(await isHeld(sql, at))) return undefined;
  const isFull = events.length === most;
  return { events, upTo: isFull ? undefined : end, isMore: isFull || !end.isLast };
}

type End = Position & { readonly isLast: boolean };

/** Finds the end of the next stretch, which is the end of the log if that comes first. Numbers whose events are deleted are skipped. */
async function endOfStretch(sql: Sql, after: bigint): Promise<End> {
  const [end] = await sql<End[]>`
    select numbered.number, ${batchOf(sql)} as batch, "isLast"
    from (
      select least(last, next.number + ${stretchLength - 1n}::bigint) as number, last < next.number + ${stretchLength - 1n}::bigint as "isLast"
      from (select last from event_batches order by first desc limit 1) b cross join lateral (
        select coalesce((select number from event_numbers where number > ${after} order by number limit 1), last) as number) next
    ) numbered`;
  return end ?? { ...(await endOfLog(sql)), isLast: true };
}
