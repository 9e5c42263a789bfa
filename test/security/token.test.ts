import { createHash } from "node:crypto";
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

test("the secret of a token has 160 bits: 27 of 62 digits, each as likely as any other", () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let drawn = 0;
  // As often as there are digits, so that all bytes are drawn equally often.
  const secrets = Array.from(digits, () => newToken("ps", () => drawn++ % 256).slice(3, -6));
  for (const secret of secrets) expect(secret).toHaveLength(27);
  const times = Map.groupBy(secrets.join(""), (digit) => digit);
  expect([...times].map(([digit, { length }]) => `${digit} ${length}`)).toEqual(
    [...digits].map((digit) => `${digit} 27`),
  );
  expect(27 * Math.log2(62)).toBeGreaterThan(160);
});

test("the digits of a token's secret are random at each place", () => {
  const secrets = Array.from({ length: 3_000 }, () => newToken("ps").slice(3, -6));
  // That one of 62 digits is missing at a place has a probability of 1e-18.
  for (let at = 0; at < 27; at++) expect(new Set(secrets.map((secret) => secret[at])).size).toBe(62);
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
