import { spawnSync } from "node:child_process";
import { chmod, chown, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { endOfLog, followTail, isHeld } from "../../src/events/follow.ts";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { fastFolder } from "../fast_folder.ts";
import { machine, startPostern } from "../harness.ts";
import { openEventReceiver } from "../notify/subscriptions/receiver.ts";
import { ask, quiet } from "../postgres/embedded/holder.ts";
import { startPair } from "../postgres/standby.ts";
import { loopback } from "../provider/https_server.ts";
import { follow, hasAll, logOf, nodeOf, seenBy, streamOf, wait, write } from "./followers.ts";
import { oneConnection } from "./log_of.ts";

const settings = { fsync: "off", full_page_writes: "off", max_connections: "100" };
// A delivery that a stop of the database interrupted is tried again when its lease is over.
const leased = { timeout: 150_000, interval: 100 };

test("a data folder that is put back ends the streams that have seen more", async () => {
  await using opened = new AsyncDisposableStack();
  const folder = await fastFolder("postern-history-");
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711);
  const [dataDir, copy, gone] = ["data", "copy", "gone"].map((name) => join(folder, name)) as [string, string, string];
  let server = await startEmbedded({ dataDir, log: quiet, settings });
  opened.defer(() => server[Symbol.asyncDispose]());
  const receiver = opened.use(await openEventReceiver());
  const { outgoingCaFile } = receiver;
  const outgoing = { outgoingPrivateNetworks: loopback, outgoingCaFile };
  const postern = opened.use(await startPostern({ databaseUrl: server.url, ...outgoing }));
  const received = () => receiver.eventsAt("/").map(({ objectId }) => objectId);
  const wanted = { url: `${receiver.url}/`, types: ["project.created"] };
  expect((await postern.admin.post("/v1/subscriptions", wanted)).status).toBe(200);
  const kept = await write(postern, 5);
  await vi.waitFor(() => expect(received()).toEqual(expect.arrayContaining(kept)), wait);
  await server[Symbol.asyncDispose]();
  expect(spawnSync("cp", ["-a", dataDir, copy]).status).toBe(0);
  server = await startEmbedded({ dataDir, log: quiet, settings });

  const follower = opened.use(follow(nodeOf(postern)));
  const lost = await write(postern, 40);
  const ids = () => seenBy(follower).map(({ objectId }) => objectId);
  await vi.waitFor(() => expect(ids()).toEqual(expect.arrayContaining([...kept, ...lost])), wait);
  const last = seenBy(follower).at(-1)?.position ?? "";
  const { sent, ended } = await streamOf(nodeOf(postern), last);
  const [heard] = await write(postern, 1);
  await vi.waitFor(() => expect(sent()).toContain(heard), wait);
  await vi.waitFor(() => expect(received()).toEqual(expect.arrayContaining([...kept, ...lost, heard])), leased);
  await server[Symbol.asyncDispose]();
  await rename(dataDir, gone);
  await rename(copy, dataDir);
  server = await startEmbedded({ dataDir, log: quiet, settings });

  const added = await write(postern, 100);
  await hasAll(follower, server.url, added);
  await vi.waitFor(() => expect(received()).toEqual(expect.arrayContaining(added)), leased);
  expect(await ended).toMatchObject({ error: { details: [{ reason: "POSITION_LOST" }] } });
  const late = await postern.admin.get(`/v1/events:watch?types=project.created&after=${last}`);
  expect([late.status, late.body.details[0].reason]).toEqual([400, "POSITION_LOST"]);
  // Those that had no number yet when the folder was copied have other positions now, and may have been seen again.
  expect(ids()).toEqual(expect.arrayContaining(kept));
}, 420_000);

test("after a recovery to an earlier point in time, everybody follows the log that there is now", async () => {
  await using opened = new AsyncDisposableStack();
  const folder = await fastFolder("postern-history-");
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711);
  const [dataDir, base, gone, archive] = ["data", "base", "gone", "archive"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  await mkdir(archive);
  await chmod(archive, 0o777);
  const archiving = { ...settings, archive_mode: "on", archive_command: `cp %p ${archive}/%f` };
  let server = await startEmbedded({ dataDir, log: quiet, settings: archiving });
  opened.defer(() => server[Symbol.asyncDispose]());
  const postern = opened.use(await startPostern({ databaseUrl: server.url }));
  const kept = await write(postern, 5);
  await server[Symbol.asyncDispose]();
  expect(spawnSync("cp", ["-a", dataDir, base]).status).toBe(0);
  server = await startEmbedded({ dataDir, log: quiet, settings: archiving });

  kept.push(...(await write(postern, 20)));
  const follower = opened.use(follow(nodeOf(postern)));
  const ids = () => seenBy(follower).map(({ objectId }) => objectId);
  await vi.waitFor(() => expect(ids()).toEqual(expect.arrayContaining(kept)), wait);
  const before = seenBy(follower).at(-1)?.position ?? "";
  const [{ lsn } = expect.unreachable()] = await ask<{ lsn: string }>(
    server.url,
    "select pg_current_wal_insert_lsn() as lsn",
  );
  const lost = await write(postern, 30);
  const { client: someone } = await machine(postern);
  expect((await someone.get("/v1/users/me")).status).toBe(200);
  await vi.waitFor(() => expect(ids()).toEqual(expect.arrayContaining(lost)), wait);
  const last = seenBy(follower).at(-1)?.position ?? "";
  const { sent, ended } = await streamOf(nodeOf(postern), last);
  const [heard] = await write(postern, 1);
  await vi.waitFor(() => expect(sent()).toContain(heard), wait);
  await ask(server.url, "select pg_switch_wal()");
  await server[Symbol.asyncDispose]();
  await rename(dataDir, gone);
  await rename(base, dataDir);
  await put(join(dataDir, "postgres/data"), "recovery.signal");
  const target = { recovery_target_lsn: lsn, recovery_target_action: "promote" };
  server = await startEmbedded({
    ...{ dataDir, log: quiet },
    settings: { ...settings, ...target, restore_command: `cp ${archive}/%f %p` },
  });
  const isOver = async () => expect(await ask(server.url, "select pg_is_in_recovery() as is")).toEqual([{ is: false }]);
  await vi.waitFor(isOver, wait);

  const added = await write(postern, 100);
  await hasAll(follower, server.url, added);
  const log = await logOf(server.url);
  expect([log.filter((id) => kept.includes(id)), log.filter((id) => lost.includes(id))]).toEqual([kept, []]);
  expect(await ended).toMatchObject({ error: { details: [{ reason: "POSITION_LOST" }] } });
  const late = await postern.admin.get(`/v1/events:watch?types=project.created&after=${last}`);
  expect([late.status, late.body.details[0].reason]).toEqual([400, "POSITION_LOST"]);
  const { sent: rest } = await streamOf(nodeOf(postern), before);
  await vi.waitFor(() => expect(rest()).toContain(added.at(-1)), wait);
  // Who was authenticated by a token that is gone is forgotten.
  expect((await someone.get("/v1/users/me")).status).toBe(401);
}, 180_000);

