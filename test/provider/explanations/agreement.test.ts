import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../../harness.ts";
import { openProbe, type Probe } from "../../probe.ts";
import { compareAll } from "./agreement.ts";

let postern: Postern;
let probe: Probe;
beforeAll(async () => {
  postern = await startPostern({ mailSendsPerUser: 50, mailSendsPerAddress: 50 });
  probe = openProbe(postern.databaseUrl);
});
afterAll(async () => {
  await probe?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

test("in 30 random states, an explanation says what a sign-in and Evaluate do", async () => {
  const seen = await compareAll({ postern, probe }, { first: 1, count: 30 });
  expect([...seen.keys()]).toEqual(expect.arrayContaining(["ends well", "ACCESS", "FIRST_STEP", "CONSENT", "FACTOR"]));
}, 600_000);
