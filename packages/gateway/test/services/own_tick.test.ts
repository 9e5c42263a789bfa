import { expect, test } from "vitest";
import { ownTick } from "../../src/services/own_tick.ts";

test("each waiter has a tick of its own, in the order of waiting", async () => {
  let tick = 0;
  let ticking = setImmediate(function next() {
    tick += 1;
    ticking = setImmediate(next);
  });
  const waited = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      await ownTick();
      return { index, tick };
    }),
  );
  clearImmediate(ticking);
  const ticks = waited.map((one) => one.tick);
  expect(new Set(ticks).size).toBe(100);
  expect(ticks.toSorted((a, b) => a - b)).toEqual(ticks);
});
