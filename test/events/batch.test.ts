import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { inBatches } from "../../src/events/batch.ts";
import { keyLines } from "../../src/events/key_lines.ts";

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

async function iterations(): Promise<void> {
  for (let n = 0; n < 10; n++) await new Promise(setImmediate);
}

test("a job that runs alone keeps no other group waiting, and its own group's jobs wait", async () => {
  const batches: string[] = [];
  const ends: (() => void)[] = [];
  const start = inBatches<{ group: string; weight: number }>({
    atOnce: 2,
    worthwhile: 16,
    most: 100,
    weights: { of: ({ weight }) => weight, most: 10 },
    groupOf: ({ group }) => group,
    async run(batch) {
      batches.push(batch.map(({ job }) => `${job.group}${job.weight}`).join());
      await new Promise<void>((end) => ends.push(end));
      for (const { resolve } of batch) resolve();
    },
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  try {
    const jobs = [
      start({ group: "a", weight: 500 }),
      start({ group: "a", weight: 501 }),
      start({ group: "a", weight: 502 }),
    ];
    await iterations();
    expect(batches).toEqual(["a500", "a501"]);
    // The clock stands still, and one job alone makes no other statement worthwhile.
    jobs.push(start({ group: "b", weight: 1 }));
    await iterations();
    expect(batches).toEqual(["a500", "a501", "b1"]);
    while (batches.length < 4 || ends.length > 0) {
      ends.shift()?.();
      await new Promise(setImmediate);
    }
    expect(batches.at(-1)).toBe("a502");
    await Promise.all(jobs);
  } finally {
    vi.useRealTimers();
  }
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

test("a job waits for no statement that serves other groups alone", async () => {
  const batches: string[][] = [];
  const ends: (() => void)[] = [];
  const start = inBatches<string>({
    atOnce: 2,
    worthwhile: 16,
    most: 100,
    groupOf: (job) => job.slice(0, 1),
    async run(batch) {
      batches.push(batch.map(({ job }) => job));
      await new Promise<void>((end) => ends.push(end));
      for (const { resolve } of batch) resolve();
    },
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  try {
    const jobs = [start("a1")];
    await iterations();
    jobs.push(start("a2"));
    await iterations();
    // The clock stands still, and one job of the same group makes no other statement worthwhile.
    expect(batches).toEqual([["a1"]]);
    jobs.push(start("b1"));
    await iterations();
    expect(batches).toEqual([["a1"], ["a2", "b1"]]);
    for (const end of ends) end();
    await Promise.all(jobs);
  } finally {
    vi.useRealTimers();
  }
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

/** Batches of jobs that say whose they are, such as `a1`; a batch with a job that is held ends when that job is freed. */
function groupsOf({ atOnce, most = 100 }: { readonly atOnce: number; readonly most?: number }) {
  const batches: string[][] = [];
  const held = new Map<string, PromiseWithResolvers<void>>();
  const start = inBatches<string>({
    atOnce,
    most,
    groupOf: (job) => job.slice(0, 1),
    async run(batch) {
      batches.push(batch.map(({ job }) => job));
      await Promise.all(batch.map(({ job }) => held.get(job)?.promise));
      for (const { resolve } of batch) resolve();
    },
  });
  const hold = (job: string) => {
    held.set(job, Promise.withResolvers());
    return start(job);
  };
  const free = () => {
    for (const { resolve } of held.values()) resolve();
  };
  return { batches, start, hold, free };
}

test("statements of one group that take long keep no other group waiting, and its own jobs wait", async () => {
  const { batches, start, hold, free } = groupsOf({ atOnce: 2, most: 1 });
  const theirs = ["a1", "a2", "a3"].map(hold);
  await expect.poll(() => batches).toEqual([["a1"], ["a2"]]);
  await Promise.all(["b1", "b2", "c1"].map((job) => start(job)));
  expect(batches).toEqual([["a1"], ["a2"], ["b1"], ["c1"], ["b2"]]);
  free();
  await Promise.all(theirs);
  expect(batches.at(-1)).toEqual(["a3"]);
});

test("a group of which a statement takes long shares its next one with no other", async () => {
  const { batches, start, hold, free } = groupsOf({ atOnce: 3 });
  const first = hold("a1");
  await expect.poll(() => batches).toEqual([["a1"]]);
  await sleep(30);
  const more = ["a2", "a3"].map(hold);
  await Promise.all(["b1", "c1"].map((job) => start(job)));
  expect(batches).toEqual([["a1"], ["a2", "a3"], ["b1", "c1"]]);
  free();
  await Promise.all([first, ...more]);
});

test("groups take turns where not all of their jobs fit into a statement", async () => {
  const { batches, start } = groupsOf({ atOnce: 1, most: 3 });
  await Promise.all(["a1", "a2", "a3", "a4", "a5", "b1", "c1", "c2"].map((job) => start(job)));
  expect(batches).toEqual([
    ["a1", "b1", "c1"],
    ["a2", "c2", "a3"],
    ["a4", "a5"],
  ]);
});

/** Batches of jobs such as `ab1`, whose keys are the letters; each ends when the test says how. The end of one dooms those with a zero. */
function linedUp() {
  const ends: { batch: string; end: (error?: string) => void }[] = [];
  const batches: string[] = [];
  const outcomes: string[] = [];
  const lines = keyLines<string>({
    keysOf: (job) => job.replaceAll(/\d/g, "").split(""),
    fateOf:
      (ended, error = "well") =>
      (waiting) =>
        waiting.endsWith("0") ? `as ${ended} ended ${error}` : undefined,
  });
  const queue = () =>
    inBatches<string>({
      atOnce: 2,
      most: 100,
      lines,
      async run(batch) {
        const names = batch.map(({ job }) => job).join();
        batches.push(names);
        const error = await new Promise<string | undefined>((end) => ends.push({ batch: names, end }));
        for (const { resolve, reject } of batch) error === undefined ? resolve() : reject(error);
      },
    });
  const add = (start: ReturnType<typeof queue>, ...jobs: string[]) => {
    for (const job of jobs)
      start(job).then(
        () => outcomes.push(job),
        (error) => outcomes.push(`${job} ${error}`),
      );
    return iterations();
  };
  const end = (batch: string, error?: string) => {
    ends.find((one) => one.batch === batch)?.end(error);
    return iterations();
  };
  return { queue, add, end, batches, outcomes };
}

test("a job waits for the one under way with its key, in no statement beside it, and keeps no others waiting", async () => {
  const { queue, add, end, batches } = linedUp();
  const start = queue();
  await add(start, "a1", "a2", "b1");
  expect(batches).toEqual(["a1,b1"]);
  await add(start, "a3", "c1");
  expect(batches).toEqual(["a1,b1", "c1"]);
  await end("a1,b1");
  expect(batches).toEqual(["a1,b1", "c1", "a2"]);
  await end("a2", "refused");
  expect(batches).toEqual(["a1,b1", "c1", "a2", "a3"]);
});

test("jobs of several queues with a common key run one after the other, in the order in which they came", async () => {
  const { queue, add, end, batches } = linedUp();
  const [one, other] = [queue(), queue()];
  await add(one, "a1");
  await add(other, "a2", "b1");
  await add(one, "a3");
  expect(batches).toEqual(["a1", "b1"]);
  await end("a1");
  await end("a2");
  expect(batches).toEqual(["a1", "b1", "a2", "a3"]);
});

test("a job with several keys gets its turn, however many come with one of them", async () => {
  const { queue, add, end, batches } = linedUp();
  const start = queue();
  await add(start, "a1", "ab1", "b1");
  for (let n = 2; n < 9; n++) await add(start, `a${n}`, `b${n}`);
  expect(batches).toEqual(["a1"]);
  await end("a1");
  expect(batches).toEqual(["a1", "ab1"]);
  await end("ab1");
  expect(batches).toEqual(["a1", "ab1", "a2,b1"]);
});

test("what the end of a job makes hopeless is refused at once, and the next job runs", async () => {
  const { queue, add, end, batches, outcomes } = linedUp();
  await add(queue(), "a1", "a20", "ab30", "b1", "a2", "a40");
  expect(batches).toEqual(["a1"]);
  await end("a1");
  expect(outcomes.toSorted()).toEqual(
    ["a1", "a20", "a40", "ab30"].map((job, n) => (n ? `${job} as a1 ended well` : job)),
  );
  expect(batches).toEqual(["a1", "a2,b1"]);
});

test("jobs that wait for a key alone set no timer and start nothing", async () => {
  const { queue, add, batches } = linedUp();
  vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate"] });
  try {
    void add(queue(), "a1", "a2", "a3");
    await vi.advanceTimersByTimeAsync(1);
    expect(batches).toEqual(["a1"]);
    // One of the test's own.
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a job whose caller has gone makes way for the next with its key", async () => {
  const { queue, add, end, batches } = linedUp();
  const start = queue();
  const caller = new AbortController();
  await add(start, "a1");
  const gone = start("a2", caller.signal).catch((error: unknown) => error);
  await add(start, "a3");
  caller.abort("gone");
  // At once, and not when its turn comes: what it holds of the node is free.
  expect(await gone).toBe("gone");
  await end("a1");
  expect(batches).toEqual(["a1", "a3"]);
});
