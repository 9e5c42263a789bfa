import { createHmac, randomBytes } from "node:crypto";
import { newCode, normalizeCode } from "./code.ts";

/** Recovery codes as shown to the user, and in their stored form. */
export type RecoveryCodes = {
  readonly codes: readonly string[];
  readonly key: Buffer;
  readonly macs: readonly string[];
};

/** The number of recovery codes per user. */
export const recoveryCodeCount = 10;

const halfLength = 5;

/**
 * Makes recovery codes of 48 random bits each. Their HMACs use a key of their own, stored sealed. A rotation of the master key only
 * re-seals that key, because nobody could recompute the HMACs.
 */
export function makeRecoveryCodes(): RecoveryCodes {
  const key = randomBytes(32);
  const codes = Array.from(
    { length: recoveryCodeCount },
    () => `${newCode(undefined, halfLength)}-${newCode(undefined, halfLength)}`,
  );
  return { codes, key, macs: codes.map((code) => recoveryCodeMac(key, code)) };
}

/** The HMAC of a typed code in hexadecimal, to find it by. */
export const recoveryCodeMac = (key: Uint8Array, typed: string): string =>
  createHmac("sha256", key).update(normalizeCode(typed)).digest("hex");
