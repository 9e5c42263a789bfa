import { expect, test, vi } from "vitest";
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

test("a statement goes beside another only for enough jobs, or once that one takes long", async () => {
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
  const jobs = [start(1)];
  await vi.waitFor(() => expect(batches).toEqual([[1]]));
  jobs.push(start(2), start(3), start(4));
  await vi.waitFor(() => expect(batches).toEqual([[1], [2, 3, 4]]));
  ends[0]?.();
  await jobs[0];
  // The other one never ends by itself, and three are under way: two are too few, until it has taken long.
  jobs.push(start(5), start(6));
  await vi.waitFor(() => expect(batches).toEqual([[1], [2, 3, 4], [5, 6]]));
  for (const end of ends) end();
  await Promise.all(jobs);
});

test("a few jobs wait for the statement under way, and then go by themselves", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  try {
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
    ends[0]?.();
    await tick();
    expect(batches).toEqual([[1], [2, 3]]);
    ends[1]?.();
    await Promise.all(jobs);
  } finally {
    vi.useRealTimers();
  }
});

test("beside a statement that takes long, each job goes at once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  try {
    const batches: number[][] = [];
    const end = Promise.withResolvers<void>();
    const start = inBatches<number>({
      atOnce: 2,
      worthwhile: 3,
      most: 100,
      async run(batch) {
        batches.push(batch.map(({ job }) => job));
        if (batches.length === 1) await end.promise;
        for (const { resolve } of batch) resolve();
      },
    });
    const stuck = start(1);
    await vi.waitFor(() => expect(batches).toEqual([[1]]));
    const second = start(2);
    vi.advanceTimersByTime(20);
    await second;
    await start(3);
    await start(4);
    expect(batches).toEqual([[1], [2], [3], [4]]);
    end.resolve();
    await stuck;
  } finally {
    vi.useRealTimers();
  }
});
