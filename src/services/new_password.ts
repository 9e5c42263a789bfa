import type { Secrets } from "../security/secrets.ts";
import { hashing, type PasswordUser, refuseBroken, refuseReused } from "./password.ts";

/** A password that somebody else than its user sets, or a user without the old one. */
export type PasswordToSet = {
  readonly user: Pick<PasswordUser, "names" | "policy" | "hash" | "history">;
  readonly password: string;
  readonly signal: AbortSignal;
};

/** Hashes the field `newPassword`, or refuses a password that breaks the policy or was used before. */
export function newPasswordHash(secrets: Secrets, { user, password, signal }: PasswordToSet): Promise<string> {
  const { names, policy, hash, history } = user;
  refuseBroken({ field: "newPassword", password, names, policy }, secrets);
  const earlier = [...(hash === null ? [] : [hash]), ...history].slice(0, policy.historyDepth);
  const work = secrets.passwords.inOnePlace(async (bench) => {
    await refuseReused(bench, password, earlier);
    return bench.hash(password);
  }, signal);
  return hashing(work);
}
