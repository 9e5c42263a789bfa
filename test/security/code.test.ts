import { expect, test } from "vitest";
import { codeMac, codeMatches, newCode, normalizeCode } from "../../src/security/code.ts";
import { keyring } from "../../src/security/seal.ts";

const one = Buffer.alloc(32, 1);
const two = Buffer.alloc(32, 2);
const sent = { purpose: "phone code", subject: "user/+41446681800", code: "7F3K9Q" };

test("a code has six characters, none that is taken for another", () => {
  for (let i = 0; i < 500; i++) expect(newCode()).toMatch(/^[2-9B-DF-HJKMNP-TV-Z]{6}$/);
});

test("every character is as likely as any other", () => {
  const seen = new Map<string, number>();
  for (let i = 0; i < 5000; i++) for (const each of newCode()) seen.set(each, (seen.get(each) ?? 0) + 1);
  expect(seen.size).toBe(28);
  const expected = 30_000 / 28;
  const chiSquare = [...seen.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
  // With 27 degrees of freedom a fair source passes 78 less than once in a million runs.
  expect(chiSquare).toBeLessThan(78);
});

test("a code is known however it is typed", () => {
  for (const typed of ["7F3K9Q", "7f3k9q", " 7f3-k9q ", "7F3 K9Q", "7f3\u2011k9q\u200b", "７Ｆ３Ｋ９Ｑ"]) {
    expect(normalizeCode(typed), typed).toBe("7F3K9Q");
  }
});

test("the stored HMAC fits the code, for its user and number and purpose only", () => {
  const keys = keyring([one]);
  const stored = codeMac(keys, sent);
  expect(codeMatches(keys, stored, { ...sent, code: "7f3-k9q" })).toBe(true);
  expect(codeMatches(keys, stored, { ...sent, code: "7F3K9R" })).toBe(false);
  expect(codeMatches(keys, stored, { ...sent, subject: "user/+41446681801" })).toBe(false);
  expect(codeMatches(keys, stored, { ...sent, purpose: "email code" })).toBe(false);
});

test("a code sent before a rotation of the key is still good after it", () => {
  const stored = codeMac(keyring([one]), sent);
  expect(codeMatches(keyring([two, one]), stored, sent)).toBe(true);
  expect(codeMatches(keyring([two]), stored, sent)).toBe(false);
});
