import type { Deps } from "../../deps.ts";
import { type Chore, type Deleted, inOrder, type Stretch } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

// A session ends at a time stated in its first event, so expiry is not an event of its own. A node's clock may be ahead of the database's,
// which decides whether a row must exist when the log is replayed.
const marginSeconds = 60;

/** Deletes expired sessions, and sign-ins that were never completed. */
export const sessionChores = ({ sql, clock }: Pick<Deps, "sql" | "clock">): readonly Chore[] => {
  const until = () => new Date(clock().getTime() - marginSeconds * 1000);
  return [
    inOrder("expired sessions", (stretch) => deleteSessions(sql, until(), stretch)),
    { name: "expired sign-ins", batch: async (most) => (await deletePending(sql, until(), most)).count },
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

const deletePending = (sql: Sql, until: Date, most: number) => sql`
  delete from pending_sessions where mac in (
    select mac from pending_sessions where expiration_date <= ${until}
    order by expiration_date limit ${most} for update skip locked)`;
