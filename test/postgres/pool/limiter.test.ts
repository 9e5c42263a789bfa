import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLimiter, type QueueEntry } from "../../../src/postgres/pool/limiter.ts";

function entries() {
  const events: string[] = [];
  const entry = (name: string): QueueEntry => ({
    start: () => void events.push(`${name} starts`),
    refuse: () => void events.push(`${name} is refused`),
  });
  return { events, entry };
}

const soon = () => performance.now() + 60_000;

test("one that gives its place back is first in line, and starts when another one leaves", () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 2, waitMs: 60_000, growMs: 60_000 });
  for (const name of ["a", "b", "c"]) limiter.enter(entry(name));
  limiter.retreat(entry("b again"), soon());
  expect([events.splice(0), limiter.load()]).toEqual([["a starts", "b starts"], { running: 1, waiting: 2 }]);
  limiter.leave();
  expect([events.splice(0), limiter.load()]).toEqual([["b again starts"], { running: 1, waiting: 1 }]);
  limiter.leave();
  limiter.leave();
  expect([events.splice(0), limiter.load()]).toEqual([["c starts"], { running: 0, waiting: 0 }]);
});

test("what gave its place back is refused when its own time is over", async () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 2, waitMs: 60_000, growMs: 60_000 });
  for (const name of ["a", "b", "c"]) limiter.enter(entry(name));
  limiter.retreat(entry("b again"), performance.now() + 20);
  await expect.poll(() => events).toContain("b again is refused");
  expect(limiter.load()).toEqual({ running: 1, waiting: 1 });
});

test("after a while as many run at once as before", async () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 3, waitMs: 60_000, growMs: 20 });
  for (const name of ["a", "b", "c"]) limiter.enter(entry(name));
  limiter.retreat(entry("c again"), soon());
  limiter.retreat(entry("b again"), soon());
  expect(limiter.load()).toEqual({ running: 1, waiting: 2 });
  await expect.poll(limiter.load).toEqual({ running: 3, waiting: 0 });
  limiter.enter(entry("d"));
  await sleep(60);
  expect(events).toEqual(["a starts", "b starts", "c starts", "b again starts", "c again starts"]);
});

test("closing refuses those who wait and waits for those who run", async () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 2, waitMs: 60_000 });
  for (const name of ["a", "b", "c"]) limiter.enter(entry(name));
  const closed = limiter.close();
  limiter.retreat(entry("b again"), soon());
  limiter.enter(entry("d"));
  limiter.leave();
  await closed;
  expect(events).toEqual(["a starts", "b starts", "c is refused", "b again is refused", "d is refused"]);
});
