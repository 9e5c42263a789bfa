import type { Deps } from "../deps.ts";
import { type Chore, type Deleted, type DueRows, deleteDue, inOrder, type Stretch } from "../events/sweep.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { deleteAttempts } from "./device/device_attempts.ts";
import { later } from "./http/settings.ts";
import type { SigningKeys } from "./tokens/signing_keys.ts";

// A node's clock may be ahead of others that compare the times, so nothing is deleted before it has expired for all of them.
const marginSeconds = 60;

const expired: Readonly<Record<string, DueRows>> = {
  "expired sign-ins to applications": { table: "sign_ons", key: "sign_on_id" },
  "expired sign-ins to the console": { table: "console_sign_ons", key: "code_hash" },
  "expired access tokens of applications": { table: "sign_on_tokens", key: "hash" },
  "expired access tokens of machines": { table: "machine_tokens", key: "hash" },
  "expired access tokens on behalf of users": { table: "exchanged_tokens", key: "hash" },
  "machines that acted for users long ago": { table: "acting_machines", key: "user_id, app_id, machine_id, api_id" },
  "expired assertions": { table: "client_assertions", key: "app_id, hash" },
  "expired pushed requests": { table: "pushed_requests", key: "hash" },
  // Approved codes are deleted with their sign-ins.
  "expired codes of devices": { table: "device_codes", key: "hash", where: "sign_on_id is null" },
};

// For a moment after the replacement, a client may still fetch the successor. After that, the family alone shows that a token was replaced.
const replacedSeconds = 300;
const replaced: DueRows = { table: "refresh_tokens", key: "hash", time: "replaced", where: "in_family" };

/** Deletes expired sign-ins, sessions and identifiers, and rotates the signing keys. */
export const providerChores = ({ sql, clock }: Deps, keys: SigningKeys): readonly Chore[] => {
  const ago = (seconds: number) => later(clock(), -seconds);
  return [
    ...Object.entries(expired).map(([name, rows]) =>
      inOrder(name, ({ from, most }) => deleteDue(sql, rows, { from, most, until: ago(marginSeconds) })),
    ),
    inOrder("expired sessions of browsers", (stretch) => deleteSessions(sql, ago(marginSeconds), stretch)),
    inOrder("replaced refresh tokens", ({ from, most }) =>
      deleteDue(sql, replaced, { from, most, until: ago(replacedSeconds) }),
    ),
    {
      name: "counted attempts of devices",
      batch: async (most) => (await deleteAttempts(sql, ago(marginSeconds), most)).count,
    },
    { name: "keys that sign tokens", batch: () => keys.rotate() },
  ];
};

/**
 * Deletes expired sessions of browsers, and tells how many it looked at. A session's row is kept as long as anything obtained through it is
 * in force, because deleting it would end that; it is looked at again a day later, or when any of that ends.
 */
const deleteSessions = (sql: Sql, until: Date, { from, most }: Stretch) => sql<Deleted[]>`
  with due as materialized (
    select session_id, coalesce(kept_until, expiration_date) as time,
      exists (select from sign_ons o where o.session_id = b.session_id) as kept
    from browser_sessions b
    where coalesce(kept_until, expiration_date) >= ${from} and coalesce(kept_until, expiration_date) <= ${until}
    order by coalesce(kept_until, expiration_date) limit ${most} for update skip locked
  ),
  gone as (delete from browser_sessions b using due where b.session_id = due.session_id and not due.kept),
  kept as (
    update browser_sessions b set kept_until = ${until}::timestamptz + interval '1 day' from due
    where b.session_id = due.session_id and due.kept
  )
  select count(*)::int as count, max(time) as last from due`;
