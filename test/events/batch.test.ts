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
