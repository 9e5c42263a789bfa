import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { sameBytes } from "../../src/security/compare.ts";
import { hashToken, isWellFormed, newToken } from "../../src/security/token.ts";

test("a token shows what it is for, is short, safe in a URL, and never the same", () => {
  for (const prefix of ["ps", "pt", "cs"] as const) {
    // More than random bytes are fetched for at once.
    const made = new Set(Array.from({ length: 500 }, () => newToken(prefix)));
    expect(made.size).toBe(500);
    for (const token of made) {
      expect(token).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{33}$`));
      expect(isWellFormed(token)).toBe(true);
    }
  }
});

test("a token has one length even when its random bytes are all zeros or all ones", () => {
  for (const byte of [0, 255]) {
    const token = newToken("ps", (bytes) => Buffer.alloc(bytes, byte));
    expect(token).toHaveLength(36);
    expect(isWellFormed(token)).toBe(true);
  }
});

test("a token has all of its random bytes, as a number in base 62", () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (const drawn of [Buffer.alloc(20, 255), Buffer.from([...Array(20).keys()]), randomBytes(20)]) {
    const secret = [...newToken("ps", () => drawn).slice(3, -6)];
    const value = secret.reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
    expect(value).toBe(BigInt(`0x${drawn.toString("hex")}`));
  }
});

test("every single mistyped character is noticed", () => {
  const token = newToken("pt");
  for (let at = 3; at < token.length; at++) {
    const other = token[at] === "x" ? "y" : "x";
    expect(isWellFormed(token.slice(0, at) + other + token.slice(at + 1)), `at ${at}`).toBe(false);
  }
});

test("a token cut short, lengthened or under another prefix of ours is not well formed", () => {
  const token = newToken("ps");
  for (const wrong of [token.slice(0, -1), `${token}0`, `pt${token.slice(2)}`, "ps_", `${token}\n`, ""]) {
    expect(isWellFormed(wrong), wrong).toBe(false);
  }
});

test("a token that is not ours needs 32 characters and nothing else", () => {
  expect(isWellFormed("x".repeat(32))).toBe(true);
  expect(isWellFormed("an operator's own token, with anything in it")).toBe(true);
  expect(isWellFormed("x".repeat(31))).toBe(false);
});

test("what is stored of a token is its SHA-256", () => {
  expect(hashToken("ü".repeat(32))).toEqual(
    createHash("sha256")
      .update(Buffer.from("ü".repeat(32)))
      .digest(),
  );
});

test("byte strings are compared whole, and of different lengths without an error", () => {
  expect(sameBytes(Buffer.of(1, 2, 3), Buffer.of(1, 2, 3))).toBe(true);
  expect(sameBytes(Buffer.of(1, 2, 3), Buffer.of(1, 2, 4))).toBe(false);
  expect(sameBytes(Buffer.of(1, 2, 3), Buffer.of(1, 2))).toBe(false);
});
