import { expect, test } from "vitest";
import { isOutcomeUnknown, isStatementTimeout, isUnavailable } from "../../../src/postgres/failure.ts";
import { type ConnectOptions, connect } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import { ask, quiet, until } from "../embedded/holder.ts";
import { startPair } from "../standby.ts";

// As behind a pooler, whose servers take no statement_timeout.
const options: ConnectOptions = {
  connections: 2,
  waitMs: 5_000,
  statementTimeoutMs: 3_000,
  log: quiet,
  pooler: { prepares: false },
};
const failureOf = (statement: PromiseLike<unknown>) =>
  statement.then(
    () => undefined,
    (error: unknown) => error,
  );

test("a statement that runs too long is cancelled for certain, and its connection is not used again", async () => {
  await using at = await freshDatabase({ empty: true });
  await using db = connect(at.url, options);
  const [before] = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const failure = await failureOf(db.sql`select pg_sleep(600)`);
  expect([isStatementTimeout(failure), isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([
    true,
    false,
    false,
  ]);
  const [after] = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  expect(after?.pid).not.toBe(before?.pid);
  expect(await db.sql`select current_setting('statement_timeout') as time, current_setting('jit') as jit`).toEqual([
    { time: "0", jit: expect.stringMatching(/^o(n|ff)$/) },
  ]);
});

test("a commit that is cancelled while it waits for its standby is not called done", async () => {
  await using pair = await startPair();
  await ask(pair.primary.url, "create table written (n int)");
  await using db = connect(pair.primary.url, options);
  await db.sql`insert into written values (1)`;
  await pair.standby.stop();
  const failure = await failureOf(db.sql`insert into written values (2)`);
  expect([isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, true]);
  // It is there, and a failover would lose it.
  await until(async () => (await ask(pair.primary.url, "select n from written")).length === 2);
});

test("the time-out of a statement does not end the wait of its commit for a standby either", async () => {
  await using pair = await startPair();
  await ask(pair.primary.url, "create table written (n int)");
  const direct = { ...options, pooler: undefined, answerMs: 5_000 };
  await using db = connect(pair.primary.url, direct);
  await pair.standby.stop();
  const failure = await failureOf(db.sql`insert into written values (1)`);
  expect([isUnavailable(failure), isOutcomeUnknown(failure)]).toEqual([true, true]);
});
