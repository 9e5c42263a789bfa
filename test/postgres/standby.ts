import { spawnSync } from "node:child_process";
import { chmod, chown, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Embedded, startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { fastFolder } from "../fast_folder.ts";
import { ask, postmasterOf, quiet, until } from "./embedded/holder.ts";

/** A primary and a hot standby that follows it. */
export type Pair = AsyncDisposable & {
  readonly primary: Member;
  readonly standby: Member;
  /** One URL of both, in the order given. */
  readonly urlOf: (members: readonly Member[], need: string) => string;
};

/** A server of a pair. */
export type Member = {
  readonly url: string;
  /** Ends the server as a crash does, and keeps it from coming back. */
  readonly stop: () => Promise<void>;
  /** Makes a standby the primary. */
  readonly promote: () => Promise<unknown>;
};

// Commits are acknowledged when the standby has them, as where a failover must lose nothing.
const settings = { fsync: "off", full_page_writes: "off", max_connections: "100", max_wal_size: "128MB" };
const synchronous = { synchronous_standby_names: "*", synchronous_commit: "on" };

/** Starts two servers: the second one from a copy of the first one's files, which receives commits before or after they are acknowledged. */
export async function startPair({ isSynchronous = true } = {}): Promise<Pair> {
  await using opened = new AsyncDisposableStack();
  const folder = await fastFolder("postern-pair-");
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  // Under root the servers run as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const [one, two] = [join(folder, "one"), join(folder, "two")];
  await (await startEmbedded({ dataDir: one, log: quiet, settings }))[Symbol.asyncDispose]();
  await copyAsStandby(one, two);
  const primary = await startMember(one, { ...settings, ...(isSynchronous ? synchronous : {}) }, opened);
  const primary_conninfo = `host=${hostOf(primary.url)} user=postern`;
  const standby = await startMember(two, { ...settings, primary_conninfo }, opened);
  await until(async () => {
    const [row] = await ask<{ state: string }>(primary.url, "select sync_state as state from pg_stat_replication");
    return row?.state === (isSynchronous ? "sync" : "async");
  });
  const stack = opened.move();
  return { primary, standby, urlOf, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function urlOf(members: readonly Member[], need: string): string {
  const url = new URL(members[0]?.url ?? "");
  url.searchParams.set("host", members.map(({ url }) => hostOf(url)).join(","));
  url.searchParams.set("target_session_attrs", need);
  return url.href;
}

const hostOf = (url: string) => new URL(url).searchParams.get("host") ?? "";

async function copyAsStandby(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, "postgres"), join(to, "postgres")];
  const { uid, gid } = await stat(join(source, "data"));
  for (const command of [
    ["mkdir", "-m", "711", to],
    ["mkdir", "-m", "700", target],
    ["cp", "-a", join(source, "data"), target],
  ] as const) {
    const { status, stderr } = spawnSync(command[0], command.slice(1));
    if (status !== 0) throw new Error(String(stderr));
  }
  const signal = join(target, "data", "standby.signal");
  await writeFile(signal, "");
  for (const path of [target, signal]) await chown(path, uid, gid);
}

type Settings = Readonly<Record<string, string>>;

async function startMember(dataDir: string, settings: Settings, opened: AsyncDisposableStack): Promise<Member> {
  let server: Embedded | undefined = await startEmbedded({ dataDir, log: quiet, settings });
  const stop = async () => {
    const current = server;
    server = undefined;
    if (!current) return;
    process.kill(await postmasterOf(join(dataDir, "postgres/data")), "SIGQUIT");
    await current[Symbol.asyncDispose]();
  };
  opened.defer(stop);
  const { url } = server;
  return { url, stop, promote: () => ask(url, "select pg_promote()") };
}
