import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { clientOptions, driverUrl } from "../src/postgres/connect.ts";
import { startEmbedded } from "../src/postgres/embedded.ts";

/** A database server for benchmarks, durable like a real one. */
export type Ground = AsyncDisposable & {
  /** Makes an empty database and answers its URL. */
  readonly database: (name: string) => Promise<string>;
};

/** A log that tells nothing but what goes wrong. */
export const quiet = { debug() {}, info() {}, warn: console.warn, error: console.error };

/** Starts a database server in a folder that is removed afterwards. */
export async function startGround(): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "postern-bench-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  // Under root the server runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const settings = { max_connections: "300" };
  const { url } = opened.use(await startEmbedded({ dataDir: join(folder, "data"), log: quiet, settings }));
  const stack = opened.move();
  return {
    async database(name) {
      await using sql = open(url);
      await sql.client.unsafe(`create database ${name}`);
      const made = new URL(url);
      made.pathname = `/${name}`;
      return made.href;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A client with one connection and no time limits. */
export function open(url: string, debug?: (text: string, parameters: readonly unknown[]) => void) {
  const listening = debug ? { debug: (_: number, text: string, parameters: unknown[]) => debug(text, parameters) } : {};
  const client = postgres(driverUrl(url), { ...clientOptions(url, quiet), max: 1, ...listening });
  return { client, [Symbol.asyncDispose]: () => client.end({ timeout: 1 }) };
}

/** A server in a process of its own. */
export type Served = AsyncDisposable & {
  readonly url: string;
  /** What the process has used until now. */
  readonly usage: () => Promise<Usage>;
};

/** The CPU that a process has used, in microseconds, and the memory it holds, in bytes. */
export type Usage = { readonly cpu: number; readonly rss: number };

type Told = { readonly url?: string; readonly usage?: Usage };

/** Starts a program of bench/servers and waits until it listens. */
export async function serve(
  name: string,
  { env = {}, args = [] }: { env?: Readonly<Record<string, string>>; args?: readonly string[] } = {},
): Promise<Served> {
  const program = fileURLToPath(new URL(`./servers/${name}.ts`, import.meta.url));
  const child = fork(program, [...args], {
    env: { ...ownEnv(), ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const { url = "" } = await heard(child);
  return {
    url,
    async usage() {
      const answer = heard(child);
      child.send("usage");
      return (await answer).usage ?? { cpu: 0, rss: 0 };
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}

async function heard(child: ChildProcess): Promise<Told> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, "exit", { signal }).then(() =>
    Promise.reject(new Error("a server of the benchmark ended")),
  );
  const [message] = await Promise.race([once(child, "message", { signal }), ended]);
  over.abort();
  ended.catch(() => {});
  return message as Told;
}

function ownEnv() {
  return { PATH: dirOf(process.execPath), HOME: tmpdir() };
}

const dirOf = (path: string) => `${join(path, "..")}:/usr/local/bin:/usr/bin:/bin`;
