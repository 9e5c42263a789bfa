import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { freshDatabase } from "../../database.ts";
import { machine, organization, startPostern } from "../../harness.ts";
import { ask, quiet, until } from "../embedded/holder.ts";
import { openProxy } from "../proxy.ts";

const readyz = async (url: string) => (await fetch(`${url}/readyz`)).status;

test("behind a network that swallows everything the node says that it is not ready, and is again afterwards", async () => {
  await using at = await freshDatabase();
  await using proxy = await openProxy(at.url);
  await using postern = await startPostern({ databaseUrl: proxy.url, databaseStatementTimeoutMs: 60_000 });
  await expect.poll(() => readyz(postern.url)).toBe(200);
  proxy.fail({ swallow: true });
  // The question for the state does not wait for statements, which give up after more than a minute.
  let isPending = true;
  const call = postern.admin.get("/v1/projects").finally(() => {
    isPending = false;
  });
  await expect.poll(() => readyz(postern.url)).toBe(503);
  for (let round = 0; round < 3; round++)
    expect(await Promise.all(Array.from({ length: 50 }, () => readyz(postern.url)))).toEqual(Array(50).fill(503));
  expect(isPending).toBe(true);
  proxy.fail({});
  proxy.reset();
  // Its statement was lost with the connection, or had not been sent yet.
  expect([200, 503]).toContain((await call).status);
  await expect.poll(() => readyz(postern.url)).toBe(200);
});

test("a node whose connections are all held up by locks is still ready", async () => {
  await using at = await freshDatabase();
  await using postern = await startPostern({ databaseUrl: at.url, databaseConnections: 4 });
  // One organization leaves a connection to others.
  const other = await machine(postern, { organizationId: await organization(postern) });
  await using gate = connect(at.url, { connections: 1, waitMs: 60_000, statementTimeoutMs: 60_000, log: quiet });
  await gate.sql.unsafe("begin; lock table user_grants in access exclusive mode");
  const callers = [postern.admin, other.client];
  const calls = Array.from({ length: 40 }, (_, n) => callers[n % 2]?.get("/v1/users/me/grants"));
  await until(async () => {
    const [row] = await ask<{ count: number }>(
      at.url,
      "select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return row?.count === 2;
  });
  // The question for the state has a second, which is short for a machine that stalls.
  for (let round = 0; round < 10; round++, await sleep(200)) await expect.poll(() => readyz(postern.url)).toBe(200);
  await gate.sql.unsafe("commit");
  await Promise.all(calls);
});
