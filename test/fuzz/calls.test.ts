import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { startPostern } from "../harness.ts";
import { callOf } from "./call.ts";
import { findingIn } from "./finding.ts";
import { fuzz, poolOf } from "./runner.ts";
import { openSender } from "./sender.ts";

test("the request of a seed is always the same one", () => {
  const pool = { tokens: ["a"], ids: ["b"] };
  for (let seed = 0; seed < 200; seed++) expect(callOf(seed, pool)).toEqual(callOf(seed, pool));
});

test("HEAD with no time to answer is no finding, though no body says why", async () => {
  await using postern = await startPostern();
  using sender = openSender(postern.url);
  const headers = { authorization: `Bearer ${postern.admin.token}`, "connect-timeout-ms": "0" };
  const request = { method: "HEAD", path: "/v1/users/me", headers, body: Buffer.alloc(0) };
  const late = await sender.send({ version: "1.1", request });
  expect([late?.status, late && findingIn(late)]).toEqual([504, undefined]);
});

test("of requests that are nearly right none fails on our side, through any door", async () => {
  await using postern = await startPostern();
  const first = randomInt(2 ** 30);
  const findings: string[] = [];
  const onFinding = (seed: number, finding: string) => findings.push(`seed ${seed}: ${finding}`);
  const pool = await poolOf(postern.admin, postern.as);
  const statuses = await fuzz({ url: postern.url, pool, first, count: 3000, onFinding });
  expect(findings, `from seed ${first} on`).toEqual([]);
  // Otherwise nearly everything was refused at the door.
  expect(statuses["200"]).toBeGreaterThan(300);
  expect((await postern.admin.get("/v1/users/me")).status).toBe(200);
});
