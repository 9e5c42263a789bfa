import { expect, test } from "vitest";
import { overload } from "../overload.ts";

// Of calls that are accepted this share may be late by the client's clock, which the overload keeps waiting too.
const lateShare = 0.05;

test("a minute of four times the calls that a node can answer leaves nothing behind", {
  timeout: 300_000,
}, async () => {
  const { during, after, memory } = await overload({ seconds: 60, restSeconds: 60 });
  expect(during.late).toBeLessThanOrEqual(lateShare * during.accepted);
  expect(during.refusedP50).toBeLessThan(during.p99);
  expect(after.accepted).toBeGreaterThan(0.95 * after.sent);
  expect(memory.after).toBeLessThanOrEqual(1.2 * memory.before);
});
