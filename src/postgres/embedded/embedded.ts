import { chown, mkdtemp, readlink, rename, rm, stat, symlink } from "node:fs/promises";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../failure.ts";
import type { ProcessLog } from "../process_log.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import { type DatabaseHome, findHome, makeFolder } from "./database_home.ts";
import { lockFolder } from "./lock.ts";
import { clearLeftovers, type Launch, launch, type Postmaster, runningSockets } from "./postmaster.ts";
import { run } from "./run.ts";

export type EmbeddedOptions = Readonly<{
  dataDir: string;
  log: ProcessLog;
  /** Whether to share the database of a process that is running on the same folder, instead of failing. */
  join?: boolean;
  /** Server settings in addition to ours. */
  settings?: Readonly<Record<string, string>>;
}>;

/** A running embedded database; `note` names its folder if that is not in the data folder. */
export type Embedded = AsyncDisposable & Readonly<{ url: string; note?: string }>;

const owner = "postern";
const socketFile = ".s.PGSQL.5432";
const temporary = join(tmpdir(), "postern-");
const ourSettings = {
  listen_addresses: "",
  port: "5432",
  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "",
  lc_messages: "C",
  // Violated constraints are reported to the caller; the server's own log lines about them would contain user input.
  log_min_messages: "log",
  shared_buffers: `${sharedMegabytes()}MB`,
  // After a checkpoint, the first write to each page logs the whole page, so checkpoints should be minutes apart even under load.
  max_wal_size: "4GB",
  // Every commit would wait while the server fills a new file of its log with 16 MB of zeros, which beside an import is several a second.
  wal_init_zero: "off",
};

/** Starts PostgreSQL on the data folder, listening only on a Unix socket, and keeps it running until disposed. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { dataDir, log, settings = {} } = options;
  const place = await findHome(dataDir);
  const data = join(place.home, "data");
  const lock = await lockFolder(place.home);
  if (lock.heldBy !== undefined) return joined(options, data, lock.heldBy);
  await using opened = new AsyncDisposableStack();
  opened.use(lock);
  const binaries = await findBinaries(place.account, place.home);
  const sockets = opened.use(await socketFolder(place)).path;
  await clearLeftovers({ data, sockets, log });
  const all = { ...ourSettings, ...settings };
  if (!(await exists(data))) await initialize(place, binaries, all);
  opened.use(await keepRunning({ account: place.account, bin: binaries.bin, data, sockets, settings: all, log }));
  const running = opened.move();
  return { url: urlOf(sockets), ...noteOf(place, binaries), [Symbol.asyncDispose]: () => running.disposeAsync() };
}

// PostgreSQL's default cannot hold an index of a million rows. Memory only counts once it is used.
function sharedMegabytes(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.max(16, Math.min(1024, Math.floor(memory / 8 / 1024 / 1024)));
}

async function joined({ join: mayJoin, dataDir }: EmbeddedOptions, data: string, heldBy: string): Promise<Embedded> {
  if (!mayJoin) throw new StartError(`${dataDir} is in use by ${heldBy}: stop it, or set another POSTERN_DATA_DIR`);
  for (let tries = 0; tries < 500; tries++, await sleep(20)) {
    const sockets = await runningSockets(data);
    if (sockets) return { url: urlOf(sockets), async [Symbol.asyncDispose]() {} };
  }
  throw new StartError(`${dataDir} is in use by ${heldBy}, whose database does not respond`);
}

// As in libpq, the host parameter takes precedence over the authority; connect.ts reads it as psql does.
function urlOf(sockets: string): string {
  return `postgresql://${owner}@localhost/postgres?host=${encodeURIComponent(sockets)}`;
}

function noteOf({ account, home, moved }: DatabaseHome, { copied }: Binaries): { note?: string } {
  if (!moved && !copied) return {};
  const obstacle = [moved && "the data folder", copied && "the installed programs"].filter(Boolean).join(" and ");
  const remedy = [moved && "its data", copied && "a copy of its programs"].filter(Boolean).join(" and ");
  return { note: `PostgreSQL runs as ${account.name}, who cannot use ${obstacle}: ${home} holds ${remedy}` };
}

// initdb runs in a temporary folder, so that an interrupted start leaves no incomplete database.
async function initialize(
  { account, home }: DatabaseHome,
  { bin }: Binaries,
  settings: Launch["settings"],
): Promise<void> {
  const draft = join(home, "data.new");
  await rm(draft, { recursive: true, force: true });
  const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const sync = settings.fsync === "off" ? ["--no-sync"] : [];
  const args = ["-D", draft, "-U", owner, "--auth=trust", "--no-instructions", ...locale, ...sync];
  const { ok, output } = await run(account, join(bin, "initdb"), args);
  if (!ok) throw new StartError(`PostgreSQL could not create its data folder: ${output}`);
  await rename(draft, join(home, "data"));
}

async function socketFolder({ home, account }: DatabaseHome): Promise<AsyncDisposable & { path: string }> {
  const near = join(home, "run");
  if (Buffer.byteLength(join(near, socketFile)) < 104) {
    await makeFolder(near, account);
    return { path: near, async [Symbol.asyncDispose]() {} };
  }
  const path = await mkdtemp(temporary);
  if (!account.isSelf) await chown(path, account.uid, account.gid);
  await removeFormer(near);
  await symlink(path, near);
  return { path, [Symbol.asyncDispose]: () => removeFormer(near) };
}

async function removeFormer(near: string): Promise<void> {
  const former = await readlink(near).catch(() => "");
  if (former.startsWith(temporary)) await rm(former, { recursive: true, force: true });
  await rm(near, { recursive: true, force: true });
}

async function keepRunning(options: Omit<Launch, "signal">): Promise<AsyncDisposable> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current = await launch({ ...options, signal });
  const watch = async () => {
    while (!signal.aborted) {
      const end = await current.exited;
      if (signal.aborted) return;
      options.log.error({ end }, "postgres exited; restarting it");
      current = (await relaunch({ ...options, signal })) ?? current;
    }
  };
  const watching = watch();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await current.stop();
      await watching;
      await current.stop();
    },
  };
}

async function relaunch(options: Launch): Promise<Postmaster | undefined> {
  for (let pause = 100; !options.signal.aborted; pause = Math.min(pause * 2, 10_000)) {
    try {
      await clearLeftovers(options);
      return await launch(options);
    } catch (error) {
      options.log.error({ error: String(error) }, `postgres did not start; trying again in ${pause} ms`);
      await sleep(pause, undefined, { signal: options.signal }).catch(() => {});
    }
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
