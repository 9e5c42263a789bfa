import { expect, test, vi } from "vitest";
import { endOfLog, eventsAfter, followTail, isHeld, type Listener, type StoredEvent } from "../../src/events/follow.ts";
import { numberAll, numberEvents, unnumberedSeconds } from "../../src/events/numbering.ts";
import { beginning, formatPosition, isSeen, parsePosition } from "../../src/events/position.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { oneConnection, openTestLog, organizationCreated, somebody } from "./log_of.ts";

const streams = (events: readonly StoredEvent[]) => events.map(({ stream }) => stream);
const all = async (sql: Sql) => streams(await eventsAfter(sql, 0n, 1_000_000));

const eventOf = (
  stream: string,
  seconds = 0,
) => `insert into events (owner, stream, version, type, payload, request_id, time)
  values ('${stream}', '${stream}', 1, 'organization.created', '{"name": "${stream}"}', 'request', now() - interval '${seconds}s')`;

const events = (
  count: number,
  prefix: string,
) => `insert into events (owner, stream, version, type, payload, request_id, time)
  select '${prefix}', '${prefix}' || n, 1, 'member.removed', '{}', 'request', now() from generate_series(1, ${count}) n`;

/** A tail that keeps what it hears. */
async function heardFrom(sql: Sql, onError = (error: unknown): void => expect.fail(String(error))) {
  const heard: StoredEvent[] = [];
  const lost = vi.fn();
  const tail = await followTail({ number: () => numberEvents(sql), read: (ask) => ask(sql), everyMs: 10, onError });
  const listener: Listener = { events: (more) => heard.push(...more), lost };
  const stop = tail.listen(listener);
  return { heard, lost, stop, poke: tail.poke, [Symbol.asyncDispose]: () => tail[Symbol.asyncDispose]() };
}

test("an open transaction delays its own events only, and each event is heard once", async () => {
  await using opened = await openTestLog();
  await using slow = oneConnection(opened.url);
  const { log, sql } = opened;
  await log.append(somebody(), [organizationCreated()], {});
  await numberAll(sql);
  await using tail = await heardFrom(sql);
  await slow.sql.unsafe("begin");
  await slow.sql.unsafe(eventOf("slow"));
  const facts = Array.from({ length: 50 }, () => organizationCreated());
  await Promise.all(facts.map((fact) => log.append(somebody(), [fact], {}).then(tail.poke)));
  await vi.waitFor(() => expect(tail.heard).toHaveLength(50), 60_000);
  await slow.sql.unsafe("commit");
  await vi.waitFor(() => expect(streams(tail.heard).at(-1)).toBe("slow"), 60_000);
  expect(new Set(streams(tail.heard))).toEqual(new Set([...facts.map(({ at }) => at.stream), "slow"]));
  expect(tail.heard.map(({ number }) => number)).toEqual(Array.from({ length: 51 }, (_, n) => BigInt(n + 2)));
  tail.stop();
  await log.append(somebody(), [organizationCreated()], {});
  await vi.waitFor(async () => expect((await endOfLog(sql)).number).toBe(53n), 60_000);
  expect([tail.heard.length, tail.lost.mock.calls]).toEqual([51, []]);
});

test("events of a transaction that is rolled back get no numbers, and the next one leaves no gap", async () => {
  await using opened = await openTestLog();
  await using other = oneConnection(opened.url);
  await other.sql.unsafe(`begin; ${eventOf("undone")}; rollback`);
  await numberAll(opened.sql);
  await other.sql.unsafe(eventOf("done"));
  await numberAll(opened.sql);
  expect(await eventsAfter(opened.sql, 0n, 10)).toMatchObject([{ number: 1n, stream: "done" }]);
  const batches = await opened.sql`select first::int, last::int from event_batches order by event_batches.first`;
  expect(batches).toEqual([
    { first: 0, last: 0 },
    { first: 1, last: 1 },
  ]);
});

test("many sessions that number at once give each event one number, in order without gaps", async () => {
  await using opened = await openTestLog();
  const { sql, url } = opened;
  await using writers = new AsyncDisposableStack();
  const clients = Array.from({ length: 8 }, () => writers.use(oneConnection(url)));
  let writing = true;
  const numbering = Array.from({ length: 4 }, async () => {
    while (writing) await numberEvents(sql);
  });
  await Promise.all(
    clients.map(async ({ sql: client }, writer) => {
      for (let n = 0; n < 60; n++) {
        await client.unsafe(`begin; ${eventOf(`w${writer}n${n}`)}`);
        if (n % 3 === 0) await numberEvents(sql);
        await client.unsafe(n % 10 === 9 ? "rollback" : "commit");
      }
    }),
  );
  writing = false;
  await Promise.all(numbering);
  await numberAll(sql);
  const found = await eventsAfter(sql, 0n, 1_000);
  expect(found.map(({ number }) => number)).toEqual(Array.from({ length: 8 * 54 }, (_, n) => BigInt(n + 1)));
  expect(new Set(streams(found)).size).toBe(8 * 54);
  const batches = await sql<
    { first: bigint; last: bigint }[]
  >`select first, last from event_batches order by event_batches.first offset 1`;
  for (const [n, { first }] of batches.entries()) expect(first).toBe((batches[n - 1]?.last ?? 0n) + 1n);
});

