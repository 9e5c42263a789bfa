import { expect, test, vi } from "vitest";
import { inBatches } from "../../src/events/batch.ts";
import { batchWrite } from "../../src/events/batch_write.ts";
import { type SharedWriteOptions, sharedWrite } from "../../src/events/shared_write.ts";
import { foreignKey } from "../../src/postgres/failure.ts";
import { workFor } from "../../src/security/current_share.ts";
import { oneConnection, openTestLog } from "./log_of.ts";

/** A table of cats, each of whom has a home, and the write that takes them in. */
async function openShelter(options: SharedWriteOptions<Cat> = {}) {
  const opened = await openTestLog({ statementTimeoutMs: 600_000 });
  const { sql, statements } = opened;
  await sql.unsafe(`create table homes (home text primary key);
    create table cats (cat text primary key, home text constraint cats_home references homes);
    insert into homes values ('red'), ('blue')`);
  statements.length = 0;
  const takeIn = sharedWrite<Cat, { greeting: string }>(
    sql,
    {
      asked: "cat text, home text",
      parts: "taken as (insert into cats (cat, home) select cat, home from asked on conflict do nothing returning cat)",
      select: "select n, 'hello ' || cat as greeting from asked join taken using (cat)",
    },
    options,
  );
  return { ...opened, takeIn, [Symbol.asyncDispose]: opened[Symbol.asyncDispose] };
}

type Cat = { readonly cat: string; readonly home: string };

const cats = (many: number) =>
  Array.from({ length: many }, (_, n) => ({ cat: `cat${n}`, home: n % 2 ? "red" : "blue" }));

test("writes that arrive together share statements, and each has its own row", async () => {
  await using shelter = await openShelter();
  const { takeIn, statements, sql } = shelter;
  const greeted = await Promise.all(cats(200).map(takeIn));
  expect(greeted.map((row) => row?.greeting)).toEqual(cats(200).map(({ cat }) => `hello ${cat}`));
  expect(statements.length).toBeLessThan(10);
  expect(await sql`select from cats`).toHaveLength(200);
});

test("a write without a row answers none", async () => {
  await using shelter = await openShelter();
  const { takeIn } = shelter;
  const [cat] = cats(1);
  if (!cat) expect.unreachable();
  expect(await takeIn(cat)).toEqual({ n: 0, greeting: "hello cat0" });
  expect(await takeIn(cat)).toBeUndefined();
});

test("a write that is refused harms nobody who shares its statement", async () => {
  await using shelter = await openShelter();
  const { takeIn, sql } = shelter;
  const all = [...cats(30), { cat: "stray", home: "green" }];
  const ended = await Promise.allSettled(all.map(takeIn));
  expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(30);
  const last = ended.at(-1);
  expect(last?.status === "rejected" && foreignKey(last.reason)).toBe("cats_home");
  expect(await sql`select from cats`).toHaveLength(30);
});

test("of writes whose statement is refused, those of one organization are tried one after the other", async () => {
  let underWay = 0;
  const seen: (readonly [job: string, underWay: number])[] = [];
  const start = inBatches<string>({
    atOnce: 1,
    most: 100,
    groupOf: (job) => job.slice(0, 1),
    run: batchWrite({
      async write(jobs) {
        if (jobs.length > 1) throw Object.assign(new Error("refused"), { code: "23505" });
        seen.push([`${jobs[0]}`, ++underWay]);
        await new Promise(setImmediate);
        underWay--;
      },
    }),
  });
  await Promise.all(["a1", "a2", "b1", "a3", "a4", "b2"].map((job) => start(job)));
  expect(seen.map(([job]) => job)).toEqual(["a1", "b1", "a2", "b2", "a3", "a4"]);
  expect(Math.max(...seen.map(([, count]) => count))).toBe(2);
});