/** Makes an empty file in a folder of PostgreSQL, for its user. */
async function put(data: string, name: string): Promise<void> {
  const { uid, gid } = await stat(data);
  await writeFile(join(data, name), "");
  await chown(join(data, name), uid, gid);
}

test("a standby that is promoted without the last events is followed by everybody", async () => {
  await using pair = await startPair({ isSynchronous: false });
  const { primary, standby, urlOf } = pair;
  await using one = await startPostern({ databaseUrl: urlOf([primary, standby], "read-write") });
  await using two = await startPostern({ ...one.config, dataDir: `${one.config.dataDir}-two`, port: 0 });
  await write(one, 5);
  await using first = follow(nodeOf(one));
  await using second = follow(nodeOf(two));
  const received = await write(two, 10);
  for (const follower of [first, second])
    await vi.waitFor(() => expect(seenBy(follower).at(-1)?.objectId).toBe(received.at(-1)), wait);
  const caughtUp = async () => {
    const [row] = await ask<{ is: boolean }>(
      primary.url,
      "select replay_lsn >= pg_current_wal_lsn() as is from pg_stat_replication",
    );
    expect(row?.is).toBe(true);
  };
  await vi.waitFor(caughtUp, wait);
  const [sender] = await ask<{ pid: number }>(primary.url, "select pid from pg_stat_replication");
  process.kill(sender?.pid ?? expect.unreachable(), "SIGSTOP");
  const lost = await write(one, 30);
  for (const follower of [first, second])
    await vi.waitFor(() => expect(seenBy(follower).at(-1)?.objectId).toBe(lost.at(-1)), wait);
  await primary.stop();
  await standby.promote();
  const added = [...(await write(one, 60)), ...(await write(two, 60))];
  for (const follower of [first, second]) await hasAll(follower, standby.url, added);
  expect((await logOf(standby.url)).filter((id) => lost.includes(id))).toEqual([]);
}, 180_000);

test("a standby that is behind has lost nothing: what it reads goes on when it has received the rest", async () => {
  await using pair = await startPair({ isSynchronous: false });
  const { primary, standby, urlOf } = pair;
  await using one = await startPostern({ databaseUrl: urlOf([primary], "any") });
  await write(one, 3);
  await ask(standby.url, "select pg_wal_replay_pause()");
  const state = () => ask(standby.url, "select pg_get_wal_replay_pause_state() as state");
  await vi.waitFor(async () => expect(await state()).toEqual([{ state: "paused" }]), wait);
  await write(one, 3);
  await using first = oneConnection(primary.url);
  await using second = oneConnection(standby.url);
  // The events are numbered some time after they were written.
  const at = await vi.waitFor(async () => {
    const end = await endOfLog(first.sql);
    expect(end.number).toBeGreaterThan((await endOfLog(second.sql)).number);
    return end;
  }, wait);
  let server = first.sql;
  const heard: string[] = [];
  const lost = vi.fn();
  let reads = 0;
  const read = <T>(statement: (sql: Sql) => Promise<T>) => {
    reads += 1;
    return statement(server);
  };
  await using tail = await followTail({ number: async () => false, read, everyMs: 10, onError: () => {} });
  tail.listen({ events: (events) => heard.push(...events.map(({ stream }) => stream)), lost });
  server = second.sql;
  const before = reads;
  await vi.waitFor(() => expect(reads).toBeGreaterThan(before + 2), wait);
  expect((await endOfLog(second.sql)).number).toBeLessThan(at.number);
  expect(await isHeld(second.sql, at)).toBe(true);
  const added = await write(one, 3);
  await ask(standby.url, "select pg_wal_replay_resume()");
  await vi.waitFor(() => expect(heard).toEqual(expect.arrayContaining(added)), wait);
  expect(lost).not.toHaveBeenCalled();
}, 180_000);
