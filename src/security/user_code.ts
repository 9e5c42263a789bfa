import { codeMac, codeMacs, newCode, normalizeCode } from "./code.ts";
import type { Keyring } from "./seal.ts";

// RFC 8628, 6.1: only letters, which need no keyboard switching, and no vowels, which could spell words.
const alphabet = "BCDFGHJKLMNPQRSTVWXZ";
const length = 8;
const purpose = "user code of a device";

/** Makes the code that a user enters for a device: its text, and the HMAC for finding it. */
export function makeUserCode(keyring: Keyring) {
  const code = newCode(undefined, length, alphabet);
  return { code: shownUserCode(code), mac: codeMac(keyring, { purpose, subject: "", code }) };
}

/** The HMACs of a typed code under every master key. */
export const userCodeMacs = (keyring: Keyring, typed: string): readonly Buffer[] =>
  codeMacs(keyring, { purpose, subject: "", code: typed });

/** Formats a code as devices show it, in two halves, however it was typed. */
export function shownUserCode(typed: string): string {
  const code = normalizeCode(typed);
  return code.length === length ? `${code.slice(0, length / 2)}-${code.slice(length / 2)}` : code;
}
