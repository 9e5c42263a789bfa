import { expect, test } from "vitest";
import { type BodyAccount, type BodyBudget, bodyBudget, networkOf } from "../../src/http/body_budget.ts";
import { BodyBuffer } from "../../src/http/body_buffer.ts";

/** An account of a request whose caller is unknown. */
function unknownCaller(budget: BodyBudget, address: string): BodyAccount {
  const account = budget.from(address).account();
  account.identify(undefined);
  return account;
}

/** An account of a request whose caller is known. */
function known(budget: BodyBudget, name: string): BodyAccount {
  const account = budget.from("192.0.2.1").account();
  account.identify(name);
  return account;
}

test("a budget is the process's, and none of its parts may be more than its share", () => {
  const budget = bodyBudget({ bodiesMaxBytes: 1600, unknownStreamsMax: 4 });
  const first = unknownCaller(budget, "192.0.2.1");
  expect([first.take(101), first.take(100)]).toEqual([false, true]);
  expect(unknownCaller(budget, "192.0.2.1").take(1)).toBe(false);
  const others = ["192.0.2.2", "192.0.2.3", "192.0.2.4"].map((address) => unknownCaller(budget, address));
  expect(others.map((one) => one.take(100))).toEqual([true, true, true]);
  expect(unknownCaller(budget, "192.0.2.5").take(1), "unknown callers have a quarter together").toBe(false);
  for (const name of ["ada", "bob", "cy"]) {
    const account = known(budget, name);
    expect([account.take(401), account.take(400)]).toEqual([false, true]);
  }
  const last = known(budget, "dee");
  expect(last.take(1), "the whole budget is held").toBe(false);
  first.release();
  expect(last.take(1)).toBe(true);
});

test("what a caller sent before it was known counts to it, and to no stranger", () => {
  const budget = bodyBudget({ bodiesMaxBytes: 1600, unknownStreamsMax: 4 });
  expect(unknownCaller(budget, "192.0.2.1").take(100)).toBe(true);
  const account = budget.from("192.0.2.1").account();
  expect(account.take(300), "strangers of its network do not keep it out").toBe(true);
  account.identify("ada");
  const second = known(budget, "ada");
  expect([second.take(101), second.take(100)]).toEqual([false, true]);
  account.give(1000);
  expect(second.take(300), "no more is given back than was taken").toBe(true);
  expect(second.take(1)).toBe(false);
});

test("callers that nobody has looked up yet hold half of the budget at most", () => {
  const budget = bodyBudget({ bodiesMaxBytes: 1600, unknownStreamsMax: 4 });
  const accounts = Array.from({ length: 9 }, (_, index) => budget.from(`192.0.2.${index}`).account());
  expect(accounts.map((one) => one.take(100))).toEqual([...Array<boolean>(8).fill(true), false]);
  for (const one of accounts) one.identify(undefined);
  expect(budget.from("192.0.2.20").account().take(800)).toBe(true);
});

test("streams of unknown callers have a limit, half of it for one network, and none for callers who are known", () => {
  const budget = bodyBudget({ bodiesMaxBytes: 1600, unknownStreamsMax: 4 });
  const streams = ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"].map((address) => {
    const account = unknownCaller(budget, address);
    return { account, isOpen: account.openStream() };
  });
  expect(streams.map(({ isOpen }) => isOpen)).toEqual([true, true, false, true, true, false]);
  expect(known(budget, "ada").openStream()).toBe(true);
  streams[0]?.account.release();
  expect(unknownCaller(budget, "192.0.2.5").openStream(), "bytes that are given back end no stream").toBe(false);
  for (const { account } of streams) account.close();
  for (const { account } of streams) account.close();
  const again = Array.from({ length: 5 }, (_, index) => unknownCaller(budget, `192.0.2.${index}`).openStream());
  expect(again, "a stream is counted once").toEqual([true, true, true, true, false]);
});

test("an account takes nothing once its request is over", () => {
  const budget = bodyBudget({ bodiesMaxBytes: 1600, unknownStreamsMax: 4 });
  const account = unknownCaller(budget, "192.0.2.1");
  expect(account.take(60)).toBe(true);
  account.close();
  expect([account.take(60), account.openStream()]).toEqual([false, false]);
  expect(unknownCaller(budget, "192.0.2.1").take(100)).toBe(true);
});

test("the addresses of one customer are one network", () => {
  expect(networkOf("192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("::ffff:192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("2001:db8:1:2:3:4:5:6")).toBe(networkOf("2001:db8:1:2::9"));
  expect(networkOf("2001:db8:1:2::9")).not.toBe(networkOf("2001:db8:1:3::9"));
  expect(networkOf("2001:db8::1")).toBe("2001:db8:0:0");
  expect(networkOf("2001:0DB8:0000::1")).toBe("2001:db8:0:0");
  expect(networkOf("::1")).toBe("0:0:0:0");
  expect(networkOf("fe80::1%eth0")).toBe("fe80:0:0:0");
});

test("a body is one buffer however many parts it comes in, and no part is written to", () => {
  const account = unknownCaller(bodyBudget({ bodiesMaxBytes: 16_000, unknownStreamsMax: 4 }), "192.0.2.1");
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

test("a body does not keep what was read from the socket around it", () => {
  const read = Buffer.alloc(65_536);
  const body = new BodyBuffer(
    unknownCaller(bodyBudget({ bodiesMaxBytes: 16_777_216, unknownStreamsMax: 4 }), "192.0.2.1"),
  );
  expect(body.add(read.subarray(100, 101))).toBe(true);
  expect(body.bytes.buffer.byteLength).toBeLessThan(65_536);
  expect(body.bytes).toEqual(Buffer.of(0));
});
