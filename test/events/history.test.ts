import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { endOfLog, followTail, isHeld } from "../../src/events/follow.ts";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { type Postern, startPostern } from "../harness.ts";
import { ask, quiet } from "../postgres/embedded/holder.ts";
import { startPair } from "../postgres/standby.ts";
import { type Running, running } from "../program/command.ts";
import { oneConnection, unique } from "./log_of.ts";

const settings = { fsync: "off", full_page_writes: "off", max_connections: "100" };
const wait = { timeout: 60_000, interval: 100 };

type Line = { readonly position: string; readonly objectId: string };

const seenBy = (follower: Running) => follower.lines() as readonly Line[];

/** Creates projects, also while the database is not there yet; answers their ids. */
async function write(postern: Postern, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const { status, body } = await postern.admin.post("/v1/projects", { name: unique("Project") });
    if (status === 200) ids.push(body.projectId);
    else expect([500, 503, 504]).toContain(status);
  }
  return ids;
}

/** A stream of created projects: what it has sent so far, and its last line. */
async function streamOf(postern: Postern, after: string) {
  const response = await fetch(`${postern.url}/v1/events:watch?types=project.created&after=${after}`, {
    headers: { authorization: `Bearer ${postern.config.adminToken}`, accept: "application/x-ndjson" },
  });
  let text = "";
  const ended = (async () => {
    for await (const piece of (response.body ?? expect.unreachable()).pipeThrough(new TextDecoderStream()))
      text += piece;
    return JSON.parse(text.trim().split("\n").at(-1) ?? "");
  })();
  return { sent: () => text, ended };
}

const follow = (postern: Postern, after = "0") =>
  running(["watch", "--url", postern.url, "--types", "project.created", "--after", after], {
    POSTERN_ADMIN_TOKEN: postern.config.adminToken ?? "",
  });

/** What the log of a database has now, in its order. */
const logOf = async (url: string): Promise<string[]> =>
  (
    await ask<{ stream: string }>(
      url,
      `select stream from event_numbers join events using (epoch, xid, position) where type = 'project.created' order by number`,
    )
  ).map(({ stream }) => stream);

/** A follower has every event of the log that there is, and saw those after the loss in their order. */
async function hasAll(follower: Running, url: string, added: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    const seen = seenBy(follower).map(({ objectId }) => objectId);
    const log = await logOf(url);
    expect(log.filter((id) => !seen.includes(id))).toEqual([]);
    expect(seen.slice(seen.lastIndexOf(added[0] ?? ""))).toEqual(added);
  }, wait);
}

test("a data folder that is put back ends the streams that have seen more", async () => {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "postern-history-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711);
  const [dataDir, copy, gone] = ["data", "copy", "gone"].map((name) => join(folder, name)) as [string, string, string];
  let server = await startEmbedded({ dataDir, log: quiet, settings });
  opened.defer(() => server[Symbol.asyncDispose]());
  const postern = await startPostern({ databaseUrl: server.url });
  opened.use(postern);
  const kept = await write(postern, 5);
  await server[Symbol.asyncDispose]();
  expect(spawnSync("cp", ["-a", dataDir, copy]).status).toBe(0);
  server = await startEmbedded({ dataDir, log: quiet, settings });

  const follower = opened.use(follow(postern));
  const lost = await write(postern, 40);
  const ids = () => seenBy(follower).map(({ objectId }) => objectId);
  await vi.waitFor(() => expect(ids()).toEqual(expect.arrayContaining([...kept, ...lost])), wait);
  const last = seenBy(follower).at(-1)?.position ?? "";
  const { sent, ended } = await streamOf(postern, last);
  const [heard] = await write(postern, 1);
  await vi.waitFor(() => expect(sent()).toContain(heard), wait);
  await server[Symbol.asyncDispose]();
  await rename(dataDir, gone);
  await rename(copy, dataDir);
  server = await startEmbedded({ dataDir, log: quiet, settings });

  const added = await write(postern, 100);
  await hasAll(follower, server.url, added);
  expect(await ended).toMatchObject({ error: { details: [{ reason: "POSITION_LOST" }] } });
  const late = await postern.admin.get(`/v1/events:watch?types=project.created&after=${last}`);
  expect([late.status, late.body.details[0].reason]).toEqual([400, "POSITION_LOST"]);
  // Those that had no number yet when the folder was copied have other positions now, and may have been seen again.
  expect(ids()).toEqual(expect.arrayContaining(kept));
}, 180_000);

test("a standby that is promoted without the last events is followed by everybody", async () => {
  await using pair = await startPair({ isSynchronous: false });
  const { primary, standby, urlOf } = pair;
  await using one = await startPostern({ databaseUrl: urlOf([primary, standby], "read-write") });
  await using two = await startPostern({ ...one.config, dataDir: `${one.config.dataDir}-two`, port: 0 });
  await write(one, 5);
  await using first = follow(one);
  await using second = follow(two);
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
  await write(one, 3);
  await using first = oneConnection(primary.url);
  await using second = oneConnection(standby.url);
  const at = await endOfLog(first.sql);
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