test("a backlog is numbered in bounded batches, in which open transactions are not lost", async () => {
  await using opened = await openTestLog();
  const { sql, url } = opened;
  await using early = oneConnection(url);
  await using late = oneConnection(url);
  await early.sql.unsafe(`begin; ${eventOf("early")}`);
  await sql.unsafe(events(4_000, "a"));
  await late.sql.unsafe(`begin; ${eventOf("late")}`);
  await sql.unsafe(events(3_000, "b"));
  await sql.unsafe(events(12_000, "c"));
  // The batch takes the whole of the transaction in which it becomes full.
  expect(await numberEvents(sql)).toBe(true);
  expect((await endOfLog(sql)).number).toBe(7_000n);
  await early.sql.unsafe("commit");
  expect(await numberEvents(sql)).toBe(true);
  expect((await endOfLog(sql)).number).toBe(19_001n);
  await late.sql.unsafe("commit");
  expect(await numberEvents(sql)).toBe(false);
  const found = await all(sql);
  expect([found.length, new Set(found).size, found.at(-1)]).toEqual([19_002, 19_002, "late"]);
});

test("the database refuses a second number for an event, and a number that was given", async () => {
  await using opened = await openTestLog();
  const { sql } = opened;
  await sql.unsafe(eventOf("one"));
  await numberAll(sql);
  const again = (number: number) =>
    sql`insert into event_numbers select ${number}::int, position, epoch, xid from event_numbers`;
  await expect(again(2)).rejects.toMatchObject({ constraint_name: "event_numbers_once" });
  await expect(again(1)).rejects.toMatchObject({ constraint_name: "event_numbers_pkey" });
});

test("an idle log is read without writing, and an event that has no number is noticed", async () => {
  await using opened = await openTestLog();
  const { sql } = opened;
  await sql.unsafe(eventOf("one", 90));
  expect(await unnumberedSeconds(sql)).toBeGreaterThan(89);
  await numberAll(sql);
  expect(await unnumberedSeconds(sql)).toBe(0);
  const written = async () => (await sql`select count(*)::int as count, max(xmin::text) as xmin from event_batches`)[0];
  const before = await written();
  for (let n = 0; n < 5; n++) await numberEvents(sql);
  expect(await written()).toEqual(before);
});

test("a log that lost its end is noticed, and followed from where it ends now", async () => {
  await using opened = await openTestLog();
  await using client = oneConnection(opened.url);
  const { sql } = opened;
  for (const stream of ["kept", "lost1", "lost2"]) {
    await sql.unsafe(eventOf(stream));
    await numberAll(sql);
  }
  const [kept, , lost] = await eventsAfter(sql, 0n, 10);
  await using tail = await heardFrom(sql);
  // What a copy of the data folder or an asynchronous standby does: the last transactions are gone, their numbers are given again.
  await client.sql.unsafe(`begin; alter table events disable trigger events_are_kept;
    delete from events where stream like 'lost%'; delete from event_numbers where number > 1; delete from event_batches where first > 1;
    alter table events enable trigger events_are_kept; commit`);
  await vi.waitFor(() => expect(tail.lost).toHaveBeenCalledTimes(1), 60_000);
  for (const stream of ["new1", "new2", "new3"]) {
    await sql.unsafe(eventOf(stream));
    await numberAll(sql);
  }
  await vi.waitFor(() => expect(streams(tail.heard)).toEqual(["new1", "new2", "new3"]), 60_000);
  expect(tail.lost).toHaveBeenCalledTimes(1);
  expect(await isHeld(sql, kept ?? expect.unreachable())).toBe(true);
  expect(await isHeld(sql, lost ?? expect.unreachable())).toBe(false);
  expect(await isHeld(sql, beginning)).toBe(true);
});

test("the tail goes on after failures, and reports the first of numbering and of reading", async () => {
  await using opened = await openTestLog();
  await using client = oneConnection(opened.url);
  const failures: unknown[] = [];
  await using tail = await heardFrom(opened.sql, (error) => failures.push(error));
  await client.sql`alter table events rename to hidden`;
  await vi.waitFor(() => expect(failures.length).toBeGreaterThan(0), 60_000);
  await client.sql`alter table hidden rename to events`;
  await opened.log.append(somebody(), [organizationCreated()], {});
  await vi.waitFor(() => expect(tail.heard).toHaveLength(1), 60_000);
  expect(failures.length).toBeLessThanOrEqual(2);
});

test("positions are told apart from other texts", () => {
  const position = { number: 123_456_789_012_345_678n, batch: "0123456789abcdef" };
  expect(parsePosition(formatPosition(position))).toEqual(position);
  expect([parsePosition("0"), parsePosition(formatPosition(beginning))]).toEqual([beginning, beginning]);
  const texts = ["", "1", "1.2", "1.0123456789ABCDEF", "1.0123456789abcdef0", "1234567890123456789.0123456789abcdef"];
  const earlier = ["1.2.3.4", "1.2.x", "-1.2.3", "1.18446744073709551616.3", "1.2.3 ", "1.2.3~", "1.2.3~3"];
  for (const text of [...texts, ...earlier]) expect(parsePosition(text)).toBeUndefined();
});

test("positions of release 0.1.0 name transactions, and what was open then is unseen", () => {
  const mark = { epoch: 1, xid: "740", position: 58n, open: ["737", "739"] };
  expect(parsePosition("1.740.58~3.1")).toEqual(mark);
  expect(parsePosition("1.740.58")).toEqual({ ...mark, open: [] });
  expect(parsePosition("0.0.0")).toEqual(beginning);
  const seen = (xid: string, position: bigint, epoch = 1) => isSeen({ epoch, xid, position }, mark);
  expect([seen("737", 50n), seen("739", 57n), seen("740", 59n), seen("741", 1n), seen("1", 1n, 2)]).toEqual(
    Array(5).fill(false),
  );
  expect([seen("738", 51n), seen("740", 58n), seen("737", 9n, 0)]).toEqual(Array(3).fill(true));
});
