import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { startPostern } from "../harness.ts";
import { callOf } from "./call.ts";
import { fuzz, poolOf } from "./runner.ts";

test("the request of a seed is always the same one", () => {
  const pool = { tokens: ["a"], ids: ["b"] };
  for (let seed = 0; seed < 200; seed++) expect(callOf(seed, pool)).toEqual(callOf(seed, pool));
});

test("of requests that are nearly right none fails on our side, through any door", async () => {
  await using postern = await startPostern();
  const first = randomInt(2 ** 30);
  const findings: string[] = [];
  const onFinding = (seed: number, finding: string) => findings.push(`seed ${seed}: ${finding}`);
  const pool = await poolOf(postern.admin, postern.as);
  // HEAD with no time to answer: a status of 504, and no body with its reason.
  expect(await fuzz({ url: postern.url, pool, first: 990_757, count: 1, onFinding })).toEqual({ 504: 1 });
  const statuses = await fuzz({ url: postern.url, pool, first, count: 3000, onFinding });
  expect(findings, `from seed ${first} on`).toEqual([]);
  // Otherwise nearly everything was refused at the door.
  expect(statuses["200"]).toBeGreaterThan(300);
  expect((await postern.admin.get("/v1/users/me")).status).toBe(200);
});
