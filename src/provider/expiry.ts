import type { Deps } from "../deps.ts";
import { type Chore, type Deleted, inOrder, type Stretch } from "../events/sweep.ts";
import type { Sql } from "../postgres/connect.ts";
import { deleteAttempts } from "./device_attempts.ts";
import { later } from "./settings.ts";
import type { SigningKeys } from "./signing_keys.ts";

// The clock of a node may be ahead of those that compare the times: nothing is deleted before it has expired for all.
const marginSeconds = 60;

/** Deletes sign-ins, sessions and identifiers that can no longer be presented, and rotates the keys that sign. */
export const providerChores = ({ sql, clock }: Deps, keys: SigningKeys): readonly Chore[] => {
  const until = () => later(clock(), -marginSeconds);
  return [
    inOrder("expired sign-ins to applications", (stretch) => deleteSignOns(sql, until(), stretch)),
    inOrder("expired access tokens of applications", (stretch) => deleteTokens(sql, until(), stretch)),
    inOrder("replaced refresh tokens", (stretch) => deleteReplaced(sql, later(clock(), -replacedSeconds), stretch)),
    inOrder("expired sessions of browsers", (stretch) => deleteSessions(sql, until(), stretch)),
    inOrder("expired assertions", (stretch) => deleteAssertions(sql, until(), stretch)),
    inOrder("expired codes of devices", (stretch) => deleteDeviceCodes(sql, until(), stretch)),
    {
      name: "counted attempts of devices",
      batch: async (most) => (await deleteAttempts(sql, until(), most)).count,
    },
    { name: "keys that sign tokens", batch: () => keys.rotate() },
  ];
};

const deleteSignOns = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from sign_ons where sign_on_id in (
      select sign_on_id from sign_ons where expiration_date >= ${from} and expiration_date <= ${until}
      order by expiration_date limit ${most} for update skip locked)
    returning expiration_date
  )
  select count(*)::int as count, max(expiration_date) as last from gone`;

const deleteTokens = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from sign_on_tokens where hash in (
      select hash from sign_on_tokens where expiration_date >= ${from} and expiration_date <= ${until}
      order by expiration_date limit ${most} for update skip locked)
    returning expiration_date
  )
  select count(*)::int as count, max(expiration_date) as last from gone`;

// The successor is shown for a moment after the replacement. Later the family alone tells that a token was replaced.
const replacedSeconds = 300;

const deleteReplaced = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from refresh_tokens where hash in (
      select hash from refresh_tokens where in_family and replaced >= ${from} and replaced <= ${until}
      order by replaced limit ${most} for update skip locked)
    returning replaced
  )
  select count(*)::int as count, max(replaced) as last from gone`;

// The row of a session that anything still came of is left: its deletion would end that.
const deleteSessions = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from browser_sessions where session_id in (
      select b.session_id from browser_sessions b where b.expiration_date >= ${from} and b.expiration_date <= ${until}
        and not exists (select from sign_ons o where o.session_id = b.session_id)
      order by b.expiration_date limit ${most} for update skip locked)
    returning expiration_date
  )
  select count(*)::int as count, max(expiration_date) as last from gone`;

const deleteAssertions = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from client_assertions where (app_id, hash) in (
      select app_id, hash from client_assertions where expiration_date >= ${from} and expiration_date <= ${until}
      order by expiration_date limit ${most} for update skip locked)
    returning expiration_date
  )
  select count(*)::int as count, max(expiration_date) as last from gone`;

// Those that were approved go with their sign-ins.
const deleteDeviceCodes = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with gone as (
    delete from device_codes where hash in (
      select hash from device_codes
      where expiration_date >= ${from} and expiration_date <= ${until} and sign_on_id is null
      order by expiration_date limit ${most} for update skip locked)
    returning expiration_date
  )
  select count(*)::int as count, max(expiration_date) as last from gone`;
