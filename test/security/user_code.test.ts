import { expect, test } from "vitest";
import { keyring } from "../../src/security/seal.ts";
import { makeUserCode, shownUserCode, userCodeMacs } from "../../src/security/user_code.ts";

const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

test("a code for a device has eight letters in two halves, none a vowel or taken for a digit", () => {
  const letters = new Set<string>();
  for (let i = 0; i < 1_000; i++) {
    const { code } = makeUserCode(keyring([one]));
    expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    for (const letter of code.replace("-", "")) letters.add(letter);
  }
  expect(letters.size).toBe(20);
});

test("a code is found however it is typed, also after a rotation of the master key, and no other is", () => {
  const { code, mac } = makeUserCode(keyring([one]));
  const isFound = (typed: string, keys = keyring([one])) => userCodeMacs(keys, typed).some((one) => one.equals(mac));
  for (const typed of [code, code.toLowerCase(), code.replace("-", ""), ` ${code.replace("-", " ‑ ")}`])
    expect(isFound(typed)).toBe(true);
  expect(isFound(code, keyring([two, one]))).toBe(true);
  expect(isFound(code, keyring([two]))).toBe(false);
  expect(isFound(`${code.slice(0, -1)}A`)).toBe(false);
});

test("a code is shown as devices show it, and anything else as it is", () => {
  expect(["bcdfghjk", "bcdf ghjk", "BC", ""].map(shownUserCode)).toEqual(["BCDF-GHJK", "BCDF-GHJK", "BC", ""]);
});
