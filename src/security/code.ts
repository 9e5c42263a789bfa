import { randomInt } from "node:crypto";
import { sameBytes } from "./compare.ts";
import type { Keyring } from "./seal.ts";

/** A code as typed or made, and its purpose: the user and the number that it proves. */
export type CodeFor = { purpose: string; subject: string; code: string };

// No vowels, which could spell a word; no 0, 1 and L, which are mistaken for letters or digits.
const ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ";
const LENGTH = 6;

/** Makes a code of characters that are hard to confuse, each equally likely: six of them, to be typed within a few tries. */
export function newCode(pick: (below: number) => number = randomInt, length = LENGTH, alphabet = ALPHABET): string {
  return Array.from({ length }, () => alphabet.charAt(pick(alphabet.length))).join("");
}

/** Returns the stored form of a code: its HMAC under the current master key, bound to its purpose. */
export function codeMac(keyring: Keyring, code: CodeFor): Buffer {
  return keyring.mac(code.purpose, signed(code));
}

/** Returns the HMACs of a typed code under every master key, to find it by. */
export const codeMacs = (keyring: Keyring, typed: CodeFor): Buffer[] => keyring.macs(typed.purpose, signed(typed));

/** Compares a typed code with the stored HMAC in constant time. */
export function codeMatches(keyring: Keyring, stored: Uint8Array, typed: CodeFor): boolean {
  const equal = codeMacs(keyring, typed).map((mac) => sameBytes(mac, stored));
  return equal.includes(true);
}

/** Normalizes a typed code: other case, blanks, dashes and full-width letters. */
export function normalizeCode(typed: string): string {
  return typed
    .normalize("NFKC")
    .replace(/[\s\p{Pd}\p{Cf}]/gu, "")
    .toUpperCase();
}

function signed({ subject, code }: CodeFor): string {
  return JSON.stringify([subject, normalizeCode(code)]);
}
