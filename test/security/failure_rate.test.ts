import { expect, test } from "vitest";
import { failureRate } from "../../src/security/failure_rate.ts";

const second = 1000;

test("a key may fail as often as a minute allows, and then in even steps", () => {
  const rate = failureRate({ perMinute: 5 });
  for (let times = 0; times < 5; times++) {
    expect(rate.waitMs("ada", 0)).toBe(0);
    rate.count("ada", 0);
  }
  expect(rate.waitMs("ada", 0)).toBe(12 * second);
  expect(rate.waitMs("ada", 5 * second)).toBe(7 * second);
  expect(rate.waitMs("ada", 12 * second)).toBe(0);
  rate.count("ada", 12 * second);
  expect(rate.waitMs("ada", 12 * second)).toBe(12 * second);
  expect(rate.waitMs("grace", 12 * second)).toBe(0);
});

test("failures at once, more than a minute allows, make nobody wait longer than the next step", () => {
  const rate = failureRate({ perMinute: 5 });
  for (let times = 0; times < 1000; times++) rate.count("ada", 0);
  expect(rate.waitMs("ada", 0)).toBe(12 * second);
});

test("more at once than a minute allows come back as slowly as the rate says", () => {
  const rate = failureRate({ perMinute: 2, atOnce: 100 });
  for (let times = 0; times < 100; times++) {
    expect(rate.waitMs("ada", 0)).toBe(0);
    rate.count("ada", 0);
  }
  expect(rate.waitMs("ada", 0)).toBe(30 * second);
  for (let nth = 1; nth < 50; nth++) {
    expect(rate.waitMs("ada", nth * 30 * second)).toBe(0);
    rate.count("ada", nth * 30 * second);
    expect(rate.waitMs("ada", nth * 30 * second)).toBe(30 * second);
  }
  rate.count("later", 10_000 * second);
  expect(rate.size()).toBe(1);
});

test("a failure that is taken back was none", () => {
  const rate = failureRate({ perMinute: 2 });
  for (let times = 0; times < 50; times++) {
    expect(rate.waitMs("ada", 0)).toBe(0);
    rate.count("ada", 0);
    rate.uncount("ada", 0);
  }
  expect(rate.size()).toBe(0);
});

test("what is kept is bounded in time", () => {
  const rate = failureRate({ perMinute: 5 });
  for (let n = 0; n < 1000; n++) rate.count(`name ${n}`, n);
  expect(rate.size()).toBe(1000);
  rate.count("later", 62 * second);
  expect(rate.size()).toBe(1);
});

test("what is kept is bounded in number, and those that failed longest ago go first", () => {
  const rate = failureRate({ perMinute: 1, mostKeys: 100 });
  for (let n = 0; n < 100; n++) rate.count(`name ${n}`, n);
  rate.count("name 0", 100);
  for (let n = 100; n < 150; n++) rate.count(`name ${n}`, n);
  expect(rate.size()).toBe(100);
  expect(rate.waitMs("name 0", 150)).toBeGreaterThan(0);
  expect(rate.waitMs("name 1", 150)).toBe(0);
  expect(rate.waitMs("name 149", 150)).toBeGreaterThan(0);
});

test("without a limit nobody waits and nothing is kept", () => {
  const rate = failureRate({ perMinute: 0 });
  for (let times = 0; times < 1000; times++) rate.count("ada", 0);
  expect([rate.waitMs("ada", 0), rate.size()]).toEqual([0, 0]);
});
