import { expect, test, vi } from "vitest";
import { reasonOf } from "../../../src/errors.ts";
import { followTail } from "../../../src/events/follow.ts";
import { numberAll } from "../../../src/events/numbering.ts";
import { beginning } from "../../../src/events/position.ts";
import type { Sql } from "../../../src/postgres/pool/connect.ts";
import { type WorkedFor, workFor } from "../../../src/security/current_share.ts";
import { watch } from "../../../src/services/audit/event_watch.ts";
import { oneConnection, openTestLog } from "../../events/log_of.ts";

const filter = { owner: "", objectId: "", actorId: "", aboutUserId: "", projectId: "", onBehalfOfId: "", types: [] };

/** A log whose last events can be lost, and a tail that reads it only while it may. */
async function openLosing() {
  await using opened = new AsyncDisposableStack();
  const { sql, url } = opened.use(await openTestLog());
  const other = opened.use(oneConnection(url));
  const held = { isHeldUp: false, reads: 0 };
  const read = <T>(statement: (sql: Sql) => Promise<T>): Promise<T> => {
    held.reads += 1;
    return held.isHeldUp ? Promise.reject(new Error("held up")) : statement(sql);
  };
  const tail = opened.use(await followTail({ number: async () => false, read, everyMs: 5, onError() {} }));
  const stack = opened.move();
  return {
    ...{ sql, tail, held },
    /** Writes numbered events, each in a batch of its own. */
    async write(...streams: readonly string[]) {
      for (const stream of streams) {
        await other.sql`insert into events (owner, stream, version, type, payload, request_id, time)
          values (${stream}, ${stream}, 1, 'member.removed', '{}', 'request', now())`;
        await numberAll(sql);
      }
    },
    /** Writes so many numbered events in one batch. */
    async writeMany(count: number) {
      await other.sql`insert into events (owner, stream, version, type, payload, request_id, time)
        select 'many', 'many', n, 'member.removed', '{}', 'request', now() from generate_series(1, ${count}::integer) n`;
      await numberAll(sql);
    },
    /** Ends the log after a number, as an asynchronous standby does that is promoted. */
    lose: (after: number) =>
      other.sql.unsafe(`begin; alter table events disable trigger events_are_kept;
        delete from events where position in (select position from event_numbers where number > ${after});
        delete from event_numbers where number > ${after}; delete from event_batches where first > ${after};
        alter table events enable trigger events_are_kept; commit`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Reads a watch to its end, or to an event of after the loss; answers what it has seen, and why it ended. */
function reading(events: AsyncIterable<{ readonly stream: string }>) {
  const seen: string[] = [];
  const ended = (async () => {
    for await (const { stream } of events) {
      seen.push(stream);
      if (stream.startsWith("new")) return;
    }
  })().catch((error: unknown) => error);
  return { seen, ended };
}

test("a watch that read more than the tail had heard before the log lost it ends", async () => {
  await using log = await openLosing();
  const { sql, tail, held } = log;
  await log.write("kept");
  const { reads } = held;
  await vi.waitFor(() => expect(held.reads).toBeGreaterThan(reads + 2), 60_000);
  held.isHeldUp = true;
  await log.write("lost1", "lost2", "lost3");
  const { signal } = new AbortController();
  const { seen, ended } = reading(watch({ sql, tail, filter, signal }, { at: beginning }));
  await vi.waitFor(() => expect(seen).toEqual(["kept", "lost1", "lost2", "lost3"]), 60_000);
  await log.lose(1);
  await log.write("new1", "new2", "new3", "new4", "new5");
  held.isHeldUp = false;
  expect(reasonOf(await ended)).toBe("POSITION_LOST");
  expect(seen).toEqual(["kept", "lost1", "lost2", "lost3"]);
});

test("a log that loses its end between two statements of a watch ends it", async () => {
  await using log = await openLosing();
  const { tail, held } = log;
  await log.write("kept");
  const { reads } = held;
  await vi.waitFor(() => expect(held.reads).toBeGreaterThan(reads + 2), 60_000);
  held.isHeldUp = true;
  await log.write("lost1", "lost2");
  const [{ number, batch } = expect.unreachable()] = await log.sql<{ number: bigint; batch: string }[]>`
    select last as number, id as batch from event_batches order by first desc limit 1`;
  let isLost = false;
  const sql = afterFirst(log.sql, async () => {
    isLost = true;
    await log.lose(1);
    await log.write("new1", "new2", "new3");
    held.isHeldUp = false;
  });
  const { signal } = new AbortController();
  const { seen, ended } = reading(watch({ sql, tail, filter, signal }, { at: { number, batch } }));
  expect(reasonOf(await ended)).toBe("POSITION_LOST");
  expect([isLost, seen]).toEqual([true, []]);
});

test("what lies between the end of what was read and what the tail tells next is read too", async () => {
  await using log = await openLosing();
  const { tail, held } = log;
  await log.write("one");
  const [end = expect.unreachable()] = await log.sql<{ number: bigint; batch: string }[]>`
    select last as number, id as batch from event_batches order by first desc limit 1`;
  // The tail reads another server than the watch, which is behind.
  await log.write("two", "three");
  const { reads } = held;
  await vi.waitFor(() => expect(held.reads).toBeGreaterThan(reads + 2), 60_000);
  const stop = new AbortController();
  const behind = new Proxy(log.sql, {
    apply(target, self, [text, ...values]) {
      const isEnd = Array.isArray(text) && text.join("").includes("least(last");
      return isEnd && tooEarly ? Promise.resolve([end]) : Reflect.apply(target, self, [text, ...values]);
    },
  });
  let tooEarly = true;
  const { seen, ended } = reading(watch({ sql: behind, tail, filter, signal: stop.signal }, { at: beginning }));
  await vi.waitFor(() => expect(seen).toEqual(["one"]), 60_000);
  tooEarly = false;
  await log.write("four");
  await vi.waitFor(() => expect(seen).toEqual(["one", "two", "three", "four"]), 60_000);
  stop.abort();
  await ended;
});

/** Does something once the first statement of those that find out how far the log reaches has been answered. */
function afterFirst(sql: Sql, act: () => Promise<void>): Sql {
  let isFirst = true;
  return new Proxy(sql, {
    apply(target, self, [text, ...values]) {
      const query = Reflect.apply(target, self, [text, ...values]);
      const acts = isFirst && Array.isArray(text) && /least\(last| as held/.test(text.join(""));
      if (!acts) return query;
      isFirst = false;
      return query.then((rows: unknown) => act().then(() => rows));
    },
  });
}

test("while others call, a watch that catches up makes the next of its organization wait until its client has what was read", async () => {
  await using log = await openLosing();
  await log.writeMany(150);
  const { sql, tail } = log;
  const { signal } = new AbortController();
  const whom: WorkedFor = { shares: [["busy", "caller"]], isShared: true };
  /** Opens a watch; returns a function that takes its next events. */
  const open = () => {
    const events = watch({ sql, tail, filter, signal }, { at: beginning });
    const take = async (count: number) => {
      for (let n = 0; n < count; n++) expect((await events.next()).done).toBe(false);
    };
    return (count: number) => workFor(whom, () => take(count));
  };
  const [first, second] = [open(), open()];
  await first(100);
  const began = performance.now();
  // It has read the other fifty, and its client takes none of them after this one.
  await first(1);
  await second(100);
  await second(1);
  // A turn that is held up lasts 100 ms, and its rest three times as long.
  expect(performance.now() - began).toBeGreaterThan(390);
});
