import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../../harness.ts";
import { openProbe, type Probe } from "../../probe.ts";
import { compareAll } from "../../provider/explanations/agreement.ts";

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

const count = 500;
const first = Number(process.env.EXPLANATION_SEED ?? 1_000);

test(`in ${count} random states, an explanation says what a sign-in and Evaluate do`, async () => {
  const seen = await compareAll({ postern, probe }, { first, count });
  console.info(`states ${first} to ${first + count - 1}`, Object.fromEntries(seen));
  expect(all.filter((what) => !seen.has(what))).toEqual([]);
}, 3_600_000);

const all = [
  ...["begins by PASSWORD", "begins by PASSKEY", "begins by MAILED_CODE"],
  ...["PASSWORD_CHANGE", "FACTOR", "ENROLMENT", "CONSENT", "no further consent"],
  ...["APPLICATION", "REQUEST", "FIRST_STEP", "ACCESS", "ORGANIZATION", "ends well"],
];
