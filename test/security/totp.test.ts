import { expect, test } from "vitest";
import { base32Of, newTotpSecret, stepOfCode, totpCode, totpStep, totpUri } from "../../src/security/totp.ts";

const secret = Buffer.from("12345678901234567890");
const at = (seconds: number) => new Date(seconds * 1000);

// RFC 6238, appendix B, for SHA-1.
test.each([
  [59, "94287082"],
  [1111111109, "07081804"],
  [1111111111, "14050471"],
  [1234567890, "89005924"],
  [2000000000, "69279037"],
  [20000000000, "65353130"],
])("the code of %d seconds is that of RFC 6238", (seconds, code) => {
  expect(totpCode(secret, totpStep(at(seconds)), 8)).toBe(code);
});

// RFC 4226, appendix D.
test.each([
  [0, "755224"],
  [1, "287082"],
  [9, "520489"],
] as const)("the code of step %d is that of RFC 4226", (step, code) => {
  expect(totpCode(secret, step)).toBe(code);
});

test("a code counts in its step, the one before and the one after, unless a later one was used", () => {
  const code = totpCode(secret, 100);
  const found = (step: number, last = -1) => stepOfCode(secret, code, { now: at(step * 30), last });
  expect([98, 99, 100, 101, 102].map((step) => found(step))).toEqual([undefined, 100, 100, 100, undefined]);
  expect([found(100, 99), found(100, 100), found(100, 101)]).toEqual([100, undefined, undefined]);
});

test("blanks and full-width digits are read, and nothing else is", () => {
  const code = totpCode(secret, 100);
  const wide = [...code].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join("");
  const found = (typed: string) => stepOfCode(secret, typed, { now: at(3000), last: -1 });
  for (const typed of [` ${code} `, `${code.slice(0, 3)} ${code.slice(3)}`, wide]) expect(found(typed)).toBe(100);
  for (const typed of ["", "0", `${code}0`, code.slice(1), "١٢٣٤٥٦"]) expect(found(typed)).toBeUndefined();
});

test("a secret has 160 bits, and is written in Base32 without padding", () => {
  expect(base32Of(secret)).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  expect(base32Of(Buffer.from("foob"))).toBe("MZXW6YQ");
  expect(newTotpSecret()).toHaveLength(20);
  expect(newTotpSecret().equals(newTotpSecret())).toBe(false);
});

test("the URI names the account, whatever its characters are", () => {
  expect(totpUri(secret, { issuer: "id.example", name: "ada & co@x" })).toBe(
    "otpauth://totp/id.example:ada%20%26%20co%40x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=id.example",
  );
});
