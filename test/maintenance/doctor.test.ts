import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { doctor } from "../../src/maintenance/doctor.ts";
import { type Cluster, newDatabase, openTransaction, startCluster } from "../cluster.ts";
import { withPasskey } from "../fixture/factors.ts";
import { type Postern, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";

let cluster: Cluster;
let postern: Postern;
beforeAll(async () => {
  cluster = await startCluster({ max_prepared_transactions: "2" });
  postern = await startPostern({ databaseUrl: await newDatabase(cluster, "service") });
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const warnings = async (config = postern.config) => {
  const { ok, lines } = await doctor(config, { rebuild: false });
  expect([ok, lines]).toEqual([true, expect.anything()]);
  return lines.filter((line) => !line.startsWith("ok  "));
};
const noWarning = () => vi.waitFor(async () => expect(await warnings()).toEqual([]), 60_000);

/** An event that was written a minute ago. */
const eventOfLongAgo = () =>
  ask(
    postern.databaseUrl,
    `insert into events (owner, stream, version, type, payload, request_id, time)
     values ('o', 'old', (select count(*) + 1 from events), 'organization.created', '{"name": "old"}', 'r', now() - interval '1 minute')`,
  );

test("the doctor warns of a transaction of another database that holds up the log, until it ends", async () => {
  await noWarning();
  {
    await using open = await openTransaction(cluster.url);
    const line = expect.stringMatching(
      new RegExp(`^warn {2}log: WatchEvents waits for .* process ${open.pid} in database postgres, open for \\d+ s$`),
    );
    await vi.waitFor(async () => expect(await warnings()).toEqual([line]), 60_000);
  }
  await noWarning();
});

test("the doctor warns of passkeys that are bound to another host than that of PUBLIC_URL", async () => {
  await withPasskey(postern);
  await noWarning();
  const moved = { ...postern.config, publicUrl: "https://id.example.com" };
  expect(await warnings(moved)).toEqual([
    "warn  passkeys: 1, of which 1 for localhost no longer work: PUBLIC_URL names id.example.com",
  ]);
});

test("a prepared transaction that nobody ends is named", async () => {
  await ask(cluster.url, "begin; select pg_current_xact_id(); prepare transaction 'left over'");
  const line = expect.stringContaining('waits for the prepared transaction "left over" in database postgres');
  await vi.waitFor(async () => expect(await warnings()).toEqual([line]), 60_000);
  await ask(cluster.url, "rollback prepared 'left over'");
  await noWarning();
});

test("a role that may not see the age of a transaction goes by the event that waits longest", async () => {
  await ask(postern.databaseUrl, "create role service login; grant all on all tables in schema public to service");
  const limited = new URL(postern.databaseUrl);
  limited.username = "service";
  const config = { ...postern.config, databaseUrl: limited.href, migrationDatabaseUrl: postern.databaseUrl };
  await using open = await openTransaction(cluster.url);
  await eventOfLongAgo();
  const line = new RegExp(`process ${open.pid} in database postgres, open for at least \\d{2,} s$`);
  expect(await warnings(config)).toEqual([expect.stringMatching(line)]);
});

test("the metric of the log grows while an event waits for an open transaction", async () => {
  const behind = async () => {
    const text = await (await fetch(`${postern.url}/metrics`)).text();
    return Number(/^postern_log_behind_seconds (\S+)$/m.exec(text)?.[1]);
  };
  {
    await using _open = await openTransaction(cluster.url);
    await eventOfLongAgo();
    await vi.waitFor(async () => expect(await behind()).toBeGreaterThan(59), 60_000);
  }
  await vi.waitFor(async () => expect(await behind()).toBeLessThan(59), 60_000);
});
