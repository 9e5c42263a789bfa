import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { fastFolder } from "../../fast_folder.ts";

/** The account of the process: this user, or an ordinary one when this is root. */
export type Runner = Readonly<{ name: string; ids?: { uid: number; gid: number } }>;

export const isRoot = process.geteuid?.() === 0;
export const ordinary: Runner = { name: "an ordinary user", ids: { uid: 1, gid: 1 } };
// Not so in a clone under a folder that only root can enter.
export const canBeOrdinary =
  isRoot && spawnSync(process.execPath, ["--version"], { ...ordinary.ids, cwd: "/" }).status === 0;
export const runners: readonly Runner[] = [
  { name: isRoot ? "root" : "an ordinary user" },
  ...(canBeOrdinary ? [ordinary] : []),
];
export const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** A process that holds an embedded database, or was refused one; disposing stops it cleanly. */
export type Held = AsyncDisposable & Readonly<{ url: string; note?: string; error?: string; child: ChildProcess }>;

/** Starts a process that holds the embedded database of a folder. */
export async function hold(
  dataDir: string,
  { ids }: Runner,
  root = new URL("../../..", import.meta.url),
): Promise<Held> {
  const script = fileURLToPath(new URL("test/postgres/embedded/hold.ts", root));
  const child = spawn(process.execPath, [script, dataDir], { ...ids, cwd: "/", stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => {});
  const exited = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return {
    ...JSON.parse(line.toString()),
    child,
    async [Symbol.asyncDispose]() {
      child.stdin.end("stop");
      await exited;
    },
  };
}

/** A folder that everybody can enter, and that goes when the test ends. */
export async function folder({ ids }: Runner): Promise<AsyncDisposable & { path: string }> {
  const path = await realpath(await fastFolder("postern-embedded-"));
  await chmod(path, 0o711);
  if (ids) await chown(path, ids.uid, ids.gid);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Runs one statement on a connection of its own. */
export async function ask<T extends object>(url: string, statement: string): Promise<T[]> {
  const client = postgres(driverUrl(url), { ...clientOptions(url, quiet), max: 1, connect_timeout: 5 });
  try {
    return await client.unsafe<T[]>(statement);
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** The number of the server process of a data folder. */
export async function postmasterOf(data: string): Promise<number> {
  return Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0]);
}

/** Tries until it succeeds, for a while. */
export async function until<T>(what: () => Promise<T | false>, timeoutMs = 60_000): Promise<T> {
  for (const end = Date.now() + timeoutMs; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    const found = await what().catch((error) => (Date.now() > end ? Promise.reject(error) : (false as const)));
    if (found !== false) return found;
    if (Date.now() > end) throw new Error("waited too long");
  }
}
