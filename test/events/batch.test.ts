import { expect, test } from "vitest";
import { inBatches } from "../../src/events/batch.ts";

/** Batches that wait until all jobs are queued; each job is its weight. */
function batchesOf(weights: { readonly most: number; readonly of: (job: number) => number }) {
  const batches: number[][] = [];
  const start = inBatches<number>({
    atOnce: 1,
    most: 100,
    weights,
    async run(batch) {
      batches.push(batch.map(({ job }) => job));
      for (const { resolve } of batch) resolve();
    },
  });
  return { batches, start };
}

test("jobs that together weigh too much do not share a statement, and none is left behind", async () => {
  const { batches, start } = batchesOf({ most: 10, of: (job) => job });
  await Promise.all([4, 4, 4, 2, 10, 1].map((job) => start(job)));
  expect(batches).toEqual([[4, 4, 2], [4, 1], [10]]);
});

test("a job that is heavier than a statement may be runs alone", async () => {
  const { batches, start } = batchesOf({ most: 10, of: (job) => job });
  await Promise.all([11, 1].map((job) => start(job)));
  expect(batches).toEqual([[11], [1]]);
});

test("a statement goes beside another only for as many jobs as are worthwhile, and by itself for any number", async () => {
  const batches: number[][] = [];
  const ends: (() => void)[] = [];
  const start = inBatches<number>({
    atOnce: 2,
    worthwhile: 3,
    most: 100,
    async run(batch) {
      batches.push(batch.map(({ job }) => job));
      await new Promise<void>((end) => ends.push(end));
      for (const { resolve } of batch) resolve();
    },
  });
  const tick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const jobs = [start(1)];
  await tick();
  jobs.push(start(2), start(3));
  await tick();
  expect(batches).toEqual([[1]]);
  jobs.push(start(4));
  await tick();
  jobs.push(start(5), start(6), start(7));
  await tick();
  expect(batches).toEqual([[1], [2, 3, 4]]);
  ends[1]?.();
  await tick();
  expect(batches).toEqual([[1], [2, 3, 4], [5, 6, 7]]);
  jobs.push(start(8));
  ends[0]?.();
  await tick();
  ends[2]?.();
  await tick();
  expect(batches.at(-1)).toEqual([8]);
  ends[3]?.();
  await Promise.all(jobs);
});
