import type { Fragment, Sql } from "../postgres/pool/connect.ts";

/** The places of a worker, and the progress of the organizations' turns. */
export type Turn = {
  /** The number of free places. */
  readonly most: number;
  readonly leaseSeconds: number;
  /** How many more places may go to each organization that has some, and to each that has none. */
  readonly rooms: ReadonlyMap<string, number>;
  readonly roomOfOthers: number;
  /** The organization whose turn was last. */
  readonly after: string;
};

/** Messages taken by a worker, the organization whose turn was last, and whether some could not be visited yet. */
export type Taken<M> = { readonly messages: readonly M[]; readonly after: string; readonly isCut: boolean };

/** The maximum number of due messages at which organizations are not visited one by one. */
const few = 96;
/** The number of organizations visited by one statement. One with nothing due costs as much as one whose turn it is. */
const mostVisits = 500;

/**
 * The places that an organization may have in addition to those that it holds: all its places are at most twice those that stay free, so
 * that there is room for others, whatever the first ones hold.
 */
export const roomFor = (held: number, free: number): number =>
  Math.max(held === 0 ? 1 : 0, Math.floor((2 * free - held) / 3));

/** An outbox: its table, the key of its messages, and the statement that leases those in `due (id)` and returns them. */
type Outbox = { readonly table: string; readonly key: string; readonly lease: Fragment };

type Visited = { readonly visit: number | null; readonly visited: string | null };

/** Leases messages that are due, some of each organization whose turn it is; no other worker takes them until the lease expires. */
export async function takeInTurns<M extends { readonly id: string }>(
  sql: Sql,
  outbox: Outbox,
  turn: Turn,
): Promise<Taken<M>> {
  const rows = await sql<(M & Partial<Visited> & { readonly id: string | null })[]>`
    with recursive ${dueInTurns(sql, outbox, turn)}, taken as (${outbox.lease})
    select taken.*, at.visit, at.visited from (select) one
    left join (select visit, owner as visited from walk order by visit desc limit 1) at on true left join taken on true`;
  const { visit = 0, visited } = rows[0] ?? {};
  return {
    messages: rows.filter(({ id }) => id !== null),
    after: visited ?? turn.after,
    isCut: visit === mostVisits,
  };
}

/**
 * Locks messages of an outbox that are due, some of each organization whose turn it is: `due (id)`. If few are due, their organizations are
 * known at once; otherwise organizations are visited.
 */
function dueInTurns(sql: Sql, { table, key }: Outbox, turn: Turn): Fragment {
  const { most, rooms, roomOfOthers } = turn;
  const messages = sql.unsafe(table);
  const id = sql`m.${sql.unsafe(key)} as id`;
  // Without the id, the database would read all messages in the index of owners and sort them, if it planned this for an empty table.
  return sql`
    oldest as materialized (
      select d.owner, d.id, row_number() over () as place from (
        select m.owner, ${id} from ${messages} m where m.dead is null and m.due <= now() order by m.due limit ${few}
      ) d
    ), walk (visit, owner, is_due, found, again) as (${visits(sql, messages, turn)}), turns as materialized (
      select t.owner, coalesce(h.room, ${roomOfOthers}) as room
      from (
        select owner, min(place) as place from oldest where (select count(*) from oldest) < ${few} group by owner
        union all
        select owner, visit from walk where is_due
      ) t left join unnest(${[...rooms.keys()]}::text[], ${[...rooms.values()]}::int[]) as h (owner, room) on h.owner = t.owner
      where coalesce(h.room, ${roomOfOthers}) > 0
      order by h.owner is not null, t.place limit ${most}
    ), due as materialized (
      select m.id from turns t cross join lateral (
        select ${id} from ${messages} m
        where m.dead is null and (m.owner, m.due) >= (t.owner, '-infinity'::timestamptz) and (m.owner, m.due) <= (t.owner, now())
        order by m.owner, m.due limit least(t.room, greatest(1, ${most} / (select count(*) from turns))) for update skip locked
      ) m
    )`;
}

/**
 * Visits organizations in the index of owners with one lookup each, from the one whose turn was last round to it again, until as many as
 * there are places have something due and room for it.
 */
function visits(sql: Sql, messages: Fragment, { most, rooms, after }: Turn): Fragment {
  const full = [...rooms].flatMap(([owner, room]) => (room === 0 ? [owner] : []));
  return sql`
      select 0, ${after}::text, false, 0, false where (select count(*) from oldest) = ${few}
      union all
      select w.visit + 1, next.owner, next.is_due, w.found + next.is_due::int, next.again
      from walk w cross join lateral (
        select n.owner, n.due <= now() and not n.owner = any(${full}::text[]) as is_due, n.again from (
          (select m.owner, m.due, w.again from ${messages} m where m.dead is null and m.owner > w.owner order by m.owner, m.due limit 1)
          union all
          (select m.owner, m.due, true from ${messages} m where m.dead is null and not w.again order by m.owner, m.due limit 1)
          limit 1
        ) n
      ) next
      where w.visit < ${mostVisits} and w.found < ${most} and not (next.again and next.owner > ${after})`;
}
