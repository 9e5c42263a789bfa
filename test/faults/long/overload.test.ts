import { expect, test } from "vitest";
import { deadlineMs, overload } from "../overload.ts";

// The timer of a deadline fires late while a loop is busy.
const tolerance = 1.25;

test("a minute of four times the calls that a node can answer leaves nothing behind", {
  timeout: 300_000,
}, async () => {
  const { during, byTheService, after, memory } = await overload({ seconds: 60, restSeconds: 60 });
  // By the clock of the service: the client's counts the time that its own process waits.
  for (const [operation, { p99 }] of Object.entries(byTheService))
    expect(p99, operation).toBeLessThanOrEqual(deadlineMs * tolerance);
  expect(during.refusedP50).toBeLessThan(during.p99);
  expect(after.accepted).toBeGreaterThan(0.95 * after.sent);
  expect(memory.after.inUse).toBeLessThanOrEqual(1.2 * memory.before.inUse);
});
