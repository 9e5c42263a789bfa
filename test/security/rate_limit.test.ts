import { expect, test } from "vitest";
import { rateLimit } from "../../src/security/rate_limit.ts";

const second = 1000;

test("a key has the calls of a minute at once, and then one after the other in even steps", () => {
  for (const start of [0, 123_456_789.123]) {
    const limit = rateLimit({ perMinute: 7 });
    expect(Array.from({ length: 8 }, () => limit.take("ada", start))).toEqual([6, 5, 4, 3, 2, 1, 0, -1]);
    expect(limit.waitMs("ada", start)).toBeCloseTo((60 * second) / 7, 2);
    expect(limit.fullMs("ada", start)).toBeCloseTo(60 * second, 2);
    expect(limit.take("grace", start)).toBe(6);
    const next = start + (60 * second) / 7;
    expect([limit.take("ada", next), limit.take("ada", next)]).toEqual([0, -1]);
    expect(limit.take("ada", start + 1000 * second)).toBe(6);
  }
});

test("calls that are refused take none", () => {
  const limit = rateLimit({ perMinute: 2 });
  for (let times = 0; times < 1000; times++) limit.take("ada", 0);
  expect(limit.waitMs("ada", 0)).toBeCloseTo(30 * second, 2);
  expect(limit.take("ada", 30 * second)).toBe(0);
});

test("of a very high limit no call is lost", () => {
  const limit = rateLimit({ perMinute: 300_000 });
  let taken = 0;
  while (taken < 400_000 && limit.take("ada", 1e9) >= 0) taken++;
  expect(taken).toBe(300_000);
});

test("what is kept is bounded in time, and forgets nobody who has calls to make up for", () => {
  const limit = rateLimit({ perMinute: 5 });
  for (let n = 0; n < 1000; n++) limit.take(`name ${n}`, 100 * second);
  for (let times = 0; times < 5; times++) limit.take("ada", 140 * second);
  expect(limit.size()).toBe(1001);
  limit.take("later", 161 * second);
  expect(limit.take("ada", 161 * second - 10 * second)).toBe(-1);
  limit.take("last", 222 * second);
  expect(limit.size()).toBe(3);
});

test("what is kept is bounded in number, and those in use are kept longest", () => {
  const limit = rateLimit({ perMinute: 5, mostKeys: 1000 });
  for (let times = 0; times < 5; times++) limit.take("ada", 0);
  for (let n = 0; n < 100_000; n++) {
    limit.take(`name ${n}`, 0);
    if (n % 100 === 0) expect(limit.take("ada", 0)).toBe(-1);
  }
  expect(limit.size()).toBeLessThanOrEqual(1000);
});

test("with a limit of 0 nothing is counted", () => {
  const limit = rateLimit({ perMinute: 0 });
  for (let times = 0; times < 1000; times++) expect(limit.take("ada", 0)).toBeGreaterThan(0);
  expect([limit.size(), limit.waitMs("ada", 0), limit.fullMs("ada", 0)]).toEqual([0, 0, 0]);
});

test("nobody is told to wait longer than a minute by an error of rounding", () => {
  const times = Array.from({ length: 1000 }, (_, n) => 1 + n * 1234.5678901);
  for (const now of times) {
    const limit = rateLimit({ perMinute: 1 });
    limit.take("ada", now);
    expect(
      [limit.fullMs("ada", now), limit.waitMs("ada", now)].every((ms) => ms <= 60_000),
      `${now}`,
    ).toBe(true);
  }
});
