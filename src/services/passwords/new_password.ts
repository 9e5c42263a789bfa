import type { Call } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type PasswordBench, samePassword } from "../../security/password.ts";
import type { Secrets } from "../../security/secrets.ts";
import { hashing, type PasswordUser, placeOf, refuseBroken, refuseReused, type TriedUser } from "./password.ts";

/** A password that somebody else than its user sets, or a user without the old one. */
export type PasswordToSet = {
  readonly user: Pick<PasswordUser, "names" | "policy" | "hash" | "history">;
  readonly password: string;
  readonly call: Call;
};

/** Hashes the field `newPassword`, or refuses a password that breaks the policy or was used before. */
export function newPasswordHash(secrets: Secrets, { user, password, call }: PasswordToSet): Promise<string> {
  const { names, policy, hash, history } = user;
  refuseBroken({ field: "newPassword", password, names, policy }, secrets);
  const { historyDepth } = policy;
  // As where the old password is known: the present one, and as many before it as the policy says.
  const present = hash === null || historyDepth === 0 ? [] : [hash];
  const earlier = [...present, ...history.slice(0, historyDepth)];
  const work = secrets.passwords.inOnePlace(async (bench) => {
    await refuseReused(bench, password, earlier);
    return bench.hash(password);
  }, placeOf(call));
  return hashing(work);
}

/** A right old password and the one that replaces it, within a job of the hash queue. */
export type Replacement = {
  readonly bench: PasswordBench;
  readonly user: TriedUser;
  readonly oldPassword: string;
  readonly newPassword: string;
};

/** Hashes the new password, or refuses one that is the old one, breaks the policy or was used before. */
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
