import { type CommonPasswords, commonPasswords } from "./common_passwords.ts";
import type { HashQueueLimits } from "./hash_queue.ts";
import { type HashCost, type PasswordHasher, passwordHasher } from "./password.ts";
import { type Keyring, keyring } from "./seal.ts";

/** The parts that keep and check secrets: the password hasher, the master keys, and the list of common passwords. */
export type Secrets = {
  readonly passwords: PasswordHasher;
  readonly keyring: Keyring;
  readonly common: CommonPasswords;
};

export const secretsOf = (masterKeys: readonly Uint8Array[], hashing: HashQueueLimits & HashCost): Secrets => ({
  passwords: passwordHasher(hashing),
  keyring: keyring(masterKeys),
  common: commonPasswords,
});
