import type { Deps } from "../deps.ts";
import { type Chore, type Deleted, inOrder, type Stretch } from "../events/sweep.ts";
import type { Sql } from "../postgres/connect.ts";
import type { PhoneSettings } from "./phone_code.ts";

// A session ends by its time, which its first event says: the end is no event of its own. The clock of a node may be ahead of that
// of the database, which decides whether a row has to be there when the log is replayed.
const marginSeconds = 60;

/** Deletes sessions whose time is over, and tokens that can no longer be presented. */
export const expiryChores = ({ sql, clock }: Deps, { phoneSendWindowSeconds }: PhoneSettings): readonly Chore[] => {
  const secondsAgo = (seconds: number) => new Date(clock().getTime() - seconds * 1000);
  return [
    inOrder("expired sessions", (stretch) => deleteSessions(sql, secondsAgo(marginSeconds), stretch)),
    inOrder("expired bearers", (stretch) => deleteBearers(sql, clock(), stretch)),
    {
      name: "counted sends of codes",
      batch: async (most) => (await deleteSends(sql, secondsAgo(phoneSendWindowSeconds), most)).count,
    },
  ];
};

const deleteSessions = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from sessions where session_id in (
      select session_id from sessions where expiration_date >= ${from} and expiration_date <= ${until}
      order by expiration_date limit ${most} for update skip locked)
    returning session_id, expiration_date
  ),
  theirs as (delete from bearers b using gone where b.session_id = gone.session_id)
  select count(*)::int as count, max(expiration_date) as last from gone`;

const deleteBearers = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from bearers where hash in (
      select hash from bearers where expiration_date >= ${from} and expiration_date <= ${until}
      order by expiration_date limit ${most} for update skip locked)
    returning expiration_date
  )
  select count(*)::int as count, max(expiration_date) as last from gone`;

const deleteSends = (sql: Sql, before: Date, most: number) => sql`
  delete from phone_sends where (phone, n) in (
    select phone, n from phone_sends where time < ${before} order by time limit ${most} for update skip locked)`;
