import type { Cascade } from "../../events/fold.ts";

/** Ends a user's sessions, except the one that the fact keeps. */
export const sessionsEnd: Cascade = {
  makes: "session.ended",
  extent: "few",
  select: `select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from $input i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId'`,
};

/** Ends a user's access tokens, optionally under a condition on `i` and `t`. */
export const tokensEnd = (condition = "true"): Cascade => ({
  makes: "access_token.revoked",
  extent: "few",
  select: `select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from $input i join access_tokens t on t.user_id = i.stream where ${condition}`,
});

/** Ends the client secrets and keys of a machine. */
export const credentialsEnd: Cascade = {
  makes: "machine_credential.removed",
  extent: "few",
  select: `select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from $input i join machine_credentials c on c.user_id = i.stream`,
};

/**
 * Deletes the access tokens of the client secrets and keys that a select finds, in the order of their hashes, so that two deletions cannot
 * deadlock. A token that is being written meanwhile stays; it is valid only as long as its secret or key exists.
 */
export const machineTokensEnd = (select: string): string => `delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(${select}))))`;

/** Ends the user's browser sessions. Their refresh tokens may outlive the session that issued them, and so escape its cascade. */
export const browsersEnd = `delete from browser_sessions b using $input i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'`;
