import { expect, test } from "vitest";
import { judge, spread } from "../../../src/services/domains/judge_check.ts";

const [hour, day] = [3_600, 86_400];
const pending = { proven: false, missingSince: null, isTaken: false, waitedSeconds: 600, secondsLeft: null };
const verified = { ...pending, proven: true, waitedSeconds: 100 * day };
const missing = { ...verified, missingSince: new Date(0), secondsLeft: 2 * day };

test.each([
  ["a pending domain", pending, "found", { result: "found", becomes: "verified", seconds: day }],
  ["a pending domain", pending, "missing", { result: "missing", seconds: 600 }],
  ["a pending domain", pending, "failed", { result: "failed", seconds: 600 }],
  ["a new domain", { ...pending, waitedSeconds: 0 }, "missing", { result: "missing", seconds: 60 }],
  ["an old pending domain", { ...pending, waitedSeconds: 90 * day }, "missing", { result: "missing", seconds: day }],
  ["a domain of others", { ...pending, isTaken: true }, "found", { result: "taken", seconds: 600 }],
  ["a domain of others", { ...pending, isTaken: true }, "missing", { result: "missing", seconds: 600 }],
  ["a verified domain", verified, "found", { result: "found", seconds: day }],
  ["a verified domain", verified, "missing", { result: "missing", becomes: "recordMissed", seconds: hour }],
  ["a verified domain", verified, "failed", { result: "failed", seconds: hour }],
  ["a missing record", missing, "found", { result: "found", becomes: "verified", seconds: day }],
  ["a missing record", missing, "missing", { result: "missing", seconds: hour }],
  [
    "a record missing for almost three days",
    { ...missing, secondsLeft: 9 },
    "missing",
    { result: "missing", seconds: 10 },
  ],
  [
    "a record missing for three days",
    { ...missing, secondsLeft: 0 },
    "missing",
    { result: "missing", becomes: "lost", seconds: hour },
  ],
  [
    "a record missing for three days",
    { ...missing, secondsLeft: -9 * day },
    "failed",
    { result: "failed", seconds: hour },
  ],
] as const)("%s %j whose record is %s", (_, domain, result, judgement) => {
  expect(judge(domain, result)).toEqual(judgement);
});

test("pauses of hours are spread, shorter ones and the three days are kept", () => {
  expect([spread(day, () => 0), spread(day, () => 1), spread(hour, () => 1)]).toEqual([day, (day * 7) / 8, hour]);
});
