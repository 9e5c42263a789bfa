import { setTimeout as pause } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { takeLease } from "../../src/events/lease.ts";
import { type Chore, expiredRecords, inOrder, startSweep } from "../../src/events/sweep.ts";
import { connect } from "../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../database.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

async function openDatabase() {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await freshDatabase());
  const { sql } = opened.use(connect(url, { connections: 4, waitMs: 60_000, statementTimeoutMs: 60_000, log }));
  const stack = opened.move();
  return { sql, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A chore with so many things to clear away. */
function pile(things: number) {
  const asked: number[] = [];
  const chore: Chore = {
    name: "pile",
    async batch(most) {
      asked.push(most);
      const cleared = Math.min(most, things);
      things -= cleared;
      return cleared;
    },
  };
  return { chore, asked, left: () => things };
}

const onError = (error: unknown) => console.warn(error);

test("a lease is one node's until it ends, and may be kept", async () => {
  await using database = await openDatabase();
  const { sql } = database;
  const take = (holder: string) => takeLease(sql, { work: "sweep", holder, seconds: 30 });
  const taken = await Promise.all(["a", "b", "c"].map(take));
  expect(taken.filter((one) => one)).toHaveLength(1);
  const holder = ["a", "b", "c"][taken.indexOf(true)] ?? "";
  expect(await take(holder)).toBe(true);
  expect(await take("d")).toBe(false);
  await sql`update leases set until = now() - interval '1 second'`;
  expect(await take("d")).toBe(true);
  expect(await take(holder)).toBe(false);
});

test("a lease from before the database's clock was set back is nobody's", async () => {
  await using database = await openDatabase();
  const { sql } = database;
  const take = (holder: string) => takeLease(sql, { work: "sweep", holder, seconds: 30 });
  expect(await take("gone")).toBe(true);
  await sql`update leases set until = until + interval '1 day'`;
  expect(await take("a")).toBe(true);
  expect(await take("b")).toBe(false);
});

test("a node whose clock is ahead of the database's clears nothing away, and says so", async () => {
  await using database = await openDatabase();
  const { sql } = database;
  const { chore, left } = pile(3);
  const errors: unknown[] = [];
  let ahead = 90_000;
  const clock = () => new Date(Date.now() + ahead);
  await using _sweep = startSweep({ sql, chores: [chore], clock, everyMs: 50, onError: (error) => errors.push(error) });
  await vi.waitFor(
    () => expect(errors.map(String).join()).toContain("the clock is 90 s ahead of the database's"),
    60_000,
  );
  expect(left()).toBe(3);
  ahead = 0;
  await vi.waitFor(() => expect(left()).toBe(0), 60_000);
});

test("a node that stops leaves the rest to the next one at once, in the middle of its work", async () => {
  await using database = await openDatabase();
  const { sql } = database;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const endless: Chore = {
    name: "endless",
    async batch(most) {
      begin();
      return most;
    },
  };
  const everyMs = 3_600_000;
  const first = startSweep({ sql, chores: [endless], everyMs, onError });
  await begun;
  const { chore, asked, left } = pile(3);
  await using _next = startSweep({ sql, chores: [chore, chore], everyMs, onError });
  // It has looked once by now, and does not wait for an hour to look again.
  const looked = () => sql`
    select from pg_stat_activity
    where datname = current_database() and query like '%from leases%' and pid <> pg_backend_pid()`;
  await vi.waitFor(async () => expect(await looked()).not.toEqual([]), 60_000);
  expect(asked).toEqual([]);
  await first[Symbol.asyncDispose]();
  await vi.waitFor(() => expect(left()).toBe(0), 60_000);
  expect(await sql`select work from leases`).toHaveLength(1);
});

test("everything is cleared away, batch by batch, by one node", async () => {
  await using database = await openDatabase();
  const { chore, asked, left } = pile(1_200);
  await using _one = startSweep({ sql: database.sql, chores: [chore], onError });
  await using _two = startSweep({ sql: database.sql, chores: [chore], onError });
  await vi.waitFor(() => expect(left()).toBe(0), 60_000);
  expect(asked).toEqual([1_000, 1_000]);
});

test("a batch that may not be the last is followed by a rest of its length", async () => {
  await using database = await openDatabase();
  const times: number[] = [];
  const slow: Chore = {
    name: "slow",
    async batch(most) {
      times.push(performance.now());
      await pause(100);
      return times.length < 3 ? most : 0;
    },
  };
  await using _sweep = startSweep({ sql: database.sql, chores: [slow], everyMs: 3_600_000, onError });
  await vi.waitFor(() => expect(times).toHaveLength(3), 60_000);
  // Timers may be a little early.
  for (const [n, time] of times.slice(1).entries()) expect(time - (times[n] ?? 0)).toBeGreaterThan(195);
});

test("a chore that fails keeps no other from being done", async () => {
  await using database = await openDatabase();
  const { chore, left } = pile(3);
  const broken: Chore = { name: "broken", batch: () => Promise.reject(new Error("no")) };
  const failures: string[] = [];
  const heard = (_error: unknown, name: string) => void failures.push(name);
  await using _sweep = startSweep({ sql: database.sql, chores: [broken, chore], onError: heard });
  await vi.waitFor(() => expect(left()).toBe(0), 60_000);
  expect(failures).toEqual(["broken"]);
});

test("idempotency records are kept for the time set", async () => {
  await using database = await openDatabase();
  const { sql } = database;
  const now = new Date("2031-02-03T12:00:00Z");
  await sql`
    insert into idempotency (caller, operation, key, request, answer, created)
    select 'ada', 'op', hours::text, '', '', ${now}::timestamptz - make_interval(hours => hours)
    from unnest(array[1, 23, 25, 48]) hours`;
  const { batch } = expiredRecords(sql, () => now, { idempotencyRetentionSeconds: 86_400 });
  expect([await batch(1), await batch(1), await batch(1)]).toEqual([1, 1, 0]);
  expect(await sql`select key from idempotency order by key`).toEqual([{ key: "1" }, { key: "23" }]);
});

test("a batch begins where the one before ended, and the next sweep looks from the beginning", async () => {
  const times = [1, 2, 3, 4, 5].map((second) => new Date(second * 1_000));
  const asked: number[] = [];
  const { batch } = inOrder("times", async ({ from, most }) => {
    asked.push(from.getTime() / 1_000);
    const gone = times.filter((time) => time >= from).slice(0, most);
    for (const time of gone) times.splice(times.indexOf(time), 1);
    return [{ count: gone.length, last: gone.at(-1) ?? null }];
  });
  expect([await batch(2), await batch(2), await batch(2)]).toEqual([2, 2, 1]);
  // A row that another statement had locked.
  times.push(new Date(0));
  expect([await batch(2), await batch(2)]).toEqual([1, 0]);
  expect(asked).toEqual([0, 2, 4, 0, 0]);
});
