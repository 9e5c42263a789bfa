import { randomInt } from "node:crypto";
import { sameBytes } from "./compare.ts";
import type { Keyring } from "./seal.ts";

/** A code, as typed or generated, its purpose, and the user and number that it proves. */
export type CodeFor = { purpose: string; subject: string; code: string };

// No vowels, which could spell words, and no 0, 1 and L, which are easily confused.
const ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ";
const LENGTH = 6;

/**
 * Generates a code from characters that are hard to confuse, each equally likely. The default of six is meant to be typed within a few
 * attempts.
 */
export function newCode(pick: (below: number) => number = randomInt, length = LENGTH, alphabet = ALPHABET): string {
  return Array.from({ length }, () => alphabet.charAt(pick(alphabet.length))).join("");
}

/** The stored form of a code: its HMAC under the current master key, bound to its purpose. */
export function codeMac(keyring: Keyring, code: CodeFor): Buffer {
  return keyring.mac(code.purpose, signed(code));
}

/** The HMACs of a typed code under every master key, to find it by. */
export const codeMacs = (keyring: Keyring, typed: CodeFor): Buffer[] => keyring.macs(typed.purpose, signed(typed));

/** Compares a typed code with the stored HMAC in constant time. */
export function codeMatches(keyring: Keyring, stored: Uint8Array, typed: CodeFor): boolean {
  const equal = codeMacs(keyring, typed).map((mac) => sameBytes(mac, stored));
  return equal.includes(true);
}

/** Normalizes a typed code: case, spaces, dashes and full-width letters. */
export function normalizeCode(typed: string): string {
  return typed
    .normalize("NFKC")
    .replace(/[\s\p{Pd}\p{Cf}]/gu, "")
    .toUpperCase();
}

/** Splits a code of eight characters or more into groups of four, which are easier to read; users may type the dashes. */
export const groupedCode = (code: string): string =>
  code.length >= 8 ? (code.match(/.{1,4}/g) ?? []).join("-") : code;

function signed({ subject, code }: CodeFor): string {
  return JSON.stringify([subject, normalizeCode(code)]);
}
