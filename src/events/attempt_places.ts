import type { Sql } from "../postgres/pool/connect.ts";
import type { Chore } from "./sweep.ts";

/** The user whom an attempt is about, without an id if that is nobody, and its type. */
export type Attempted = { readonly owner: string; readonly userId: string; readonly type: string };

// The maximum number of attempts that become events in a minute. An organization gets three quarters, so that there is room for others.
const most = { user: 10, owner: 75, instance: 100 };

const userKey = ({ userId }: Attempted) => `user/${userId}`;
const ownerKey = ({ owner }: Attempted) => `owner/${owner}`;
const instanceKey = "instance";

const keysOf = (of: Attempted) => [
  { key: userKey(of), places: most.user },
  { key: ownerKey(of), places: most.owner },
  { key: instanceKey, places: most.instance },
];

/** The start of the minute, in milliseconds. */
export const minuteOf = (time: Date): number => time.getTime() - (time.getTime() % 60_000);

/** The places taken in the current minute, as far as this node knows. */
export function attemptPlaces() {
  let minute = 0;
  let taken = new Map<string, number>();

  return {
    /** Takes a place; false if there is none left. */
    take(of: Attempted, now: Date): boolean {
      if (minuteOf(now) !== minute) {
        minute = minuteOf(now);
        taken = new Map();
      }
      const keys = keysOf(of);
      if (keys.some(({ key, places }) => (taken.get(key) ?? 0) >= places)) return false;
      for (const { key } of keys) taken.set(key, (taken.get(key) ?? 0) + 1);
      return true;
    },

    /** Whether the user's own places are used up. */
    isUserFull: (of: Attempted): boolean => (taken.get(userKey(of)) ?? 0) >= most.user,

    /** Learns how many places all nodes have requested. */
    learn(inMinute: number, asked: ReadonlyMap<string, number>): void {
      if (inMinute !== minute) return;
      for (const [key, count] of asked) taken.set(key, Math.max(taken.get(key) ?? 0, count));
    },
  };
}

type Reserved = { readonly key: string; readonly asked: number; readonly granted: number };

/** Reserves places across all nodes, for as many attempts as possible, the first ones first. */
export async function reserve<A extends { readonly of: Attempted }>(sql: Sql, minute: number, asking: readonly A[]) {
  const users = Map.groupBy(asking, ({ of }) => of.userId);
  const wanted = [...users].map(([user_id, all]) => ({ user_id, owner: all[0]?.of.owner, wanted: all.length }));
  const rows = await reserveAll(sql, new Date(minute), JSON.stringify(wanted));
  const left = new Map(rows.map(({ key, granted }) => [key, granted]));
  const granted = asking.filter(({ of }) => {
    const keys = keysOf(of);
    if (keys.some(({ key }) => !left.get(key))) return false;
    for (const { key } of keys) left.set(key, (left.get(key) ?? 0) - 1);
    return true;
  });
  return { granted, taken: new Map(rows.map(({ key, asked }) => [key, asked])) };
}

// All nodes write rows in one order: those of users, of organizations, and that of the instance. Each row counts all requests, including
// those that got no place.
const reserveAll = (sql: Sql, minute: Date, wanted: string) => sql<Reserved[]>`
  with wants as materialized (
    select user_id, owner, wanted from jsonb_to_recordset(${wanted}::text::jsonb) as w (user_id text, owner text, wanted integer)
  ),
  users as (
    insert into attempt_places as p (minute, key, asked)
    select ${minute}, 'user/' || user_id, wanted from wants order by user_id
    on conflict (minute, key) do update set asked = p.asked + excluded.asked returning key, asked
  ),
  of_users as materialized (
    select u.key, w.owner, u.asked, greatest(0, least(w.wanted, ${most.user} - (u.asked - w.wanted))) as granted
    from wants w join users u on u.key = 'user/' || w.user_id
  ),
  owners as (
    insert into attempt_places as p (minute, key, asked)
    select ${minute}, 'owner/' || owner, sum(granted) from of_users group by owner order by owner
    on conflict (minute, key) do update set asked = p.asked + excluded.asked returning key, asked
  ),
  of_owners as materialized (
    select o.key, o.asked, greatest(0, least(w.granted, ${most.owner} - (o.asked - w.granted))) as granted
    from (select owner, sum(granted)::integer as granted from of_users group by owner) w
    join owners o on o.key = 'owner/' || w.owner
  ),
  instance as (
    insert into attempt_places as p (minute, key, asked)
    select ${minute}, ${instanceKey}, sum(granted) from of_owners
    on conflict (minute, key) do update set asked = p.asked + excluded.asked returning key, asked
  )
  select key, asked, granted from of_users
  union all select key, asked, granted from of_owners
  union all
  select i.key, i.asked, greatest(0, least(w.granted, ${most.instance} - (i.asked - w.granted)))
  from instance i, (select sum(granted)::integer as granted from of_owners) w`;

// A node whose clock is behind may still count an earlier minute.
const countedMs = 600_000;

/** Deletes the counts of minutes that are over. */
export const countedAttempts = (sql: Sql, clock: () => Date): Chore => ({
  name: "counted attempts",
  batch: async (limit) => (await deletePlaces(sql, new Date(clock().getTime() - countedMs), limit)).count,
});

const deletePlaces = (sql: Sql, before: Date, limit: number) => sql`
  delete from attempt_places where (minute, key) in (
    select minute, key from attempt_places where minute < ${before} order by minute limit ${limit} for update skip locked)`;
