import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { fastFolder } from "../fast_folder.ts";
import { eventually } from "../first_start.ts";
import { ask, isRoot } from "../postgres/embedded/holder.ts";

const run = promisify(execFile);
// PostgreSQL does not run as root.
const account = isRoot ? { uid: 65_534, gid: 65_534 } : {};

/** Starts a server by the programs of a folder, on a new data folder; the URL names an empty database. */
export async function startPostgres(
  bin: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<AsyncDisposable & { readonly url: string }> {
  await using opened = new AsyncDisposableStack();
  const folder = await fastFolder("postern-version-");
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  if (isRoot) await chown(folder, 65_534, 65_534);
  await chmod(folder, 0o755);
  const data = join(folder, "data");
  const options = { ...account, cwd: "/", env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } };
  await run(join(bin, "initdb"), ["-D", data, "-U", "postern", "--auth=trust", "--encoding=UTF8", "-N"], options);
  const args = ["-D", data, "-k", folder, ...settingsOf({ listen_addresses: "", fsync: "off", ...settings })];
  const child = spawn(join(bin, "postgres"), args, { ...options, stdio: "ignore" });
  const exited = once(child, "exit");
  opened.defer(async () => {
    child.kill("SIGINT");
    await exited;
  });
  const address = `postgresql://postern@localhost`;
  const host = `?host=${encodeURIComponent(folder)}`;
  const made = () => ask(`${address}/postgres${host}`, "create database postern").catch(() => undefined);
  await eventually(made, `the server of ${bin}`);
  const stack = opened.move();
  return { url: `${address}/postern${host}`, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const settingsOf = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
