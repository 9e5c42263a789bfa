import type { Deps } from "../deps.ts";
import { type Chore, type DueRows, deleteDue, inOrder } from "../events/sweep.ts";
import { deleteAttempts } from "./device/device_attempts.ts";
import { later } from "./http/settings.ts";
import type { SigningKeys } from "./tokens/signing_keys.ts";

// The clock of a node may be ahead of those that compare the times: nothing is deleted before it has expired for all.
const marginSeconds = 60;

const expired: Readonly<Record<string, DueRows>> = {
  "expired sign-ins to applications": { table: "sign_ons", key: "sign_on_id" },
  "expired access tokens of applications": { table: "sign_on_tokens", key: "hash" },
  // The row of a session that anything still came of is left: its deletion would end that.
  "expired sessions of browsers": {
    table: "browser_sessions",
    key: "session_id",
    where: "not exists (select from sign_ons o where o.session_id = browser_sessions.session_id)",
  },
  "expired assertions": { table: "client_assertions", key: "app_id, hash" },
  // Those that were approved go with their sign-ins.
  "expired codes of devices": { table: "device_codes", key: "hash", where: "sign_on_id is null" },
};

// The successor is shown for a moment after the replacement. Later the family alone tells that a token was replaced.
const replacedSeconds = 300;
const replaced: DueRows = { table: "refresh_tokens", key: "hash", time: "replaced", where: "in_family" };

/** Deletes sign-ins, sessions and identifiers that can no longer be presented, and rotates the keys that sign. */
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
