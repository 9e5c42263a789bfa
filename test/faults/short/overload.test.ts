import { expect, test } from "vitest";
import { overload } from "../overload.ts";

test("four times the calls that a node can answer are accepted, or refused with the time to wait", {
  timeout: 900_000,
}, async () => {
  const { during } = await overload({ seconds: 4, restSeconds: 0 });
  expect(during.accepted).toBeGreaterThan(0);
});
