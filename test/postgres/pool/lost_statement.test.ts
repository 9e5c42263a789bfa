import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { isOutcomeUnknown } from "../../../src/postgres/failure.ts";
import { type Connection, connect } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import { ask, quiet, until } from "../embedded/holder.ts";
import { openProxy } from "../proxy.ts";

const bounds = { connections: 2, waitMs: 20_000, log: quiet };

/** A pool for statements of any length, beside one for short ones. */
function openPools(url: string): AsyncDisposable & { readonly long: Connection } {
  const short = connect(url, { ...bounds, statementTimeoutMs: 1_000, silenceMs: 100, connectMs: 1_000 });
  const long = connect(url, { ...bounds, statementTimeoutMs: 600_000, silenceMs: 100, asking: short.sql });
  return {
    long,
    async [Symbol.asyncDispose]() {
      await long[Symbol.asyncDispose]();
      await short[Symbol.asyncDispose]();
    },
  };
}

test("a statement whose answer was lost ends, however long it may run", async () => {
  await using at = await freshDatabase({ empty: true });
  await using proxy = await openProxy(at.url);
  await using pools = openPools(proxy.url);
  await pools.long.sql`create table written (n int)`;
  proxy.fail({ swallow: "answers" });
  const written = pools.long.sql`insert into written values (1)`.then(
    () => "answered",
    (error: unknown) => isOutcomeUnknown(error),
  );
  await until(async () => (await ask(at.url, "select n from written")).length === 1);
  proxy.fail({});
  expect(await written).toBe(true);
  expect(await pools.long.sql`select n from written`).toEqual([{ n: 1 }]);
});

test("a statement that was lost on the way to the server ends as well", async () => {
  await using at = await freshDatabase({ empty: true });
  await using proxy = await openProxy(at.url);
  await using pools = openPools(proxy.url);
  await pools.long.sql`select 1`;
  proxy.fail({ swallow: true });
  const asked = pools.long.sql`select 2`.then(
    () => "answered",
    (error: unknown) => isOutcomeUnknown(error),
  );
  await sleep(50);
  proxy.fail({});
  expect(await asked).toBe(true);
});

test("a statement of which the server knows the text and waits for the rest ends as well", async () => {
  await using at = await freshDatabase({ empty: true });
  await using proxy = await openProxy(at.url);
  await using pools = openPools(proxy.url);
  await pools.long.sql`create table written (n int)`;
  const swallow = () => proxy.fail({ swallow: true });
  // The driver sends the values once the server has described them: the server then waits, and shows the statement as active.
  proxy.fail({
    resetAt(message) {
      if (message.startsWith("P")) queueMicrotask(swallow);
      return false;
    },
  });
  const asked = pools.long.sql`insert into written values (${1})`.then(
    () => "answered",
    (error: unknown) => isOutcomeUnknown(error),
  );
  const waiting = `select from pg_stat_activity
    where datname = current_database() and state = 'active' and wait_event = 'ClientRead'`;
  await until(async () => (await ask(at.url, waiting)).length > 0);
  proxy.fail({});
  expect(await asked).toBe(true);
  expect(await pools.long.sql`select n from written`).toEqual([]);
});

test("a statement that runs is left alone", async () => {
  await using at = await freshDatabase({ empty: true });
  await using pools = openPools(at.url);
  expect(await pools.long.sql`select 'whole' as answer from pg_sleep(2)`).toEqual([{ answer: "whole" }]);
});
