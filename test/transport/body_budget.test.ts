import { expect, test } from "vitest";
import { bodyBudget, networkOf } from "../../src/transport/body_budget.ts";
import { BodyBuffer } from "../../src/transport/body_buffer.ts";

test("a budget is the process's, and none of its parts may be more than its share", () => {
  const budget = bodyBudget(1600);
  const stranger = budget.from("192.0.2.1").account();
  expect(stranger.take(101)).toBe(false);
  expect(stranger.take(100)).toBe(true);
  expect(budget.from("192.0.2.1").account().take(1)).toBe(false);
  const others = ["192.0.2.2", "192.0.2.3", "192.0.2.4"].map((address) => budget.from(address).account());
  expect(others.map((one) => one.take(100))).toEqual([true, true, true]);
  expect(budget.from("192.0.2.5").account().take(1), "unknown callers have a quarter together").toBe(false);
  for (const name of ["ada", "bob", "cy"]) {
    const known = budget.from("192.0.2.1").account();
    known.identify(name);
    expect(known.take(401)).toBe(false);
    expect(known.take(400)).toBe(true);
  }
  const last = budget.from("192.0.2.9").account();
  last.identify("dee");
  expect(last.take(1), "the whole budget is held").toBe(false);
  stranger.release();
  expect(last.take(1)).toBe(true);
});

test("what a caller sent before it was known counts to it, and no longer to strangers", () => {
  const budget = bodyBudget(1600);
  const account = budget.from("192.0.2.1").account();
  expect(account.take(100)).toBe(true);
  account.identify("ada");
  expect(budget.from("192.0.2.1").account().take(100)).toBe(true);
  const second = budget.from("192.0.2.2").account();
  second.identify("ada");
  expect([second.take(301), second.take(300)]).toEqual([false, true]);
  account.give(1000);
  expect(second.take(100), "no more is given back than was taken").toBe(true);
  expect(second.take(1)).toBe(false);
});

test("an account without a name stays a stranger's", () => {
  const account = bodyBudget(1600).from(undefined).account();
  account.identify(undefined);
  expect([account.take(101), account.take(100)]).toEqual([false, true]);
});

test("the addresses of one customer are one network", () => {
  expect(networkOf("192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("::ffff:192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("2001:db8:1:2:3:4:5:6")).toBe(networkOf("2001:db8:1:2::9"));
  expect(networkOf("2001:db8:1:2::9")).not.toBe(networkOf("2001:db8:1:3::9"));
  expect(networkOf("2001:db8::1")).toBe("2001:db8:0:0");
  expect(networkOf("::1")).toBe("0:0:0:0");
  expect(networkOf("fe80::1%eth0")).toBe("fe80:0:0:0");
});

test("a body is one buffer however many parts it comes in, and no part is written to", () => {
  const account = bodyBudget(16_000).from("192.0.2.1").account();
  const body = new BodyBuffer(account);
  const first = Buffer.from("abc");
  const parts = [first, ...Array.from("defghij", (letter) => Buffer.from(letter))];
  for (const part of parts) expect(body.add(part)).toBe(true);
  expect(body.bytes.toString()).toBe("abcdefghij");
  expect(first.toString()).toBe("abc");
  expect(body.add(Buffer.alloc(1000))).toBe(false);
  expect([body.length, body.bytes.length]).toEqual([0, 0]);
  expect(account.take(1000), "what was held counts no more").toBe(true);
});
