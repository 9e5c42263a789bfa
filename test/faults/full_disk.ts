import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, open, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { eventually, readyStatus } from "../first_start.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { openKilled } from "./kills.ts";
import type { Stage } from "./rounds.ts";

const megabytes = 512;
const fullMs = 4_000;

/** A small file system in memory, which only root can make. */
export async function openDisk(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "postern-disk-"));
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
  if (status !== 0) throw new Error(`no file system could be mounted: ${stderr}`);
  await chmod(folder, 0o755);
  return {
    folder,
    async [Symbol.asyncDispose]() {
      spawnSync("umount", ["-l", folder]);
      await rmdir(folder);
    },
  };
}

/** A node whose embedded database has its files on a disk that fills up. */
export async function openFull(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const { folder } = opened.use(await openDisk());
  const stage = opened.use(await openKilled(folder));
  const ballast = join(folder, "ballast");
  const stack = opened.move();
  return {
    ...stage,
    faults: {
      "a full disk": {
        async strike() {
          await haveRoomForWal(stage.databaseUrl);
          await eventually(async () => {
            // A checkpoint gives room back, enough for a minute of writes.
            await fill(ballast);
            return (await fullDisks(stage.url)) > 0 || undefined;
          }, "a statement that finds no room");
          // Now the files that were made in advance are used up, and the server itself stops.
          for (let file = 0; file < 8; file++) await ask(stage.databaseUrl, "select pg_switch_wal()").catch(() => {});
        },
        async heal() {
          await pause(fullMs);
          await eventually(async () => (await readyStatus(stage.url)) === 503 || undefined, "a node that is not ready");
          await rm(ballast);
          await eventually(
            async () => (await readyStatus(stage.url)) === 200 || undefined,
            "a node that is ready again",
          );
        },
      },
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * Makes an old file of the write-ahead log its current one. A new file has no blocks before it is written to: on a full disk, the server
 * would stop there before any statement finds no room.
 */
export async function haveRoomForWal(databaseUrl: string): Promise<void> {
  for (const statement of ["select pg_switch_wal()", "checkpoint", "select pg_switch_wal()"])
    await ask(databaseUrl, statement);
}

/** How many statements the node says to have found no room. */
async function fullDisks(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^postern_database_disk_full_total (\d+)$/m.exec(metrics)?.[1]);
}

/** Writes to the end of a file until nothing more goes in, also what the database gives back meanwhile. */
export async function fill(path: string): Promise<void> {
  const file = await open(path, "a");
  for (const size of [1 << 20, 1 << 12])
    while (await file.write(Buffer.alloc(size)).then(({ bytesWritten }) => bytesWritten > 0, isFull));
  await file.close();
}

function isFull(error: NodeJS.ErrnoException): false {
  if (error.code === "ENOSPC") return false;
  throw error;
}
