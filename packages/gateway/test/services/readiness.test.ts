import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { readiness } from "../../src/services/readiness.ts";

test("all who ask share one question, and its answer for a moment", async () => {
  let questions = 0;
  const ready = readiness(async () => {
    questions++;
    await sleep(50);
    return true;
  });
  const answers = await Promise.all(Array.from({ length: 200 }, ready));
  expect([questions, new Set(answers)]).toEqual([1, new Set([true])]);
});

test("a question without an answer means not ready after a second, and no other is put meanwhile", async () => {
  let questions = 0;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const ready = readiness(() => {
    questions++;
    return promise;
  });
  for (let round = 0; round < 3; round++, await sleep(300))
    expect(await Promise.all([ready(), ready()])).toEqual([false, false]);
  expect(questions).toBe(1);
  resolve(true);
  await expect.poll(ready).toBe(true);
});

test("a question that fails, at once or later, means not ready", async () => {
  const atOnce = readiness(() => {
    throw new Error("at once");
  });
  expect([await atOnce(), await readiness(() => Promise.reject(new Error("later")))()]).toEqual([false, false]);
});
