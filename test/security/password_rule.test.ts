import { expect, test } from "vitest";
import { commonPasswords as common, commonWords, isCommonPassword } from "../../src/security/common_passwords.ts";
import { brokenPasswordRules, MAX_PASSWORD_BYTES } from "../../src/security/password_rule.ts";

const strict = { minLength: 8, upper: true, lower: true, digit: true, symbol: true };
const free = { minLength: 1, upper: false, lower: false, digit: false, symbol: false };
const ada = { common, names: ["ada.lovelace", "Ada", "Lovelace", "countess@example.com"] };

test("a good password breaks no rule", () => {
  for (const good of [
    "Blue-Kettle-42",
    "Xk7#mPq2",
    "Ünter den Linden 7",
    "пАроль-Ключ-7",
    "Sun83749201847!",
    "Ä9 zz…yx",
  ]) {
    expect(brokenPasswordRules(good, strict, ada), good).toEqual([]);
  }
});

test("every broken rule is named at once", () => {
  expect(brokenPasswordRules("", strict, ada)).toEqual([
    "PASSWORD_TOO_SHORT",
    "PASSWORD_NO_UPPER",
    "PASSWORD_NO_LOWER",
    "PASSWORD_NO_DIGIT",
    "PASSWORD_NO_SYMBOL",
  ]);
  expect(brokenPasswordRules("lovelace", strict, ada)).toEqual([
    "PASSWORD_NO_UPPER",
    "PASSWORD_NO_DIGIT",
    "PASSWORD_NO_SYMBOL",
    "PASSWORD_TOO_COMMON",
    "PASSWORD_CONTAINS_NAME",
  ]);
  expect(brokenPasswordRules("a".repeat(1001), strict, ada)).toEqual([
    "PASSWORD_TOO_LONG",
    "PASSWORD_NO_UPPER",
    "PASSWORD_NO_DIGIT",
    "PASSWORD_NO_SYMBOL",
  ]);
});

const alone = [
  ["Xk7#mPq", "PASSWORD_TOO_SHORT"],
  ["xk7#mpqw", "PASSWORD_NO_UPPER"],
  ["XK7#MPQW", "PASSWORD_NO_LOWER"],
  ["Xkv#mPqw", "PASSWORD_NO_DIGIT"],
  ["Xk7vmPqw", "PASSWORD_NO_SYMBOL"],
  ["Password1!", "PASSWORD_TOO_COMMON"],
  ["x9-LoveLACE-7", "PASSWORD_CONTAINS_NAME"],
  ["x9-Countess-7", "PASSWORD_CONTAINS_NAME"],
] as const;
for (const [password, rule] of alone) {
  test(`${password} breaks ${rule} and nothing else`, () => {
    expect(brokenPasswordRules(password, strict, ada)).toEqual([rule]);
  });
}

test("a rule that the policy leaves out is not broken", () => {
  expect(brokenPasswordRules("vkqj", free, ada)).toEqual([]);
});

test("length counts characters as people do, not code units, and an accent typed apart is no character", () => {
  const four = { ...free, minLength: 4 };
  expect(brokenPasswordRules("🐳🦑🐙", four, ada)).toEqual(["PASSWORD_TOO_SHORT"]);
  expect(brokenPasswordRules("🐳🦑🐙🪼", four, ada)).toEqual([]);
  expect(brokenPasswordRules("ve\u0301k", four, ada)).toEqual(["PASSWORD_TOO_SHORT"]);
});

test("the longest password has 1000 bytes, whatever its characters", () => {
  const bytes = (n: number) => "xk7#mPqé".repeat(200).slice(0, n);
  const fits = `${"é".repeat(499)}xk`;
  expect(Buffer.byteLength(fits)).toBe(MAX_PASSWORD_BYTES);
  expect(brokenPasswordRules(fits, free, ada)).toEqual([]);
  expect(brokenPasswordRules(`${fits}v`, free, ada)).toEqual(["PASSWORD_TOO_LONG"]);
  expect(brokenPasswordRules(bytes(800), free, ada)).toEqual([]);
});

test("letters and digits of every script count", () => {
  const classes = { ...strict, minLength: 1 };
  expect(brokenPasswordRules("Жя٣·", classes, ada)).toEqual([]);
  expect(brokenPasswordRules("漢字", classes, ada)).toHaveLength(4);
});

test("names of fewer than four characters, and the domain of an address, may be in a password", () => {
  expect(brokenPasswordRules("Ada-Kv7-example", strict, ada)).toEqual([]);
});

test("megabytes are refused", () => {
  for (const huge of [`${"1".repeat(3_000_000)}a`, `${"a".repeat(3_000_000)}b`]) {
    expect(brokenPasswordRules(huge, strict, ada)).toContain("PASSWORD_TOO_LONG");
  }
});

const guessedFirst =
  "password 123456 12345678 qwerty Password1! Qwerty123! Admin123! Welcome1! Summer2024! P@ssw0rd! Pa$$w0rd1 " +
  "$ecret99 @dmin123! Adm1n! We1come! l3tme1n !!Passw0rd!! 123Password! 1q2w3e4r! Abc123!@# Abcd1234! qazWSX12! Trustno1 " +
  "Passwort1! Sommer2023! Geheim123! Contraseña1! Motdepasse1! Azerty123! Anna01011990! Michael2020! Iloveyou1! " +
  "IloveAnna1! aaaaaaaa 11111111 Aa1!Aa1! DragonDragon1 PasswordPassword1! 19900131 31.12.1999 87654321 Password123456789! " +
  "zxcvbnm, Liverpool1! Pokemon2024 ChangeMe1! Test1234! Root@123 Monkey!1 " +
  "Pass@word1 1qaz@WSX Aa@123456 P-a-s-s-w-o-r-d-1 Qwer!1234 Abcd@1234 Asdf#1234";
for (const password of guessedFirst.split(" ")) {
  test(`${password} is common`, () => expect(isCommonPassword(password, common)).toBe(true));
}

test("the list is long, and written the way it is compared", () => {
  const words = commonWords();
  expect(words.size).toBeGreaterThan(50_000);
  for (const each of words) expect(each).toBe(each.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase());
});
