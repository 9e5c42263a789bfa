import { expect, test } from "vitest";
import { holdTable } from "../../fixture/held_row.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { ask, until } from "../../postgres/embedded/holder.ts";

// One hash at a time, each of them long enough for what happens meanwhile.
const slow = { hashConcurrency: 1, hashMemoryKib: 262_144, hashIterations: 6, databaseStatementTimeoutMs: 3_000 };

const counted = async ({ databaseUrl }: Postern, userId: string) =>
  (
    await ask<{ attempts: number }>(databaseUrl, `select attempts from password_attempts where user_id = '${userId}'`)
  )[0]?.attempts ?? 0;

const isGivenBack = `select from pg_stat_activity
  where datname = current_database() and query like '%attempts = attempts - 1%' and wait_event_type = 'Lock'`;

test("an attempt that was given up is not counted, also when the database is busy just then", async () => {
  await using postern = await startPostern();
  const { userId, username, password } = await signedUp(postern);
  const { config } = postern;
  await using busy = await startPostern({ ...config, ...slow });
  const aborting = new AbortController();
  const signIn = (loginName: string, signal?: AbortSignal) =>
    fetch(`${busy.url}/v1/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ loginName, password }),
      ...(signal && { signal }),
    }).catch(() => undefined);
  const others = Array.from({ length: 8 }, (_, nth) => signIn(`nobody-${nth}`));
  await until(async () => (await ask(busy.databaseUrl, "select from password_attempts where user_id = ''")).length > 0);
  const givenUp = signIn(username, aborting.signal);
  await until(async () => (await counted(postern, userId)) === 1);
  const held = await holdTable(postern.databaseUrl, "password_attempts");
  aborting.abort();
  await givenUp;
  await until(async () => (await ask(postern.databaseUrl, isGivenBack)).length > 0);
  await until(async () => (await ask(postern.databaseUrl, isGivenBack)).length === 0);
  await held[Symbol.asyncDispose]();
  await expect.poll(() => counted(postern, userId)).toBe(0);
  await busy[Symbol.asyncDispose]();
  await Promise.all(others);
});
