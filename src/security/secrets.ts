import { type CommonPasswords, ownPasswords } from "./common_passwords.ts";
import type { HashQueueLimits } from "./hash_queue.ts";
import { type HashCost, type PasswordHasher, passwordHasher } from "./password.ts";
import { type Keyring, keyring } from "./seal.ts";

/** What keeps and checks secrets: the password hasher, the master keys, and the list of common passwords. */
export type Secrets = {
  readonly passwords: PasswordHasher;
  readonly keyring: Keyring;
  readonly common: CommonPasswords;
};

export function secretsOf(
  masterKeys: readonly Uint8Array[],
  hashing: HashQueueLimits & HashCost,
  common: CommonPasswords = ownPasswords(),
): Secrets {
  return { passwords: passwordHasher(hashing), keyring: keyring(masterKeys), common };
}
