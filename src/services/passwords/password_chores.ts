import type { Deps } from "../../deps.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

/** Deletes requests for a new password that nobody can answer, expired known browsers, and expired counts of wrong passwords. */
export const passwordChores = ({ sql, clock }: Pick<Deps, "sql" | "clock">): readonly Chore[] => [
  { name: "old requests for a new password", batch: async (most) => (await deleteRequests(sql, most)).count },
  { name: "browsers known no more", batch: async (most) => (await deleteKnown(sql, clock(), most)).count },
  {
    name: "failed sign-ins of unknown callers",
    batch: async (most) => (await deleteFailures(sql, clock(), most)).count,
  },
];

// A worker answers them within a second; one still waiting has failed every time.
const deleteRequests = (sql: Sql, most: number) => sql`
  delete from password_reset_requests where request_id in (
    select request_id from password_reset_requests where created < now() - interval '10 minutes'
    limit ${most} for update skip locked)`;

const deleteKnown = (sql: Sql, now: Date, most: number) => sql`
  delete from known_browsers where hash in (
    select hash from known_browsers where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;

const deleteFailures = (sql: Sql, now: Date, most: number) => sql`
  delete from sign_in_failures where subject in (
    select subject from sign_in_failures where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;
