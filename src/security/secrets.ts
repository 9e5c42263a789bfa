import { type CommonPasswords, commonPasswords } from "./common_passwords.ts";
import { type HashCost, type PasswordHasher, passwordHasher } from "./password.ts";
import { type Keyring, keyring } from "./seal.ts";
import type { TurnLimits } from "./turns.ts";

/** What keeps and checks secrets: password hashes, the master keys, and the list of passwords that everybody tries. */
export type Secrets = {
  readonly passwords: PasswordHasher;
  readonly keys: Keyring;
  readonly common: CommonPasswords;
};

/** Brings together what keeps secrets, from the master keys and the cost and limits of hashing. */
export function secretsOf(masterKeys: readonly Uint8Array[], hashing: TurnLimits & HashCost): Secrets {
  return { passwords: passwordHasher(hashing), keys: keyring(masterKeys), common: commonPasswords() };
}
