import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { rebuild } from "../../src/events/rebuild.ts";
import { doctor } from "../../src/maintenance/doctor.ts";
import { folds } from "../../src/runtime/modules.ts";
import { type Cluster, newDatabase, openTransaction, startCluster } from "../cluster.ts";
import { oneConnection } from "../events/log_of.ts";
import { withPasskey } from "../fixture/factors.ts";
import { holdStatement, holdTable } from "../fixture/held_row.ts";
import { type Postern, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { running } from "../program/command.ts";

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

test("an open transaction of another database holds up nothing, so the doctor does not mention it", async () => {
  await using _open = await openTransaction(cluster.url);
  await eventOfLongAgo();
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

test("an event that gets no number is told by the doctor and by the metric, until it has one", async () => {
  const behind = async () => {
    const text = await (await fetch(`${postern.url}/metrics`)).text();
    return Number(/^postern_log_behind_seconds (\S+)$/m.exec(text)?.[1]);
  };
  {
    await using _held = await holdTable(postern.databaseUrl, "event_numbers");
    await eventOfLongAgo();
    await vi.waitFor(async () => expect(await behind()).toBeGreaterThan(59), 60_000);
    const { ok, lines } = await doctor(postern.config, { rebuild: false });
    expect([ok, lines.filter((line) => line.startsWith("FAIL"))]).toEqual([
      false,
      [expect.stringMatching(/one of them without a number for \d+ s$/)],
    ]);
  }
  await vi.waitFor(async () => expect(await behind()).toBeLessThan(59), 60_000);
  await noWarning();
});

test("a statement of a rebuild ends soon after the doctor has been killed, whatever it waits for", async () => {
  const { databaseUrl } = postern;
  const { dataDir, masterKeys } = postern.config;
  const keys = (masterKeys ?? []).map((key) => key.toString("base64")).join();
  await using _held = await holdTable(databaseUrl, "user_grants");
  const waiting = () =>
    ask<{ pid: number }>(
      databaseUrl,
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'unlogged table \\w+.user_grants'",
    );
  const env = { DATABASE_URL: databaseUrl, POSTERN_DATA_DIR: dataDir, POSTERN_MASTER_KEY: keys };
  await using replaying = running(["doctor", "--rebuild"], { ...env, PATH: process.env.PATH ?? "" });
  await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), 60_000);
  await replaying.stop("SIGKILL");
  await vi.waitFor(async () => expect(await waiting()).toEqual([]), 60_000);
}, 180_000);

test("the doctor tells of a replay that was stopped, and says in a sentence why one cannot go on", async () => {
  await using client = oneConnection(postern.databaseUrl);
  const stop = () => {
    throw new Error("stopped");
  };
  await expect(rebuild(client.sql, folds, stop)).rejects.toThrow("stopped");
  expect(await warnings()).toEqual([
    expect.stringMatching(/^warn {2}tables: a replay of the log was stopped; doctor --rebuild/),
  ]);
  const replaying = () => doctor(postern.config, { rebuild: true });
  {
    await using _other = await holdStatement(
      postern.databaseUrl,
      "update public_replayed.replay_progress set number = number",
    );
    await expect(replaying()).rejects.toMatchObject({
      name: "StartError",
      message: expect.stringContaining("try again"),
    });
  }
  expect((await replaying()).lines).toContainEqual(expect.stringMatching(/^FAIL {2}tables: organizations differs/));
  await noWarning();
});
