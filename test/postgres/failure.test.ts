import { expect, test } from "vitest";
import {
  isLockLost,
  isOutcomeUnknown,
  isSpoiled,
  isStatementTimeout,
  isUnavailable,
  markSent,
  markUnsent,
} from "../../src/postgres/failure.ts";

const failure = (code: string) => Object.assign(new Error(code), { code });

const passing = [
  ...[
    "08000",
    "08003",
    "08004",
    "08006",
    "08P01",
    "53000",
    "53100",
    "53200",
    "53300",
    "53400",
    "58000",
    "58030",
    "58P01",
  ],
  ...[
    "57P01",
    "57P02",
    "57P03",
    "57P04",
    "57P05",
    "28000",
    "28P01",
    "3D000",
    "25006",
    "25P02",
    "25P03",
    "40001",
    "40P01",
  ],
];
const lasting = [
  "XX000",
  "XX001",
  "XX002",
  "42501",
  "42P01",
  "42703",
  "22P02",
  "23514",
  "0A000",
  "54000",
  "2BP01",
  "F0000",
];

test.each(passing)("%s is a state that passes: the database is unavailable", (code) => {
  expect(isUnavailable(failure(code))).toBe(true);
});

test.each(lasting)("%s is a fault that no later try mends", (code) => {
  expect(isUnavailable(failure(code))).toBe(false);
});

test("no write that was refused for sure is called unknown, and none that may have happened is called undone", () => {
  const unknown = passing.filter((code) => {
    const one = failure(code);
    markSent(one);
    return isOutcomeUnknown(one);
  });
  expect(unknown.sort()).toEqual(["08006", "57P01", "57P02", "57P04", "57P05"]);
});

test("a write during which the server could not write its log may have happened", () => {
  const [panic, refused] = ["53100", "53100"].map((code) => failure(code));
  markSent(panic);
  markSent(refused);
  expect(isOutcomeUnknown(Object.assign(panic ?? {}, { severity: "PANIC" }))).toBe(true);
  expect(isOutcomeUnknown(Object.assign(refused ?? {}, { severity: "ERROR" }))).toBe(false);
});

test("whatever fails while a connection is opened did nothing, and may pass", () => {
  for (const code of ["42501", "55000", "CERT_HAS_EXPIRED", "ANYTHING"]) {
    const one = failure(code);
    markUnsent(one);
    expect([isUnavailable(one), isOutcomeUnknown(one)]).toEqual([true, false]);
  }
});

test("what ends a statement for its time or its locks is told apart", () => {
  expect(["57014", "25P04", "55P03"].map((code) => isStatementTimeout(failure(code)))).toEqual([true, true, false]);
  expect(["40001", "40P01", "55P03", "57014"].map((code) => isLockLost(failure(code)))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test("a connection whose state only a new one heals is not used again", () => {
  expect(["57P01", "57P04", "25P02", "08P01", "23505", "57014"].map((code) => isSpoiled(failure(code)))).toEqual([
    ...[true, true, true, true],
    ...[false, false],
  ]);
  expect(isSpoiled(Object.assign(failure("40001"), { severity: "FATAL" }))).toBe(true);
});
