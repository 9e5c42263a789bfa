import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLimiter, type QueueEntry } from "../../src/security/limiter.ts";

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

test("one organization leaves a place to the next, and those who wait are served in turn", () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 5, waitMs: 60_000 });
  const enter = (name: string, group: string) => limiter.enter(entry(name), [[group, ""]]);
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) enter(name, "a");
  expect([events.splice(0), limiter.load()]).toEqual([
    ["a1 starts", "a2 starts", "a3 starts"],
    { running: 3, waiting: 3 },
  ]);
  for (const name of ["b1", "b2", "b3"]) enter(name, "b");
  enter("c1", "c");
  expect(events.splice(0)).toEqual(["b1 starts", "c1 starts"]);
  for (let n = 0; n < 3; n++) limiter.leave(["a", ""]);
  expect(events).toEqual(["a4 starts", "b2 starts"]);
});

test("what several share is started as one of those who hold the least", () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 5, waitMs: 60_000 });
  for (const name of ["a1", "a2", "a3"]) limiter.enter(entry(name), [["a", ""]]);
  limiter.enter(entry("a and b"), [
    ["a", ""],
    ["b", ""],
  ]);
  expect(events).toContain("a and b starts");
});

test("those who wait too long are refused in the order in which they came, whosever turn it is", async () => {
  const { events, entry } = entries();
  const limiter = createLimiter({ limit: 1, waitMs: 20 });
  for (const name of ["a1", "a2", "b1"]) limiter.enter(entry(name), [[name.slice(0, 1), ""]]);
  await expect.poll(() => events).toEqual(["a1 starts", "a2 is refused", "b1 is refused"]);
});

test("an entry that waits does not keep the process alive", async () => {
  const source = new URL("../../src/security/limiter.ts", import.meta.url).href;
  const program = `import { createLimiter } from ${JSON.stringify(source)};
    const limiter = createLimiter({ limit: 1, waitMs: 600_000 });
    for (let n = 0; n < 2; n++) limiter.enter({ start() {}, refuse() {} });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
  expect(await once(child, "exit")).toEqual([0, null]);
});
