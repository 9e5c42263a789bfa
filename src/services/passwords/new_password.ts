import type { Call } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type PasswordBench, samePassword } from "../../security/password.ts";
import type { Secrets } from "../../security/secrets.ts";
import { hashing, type PasswordUser, placeOf, refuseBroken, refuseReused, type TriedUser } from "./password.ts";

/** A password set by somebody other than its user, or by a user without the old one. */
export type PasswordToSet = {
  readonly user: Pick<PasswordUser, "names" | "policy" | "hash" | "history">;
  readonly password: string;
  readonly call: Call;
};

/** Hashes the field `newPassword`; refuses a password that breaks the policy or was used before. */
export function newPasswordHash(secrets: Secrets, { user, password, call }: PasswordToSet): Promise<string> {
  const { names, policy, hash, history } = user;
  refuseBroken({ field: "newPassword", password, names, policy }, secrets);
  const { historyDepth } = policy;
  // The same check as if the old password were known: the current one, and as many earlier ones as the policy says.
  const present = hash === null || historyDepth === 0 ? [] : [hash];
  const earlier = [...present, ...history.slice(0, historyDepth)];
  const work = secrets.passwords.inOnePlace(async (bench) => {
    await refuseReused(bench, password, earlier);
    return bench.hash(password);
  }, placeOf(call));
  return hashing(work);
}

/** A correct old password and its replacement, within a job of the hash queue. */
export type Replacement = {
  readonly bench: PasswordBench;
  readonly user: TriedUser;
  readonly oldPassword: string;
  readonly newPassword: string;
};

/** Hashes the new password; refuses one that equals the old one, breaks the policy or was used before. */
export async function replacementHash(
  secrets: Pick<Secrets, "common">,
  { bench, user, oldPassword, newPassword }: Replacement,
): Promise<string> {
  const { names, policy, history } = user;
  if (samePassword(oldPassword, newPassword)) throw unchanged();
  refuseBroken({ field: "newPassword", password: newPassword, names, policy }, secrets);
  await refuseReused(bench, newPassword, history.slice(0, policy.historyDepth));
  return bench.hash(newPassword);
}

function unchanged() {
  const reason = "PASSWORD_UNCHANGED";
  return refuse.because(reason, { violations: [{ field: "newPassword", text: reason, reason }] });
}
