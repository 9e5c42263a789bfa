import { expect, test, vi } from "vitest";
import { type CommittedFact, factsSince, watchCommitted } from "../../src/events/committed.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { oneConnection, openTestLog, organizationCreated, somebody } from "./log_of.ts";

const eventOf = (stream: string, type = "organization.created") => `
  insert into events (owner, stream, version, type, payload, request_id, time)
  values ('${stream}', '${stream}', 1, '${type}', '{"name": "slow"}', 'request', now())`;

/** A watch that keeps what it sees. */
async function watching(sql: Sql, { except = [] as readonly string[] } = {}) {
  const [seen, errors]: [CommittedFact[], unknown[]] = [[], []];
  const state = { gaps: 0, looks: 0, broken: false };
  const watch = await watchCommitted({
    async read(ask) {
      state.looks++;
      if (state.broken) throw new Error("broken");
      return ask(sql);
    },
    except,
    everyMs: 5,
    onFacts: (facts) => seen.push(...facts),
    onGap: () => void state.gaps++,
    onError: (error) => errors.push(error),
  });
  const streams = () => seen.map(({ stream }) => stream);
  const waitFor = (check: () => void) => vi.waitFor(check, 60_000);
  /** Waits for reads that begin from now on. */
  const looked = () => {
    const before = state.looks;
    return waitFor(() => expect(state.looks).toBeGreaterThan(before + 2));
  };
  return { streams, errors, state, waitFor, looked, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
}

test("facts are seen while transactions that came before them stay open, and those of these when they commit", async () => {
  await using opened = await openTestLog();
  const { sql, log, url } = opened;
  await using early = oneConnection(url);
  await using late = oneConnection(url);
  await early.sql.unsafe("begin");
  await early.sql.unsafe(eventOf("early"));
  await using watch = await watching(sql);
  await late.sql.unsafe("begin");
  await late.sql.unsafe(eventOf("late"));
  const facts = Array.from({ length: 5 }, () => organizationCreated());
  for (const fact of facts) await log.append(somebody(), [fact], {});
  const between = facts.map(({ at }) => at.stream);
  await watch.waitFor(() => expect(watch.streams().toSorted()).toEqual(between.toSorted()));
  await late.sql.unsafe("commit");
  await watch.waitFor(() => expect(watch.streams().at(-1)).toBe("late"));
  await early.sql.unsafe("commit");
  await watch.waitFor(() => expect(watch.streams().at(-1)).toBe("early"));
  await watch.looked();
  expect(watch.streams()).toHaveLength(7);
  expect(watch.state.gaps).toBe(0);
});

test("facts of a transaction that is rolled back, and types that are not wanted, are never seen", async () => {
  await using opened = await openTestLog();
  await using other = oneConnection(opened.url);
  await using watch = await watching(opened.sql, { except: ["project.created"] });
  await other.sql.unsafe(`begin; ${eventOf("undone")}; rollback`);
  await other.sql.unsafe(eventOf("unwanted", "project.created"));
  await other.sql.unsafe(eventOf("unknown", "a.new_type"));
  await watch.waitFor(() => expect(watch.streams()).toEqual(["unknown"]));
  await watch.looked();
  expect(watch.streams()).toEqual(["unknown"]);
});

test("after failed reads everything may have been missed, and one error is reported", async () => {
  await using opened = await openTestLog();
  await using watch = await watching(opened.sql);
  watch.state.broken = true;
  await watch.looked();
  await opened.sql.unsafe(eventOf("missed"));
  watch.state.broken = false;
  await watch.waitFor(() => expect(watch.state.gaps).toBe(1));
  await opened.sql.unsafe(eventOf("seen"));
  await watch.waitFor(() => expect(watch.streams()).toEqual(["seen"]));
  expect(watch.errors).toHaveLength(1);
  expect(watch.state.gaps).toBe(1);
});

test("more facts than are worth reading are a gap", async () => {
  await using opened = await openTestLog();
  await using watch = await watching(opened.sql);
  await opened.sql`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select 'many', 's' || n, 1, 'member.removed', '{}', 'request', now() from generate_series(1, 1500) n`;
  await watch.waitFor(() => expect(watch.state.gaps).toBe(1));
  await opened.sql.unsafe(eventOf("seen"));
  await watch.waitFor(() => expect(watch.streams()).toEqual(["seen"]));
});

test("a server whose transactions have lower numbers than before was restored", async () => {
  await using opened = await openTestLog();
  const future = "4000000000:4000000000:";
  expect(await factsSince(opened.sql, future, [])).toMatchObject({ isBefore: true, facts: [] });
  const { snapshot } = await factsSince(opened.sql, future, []);
  expect(await factsSince(opened.sql, snapshot, [])).toMatchObject({ isBefore: false, facts: [] });
});
