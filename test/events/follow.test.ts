import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import {
  beginning,
  beginOf,
  endOfLog,
  eventsAfter,
  followTail,
  formatPosition,
  isUnseen,
  lookAgain,
  parsePosition,
  type StoredEvent,
} from "../../src/events/follow.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { oneConnection, openTestLog, organizationCreated, somebody } from "./log_of.ts";

const streams = (events: readonly StoredEvent[]) => events.map(({ stream }) => stream);

// Transactions of other databases of the server count too, and other tests have some.
const settled = (sql: Sql, expected: readonly string[]) =>
  vi.waitFor(async () => expect(streams(await eventsAfter(sql, beginning, 10))).toEqual(expected), 60_000);

const slowEvent = `insert into events (owner, stream, version, type, payload, request_id, time)
  values ('slow', 'slow', 1, 'organization.created', '{"name": "slow"}', 'request', now())`;

test("a follower waits for a slow writer, and then sees its event before the later ones", async () => {
  await using opened = await openTestLog();
  await using slow = oneConnection(opened.url);
  const { log, sql } = opened;
  const [before, after] = [organizationCreated(), organizationCreated()];
  await log.append(somebody(), [before], {});
  await settled(sql, [before.at.stream]);
  await slow.sql.unsafe("begin");
  await slow.sql.unsafe(slowEvent);
  await log.append(somebody(), [after], {});
  expect(streams(await eventsAfter(sql, beginning, 10))).toEqual([before.at.stream]);
  const end = await endOfLog(sql);
  await slow.sql.unsafe("commit");
  await settled(sql, [before.at.stream, "slow", after.at.stream]);
  expect(streams(await eventsAfter(sql, end, 10))).toEqual(["slow", after.at.stream]);
});

test("the tail hears every event once and in order, and skips no slow writer", async () => {
  await using opened = await openTestLog();
  await using slow = oneConnection(opened.url);
  const { log, sql } = opened;
  const earlier = organizationCreated();
  await log.append(somebody(), [earlier], {});
  await settled(sql, [earlier.at.stream]);
  const heard: StoredEvent[] = [];
  await using tail = await followTail({ sql, everyMs: 20, onError: (error) => expect.fail(String(error)) });
  const stop = tail.listen((events) => heard.push(...events));
  await slow.sql.unsafe("begin");
  await slow.sql.unsafe(slowEvent);
  const facts = Array.from({ length: 50 }, () => organizationCreated());
  await Promise.all(facts.map((fact) => log.append(somebody(), [fact], {}).then(tail.poke)));
  expect(heard).toEqual([]);
  await slow.sql.unsafe("commit");
  await vi.waitFor(() => expect(heard).toHaveLength(51), 60_000);
  expect(streams(heard)[0]).toBe("slow");
  expect(new Set(streams(heard))).toEqual(new Set(["slow", ...facts.map(({ at }) => at.stream)]));
  stop();
  await log.append(somebody(), [organizationCreated()], {});
  await vi.waitFor(
    async () => expect((await endOfLog(sql)).position).toBeGreaterThan(heard.at(-1)?.position ?? 0n),
    60_000,
  );
  expect(heard).toHaveLength(51);
});

function lookingWith(restMs: number) {
  const counted = { looks: 0 };
  const onError = (error: unknown) => expect.fail(String(error));
  const look = async () => {
    counted.looks += 1;
    return false;
  };
  return { counted, ...lookAgain({ everyMs: 60_000, restMs, onError, look }) };
}

test("who looks again rests between two looks, whatever is appended, and can be stopped meanwhile", async () => {
  const { counted, poke, stop } = lookingWith(60_000);
  for (let round = 0; round < 10; round++) {
    await nextTurn();
    poke();
  }
  await nextTurn();
  expect(counted.looks).toBe(1);
  await stop();
  expect(counted.looks).toBe(1);
});

test("what is appended while one rests is looked for after the rest", async () => {
  const { counted, poke, stop } = lookingWith(1);
  await nextTurn();
  poke();
  await vi.waitFor(() => expect(counted.looks).toBeGreaterThan(1), 60_000);
  await stop();
});

test("the tail goes on after a failed look", async () => {
  await using opened = await openTestLog();
  await using client = oneConnection(opened.url);
  const heard: StoredEvent[] = [];
  const failures: unknown[] = [];
  await using tail = await followTail({ sql: opened.sql, everyMs: 10, onError: (error) => failures.push(error) });
  tail.listen((events) => heard.push(...events));
  await client.sql`alter table events rename to hidden`;
  await vi.waitFor(() => expect(failures.length).toBeGreaterThan(0), 60_000);
  await client.sql`alter table hidden rename to events`;
  await opened.log.append(somebody(), [organizationCreated()], {});
  await vi.waitFor(() => expect(heard).toHaveLength(1), 60_000);
});

test("positions are told apart from other texts", () => {
  const position = { epoch: 1, xid: "18446744073709551615", position: 12n };
  expect(parsePosition(formatPosition(position))).toEqual({ ...position, open: [] });
  for (const text of [
    "",
    "1.2",
    "1.2.3.4",
    "1.2.x",
    "-1.2.3",
    "1.18446744073709551616.3",
    "1.2.3 ",
    "1.2.3~",
    "1.2.3~3",
  ])
    expect(parsePosition(text)).toBeUndefined();
});

test("a position carries the transactions that were open before it, and what they write is unseen", () => {
  const mark = { epoch: 1, xid: "740", position: 58n, open: ["737", "739"] };
  expect(formatPosition(mark)).toBe("1.740.58~3.1");
  expect(parsePosition("1.740.58~3.1")).toEqual(mark);
  expect(beginOf(mark)).toEqual({ epoch: 1, xid: "737", position: 0n });
  const unseen = (xid: string, position: bigint, epoch = 1) => isUnseen({ epoch, xid, position }, mark);
  expect([unseen("737", 50n), unseen("739", 57n), unseen("740", 59n), unseen("741", 1n)]).toEqual(Array(4).fill(true));
  expect([unseen("738", 51n), unseen("740", 58n), unseen("737", 9n, 0)]).toEqual(Array(3).fill(false));
  const many = Array.from({ length: 500 }, (_, n) => String(9_000 + n));
  expect(formatPosition({ epoch: 1, xid: "10000", position: 7n, open: many })).toBe("1.9000.0");
});
