import { expect, test } from "vitest";
import { reasonOf } from "../../../src/errors.ts";
import { commonPasswords as common } from "../../../src/security/common_passwords.ts";
import { isLocked, refuseBroken, refuseReused } from "../../../src/services/passwords/password.ts";

const policy = {
  ...{ minimumLength: 8, requiresUpper: true, requiresLower: true, requiresDigit: true, requiresSymbol: true },
  ...{ changeAtNextSignIn: false, resetRequiresVerifiedEmail: false, maximumAgeDays: 0 },
  ...{ historyDepth: 0, maximumAttempts: 10, lockSeconds: null, untilUnlocked: false },
  factorRequirement: "FACTOR_REQUIREMENT_OPTIONAL",
};
const check =
  (password: string, names: (string | null)[] = []) =>
  () =>
    refuseBroken({ field: "newPassword", password, names, policy }, { common });

test("a lock is in force until its end, or without one", () => {
  const now = new Date(1000);
  const cases = [
    [{ locked: false, lockedUntil: null }, false],
    [{ locked: true, lockedUntil: null }, true],
    [{ locked: true, lockedUntil: new Date(1001) }, true],
    [{ locked: true, lockedUntil: new Date(1000) }, false],
  ] as const;
  for (const [lock, inForce] of cases) expect(isLocked(lock, now)).toBe(inForce);
});

test("a password that breaks no rule is refused by none, and names that are missing count for nothing", () => {
  expect(check("Blue-Kettle-42", [null, "Ada", ""])).not.toThrow();
  expect(check("Blue-Kettle-42", ["kettle"])).toThrow();
});

test("earlier passwords are looked at one after the other until one fits", async () => {
  const seen: string[] = [];
  const bench = {
    hash: async () => "",
    verify: async (stored: string, password: string) => seen.push(stored) > 0 && stored === password,
  };
  await refuseReused(bench, "d", ["a", "b"]);
  const refusal = await refuseReused(bench, "b", ["a", "b", "c"]).catch((error: unknown) => error);
  expect(reasonOf(refusal)).toBe("PASSWORD_REUSED");
  expect(seen).toEqual(["a", "b", "a", "b"]);
});
