import { randomInt } from "node:crypto";
import { sameBytes } from "./compare.ts";
import type { Keyring } from "./seal.ts";

/** A code as it was typed or made, and what it is for: the user and the number it proves. */
export type CodeFor = { purpose: string; subject: string; code: string };

// Neither vowels, which could spell a word, nor 0, 1 and L, which are taken for letters or digits.
const ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ";
const LENGTH = 6;

/** Makes a code of six characters that are hard to confuse, each equally likely. */
export function newCode(pick: (below: number) => number = randomInt): string {
  return Array.from({ length: LENGTH }, () => ALPHABET.charAt(pick(ALPHABET.length))).join("");
}

/** What is stored of a code: its HMAC under the current master key, bound to what it is for. */
export function codeMac(keyring: Keyring, code: CodeFor): Buffer {
  return keyring.mac(code.purpose, signed(code));
}

/** Says in constant time whether a typed code is the one whose HMAC is stored. */
export function codeMatches(keyring: Keyring, stored: Uint8Array, typed: CodeFor): boolean {
  const equal = keyring.macs(typed.purpose, signed(typed)).map((mac) => sameBytes(mac, stored));
  return equal.includes(true);
}

/** A code as people type it, with other case, blanks, dashes or full-width letters, brought to the form it was sent in. */
export function normalizeCode(typed: string): string {
  return typed
    .normalize("NFKC")
    .replace(/[\s\p{Pd}\p{Cf}]/gu, "")
    .toUpperCase();
}

function signed({ subject, code }: CodeFor): string {
  return JSON.stringify([subject, normalizeCode(code)]);
}
