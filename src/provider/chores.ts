import type { Deps } from "../deps.ts";
import { type Chore, type DueRows, deleteDue, inOrder } from "../events/sweep.ts";
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
  // A session's row is kept as long as anything obtained through it is in force, because deleting it would end that.
  "expired sessions of browsers": {
    table: "browser_sessions",
    key: "session_id",
    where: "not exists (select from sign_ons o where o.session_id = browser_sessions.session_id)",
  },
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