test("a patient write that waits for a lock is tried again while a caller waits for it, and no longer", async () => {
  const tries: string[] = [];
  const start = inBatches<string>({
    atOnce: 1,
    most: 1,
    run: batchWrite({
      isPatient: true,
      async write([job = ""]) {
        tries.push(job);
        if (job === "held" || tries.length < 3) throw Object.assign(new Error("locked"), { code: "55P03" });
      },
    }),
  });
  const inCall = (job: string, signal?: AbortSignal) =>
    workFor({ shares: [["an organization", "a caller"]] }, () => start(job, signal));
  await inCall("freed");
  expect(tries).toEqual(["freed", "freed", "freed"]);
  const caller = new AbortController();
  const held = inCall("held", caller.signal);
  await expect.poll(() => tries.filter((job) => job === "held").length).toBeGreaterThan(1);
  caller.abort();
  await expect(held).rejects.toMatchObject({ code: "55P03" });
  // The process comes back to what is left by itself.
  tries.length = 0;
  await expect(start("held")).rejects.toMatchObject({ code: "55P03" });
  expect(tries).toEqual(["held"]);
});

test("where the database can write nothing, a statement is not tried again for each of its writes", async () => {
  await using shelter = await openShelter();
  await shelter.sql`
    create function no_room() returns trigger language plpgsql as $$
    begin raise exception 'the disk is full' using errcode = 'disk_full'; end $$`;
  await shelter.sql`create trigger no_room before insert on cats for each row execute function no_room()`;
  const ended = await Promise.allSettled(cats(60).map(shelter.takeIn));
  expect(ended.filter(({ status }) => status === "rejected")).toHaveLength(60);
  expect(shelter.statements).toHaveLength(1);
});

test.each([
  ["out of memory", "out_of_memory"],
  ["more temporary files than allowed", "configuration_limit_exceeded"],
  ["a page that cannot be read", "io_error"],
  ["a deadlock", "deadlock_detected"],
  ["a serialization failure", "serialization_failure"],
])("%s that one organization causes fails nobody else's writes", async (_, condition) => {
  await using shelter = await openShelter();
  await shelter.sql.unsafe(`
    create function fails() returns trigger language plpgsql as $$
    begin raise exception 'failed' using errcode = '${condition}'; end $$;
    create trigger fails before insert on cats for each row when (new.home = 'red') execute function fails()`);
  const all = cats(20);
  const ended = await Promise.allSettled(
    all.map((cat) => workFor({ shares: [[cat.home, "caller"]] }, () => shelter.takeIn(cat))),
  );
  expect(ended.map(({ status }) => status)).toEqual(all.map(({ home }) => (home === "red" ? "rejected" : "fulfilled")));
});

test("keys with a common name never share a statement", async () => {
  await using shelter = await openShelter({ namesOf: ({ home }) => [home] });
  const { takeIn, statements } = shelter;
  await Promise.all(cats(10).map(takeIn));
  expect(statements).toHaveLength(5);
});

test("a second statement goes beside one under way once enough keys for it have arrived", async () => {
  await using shelter = await openShelter({ worthwhile: 3 });
  const { takeIn, statements } = shelter;
  await using stranger = oneConnection(shelter.url);
  await stranger.sql`begin`;
  await stranger.sql`select from homes where home = 'red' for update`;
  // While this clock stands still, the first statement has not taken long. It never goes back, which would confuse what else runs here.
  const still = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  try {
    const taken: Promise<unknown>[] = [];
    const sent: number[] = [];
    for (const home of ["red", "blue", "blue", "blue"]) {
      taken.push(takeIn({ cat: `cat${taken.length}`, home }));
      for (let n = 0; n < 10; n++) await new Promise(setImmediate);
      sent.push(statements.length);
    }
    expect(sent).toEqual([1, 1, 1, 2]);
    await stranger.sql`rollback`;
    expect(await Promise.all(taken)).toHaveLength(4);
  } finally {
    still.mockRestore();
  }
});

test("a row that somebody holds locked keeps the writes of others for about a second, and its own until it is free", async () => {
  await using shelter = await openShelter();
  await using stranger = oneConnection(shelter.url);
  await stranger.sql`begin`;
  await stranger.sql`select from homes where home = 'red' for update`;
  const all = cats(20).map((cat) => ({
    home: cat.home,
    taken: workFor({ shares: [[cat.home, "caller"]] }, () => shelter.takeIn(cat)),
  }));
  const into = (home: string) => all.filter((one) => one.home === home).map(({ taken }) => taken);
  // A statement may take ten minutes: these end while the row is still locked.
  expect(await Promise.race([Promise.all(into("blue")), Promise.any(into("red"))])).toHaveLength(10);
  await stranger.sql`rollback`;
  expect(await Promise.all(into("red"))).toHaveLength(10);
});
