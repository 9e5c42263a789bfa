import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbedded } from "../src/postgres/embedded.ts";
import { openClient, warningsOnly } from "../test/fixture/database_client.ts";

/** A folder for a database server. */
export type Folder = AsyncDisposable & { readonly path: string };

/** Makes a folder: the given one, which is kept, or a new one, which is removed afterwards. */
export async function makeFolder(kept?: string): Promise<Folder> {
  const path = kept ? resolve(kept) : await mkdtemp(join(tmpdir(), "postern-bench-"));
  await mkdir(path, { recursive: true });
  // Under root the server runs as another user, who must be able to enter.
  await chmod(path, 0o711);
  return {
    path,
    [Symbol.asyncDispose]: async () => (kept ? undefined : rm(path, { recursive: true, force: true })),
  };
}

/** A database server for benchmarks, durable like a real one. */
export type DatabaseServer = AsyncDisposable & {
  /** Returns the URL of a database; makes a missing one, empty or as a copy of another. */
  readonly database: (name: string, like?: string) => Promise<string>;
  readonly drop: (name: string) => Promise<void>;
  readonly folder: string;
};

/** The folder of the server, and settings besides those of the service. */
export type DatabaseServerOptions = { readonly folder?: string; readonly settings?: Readonly<Record<string, string>> };

/** Starts a database server. */
export async function startDatabaseServer({
  folder,
  settings = {},
}: DatabaseServerOptions = {}): Promise<DatabaseServer> {
  await using opened = new AsyncDisposableStack();
  const path = folder ?? opened.use(await makeFolder()).path;
  const all = { max_connections: "300", ...settings };
  const { url } = opened.use(await startEmbedded({ dataDir: join(path, "data"), log: warningsOnly, settings: all }));
  const stack = opened.move();
  return {
    folder: path,
    async database(name, like = "template1") {
      await using sql = openClient(url);
      const [there] = await sql.client`select from pg_database where datname = ${name}`;
      if (!there) await sql.client.unsafe(`create database ${name} template ${like}`);
      const made = new URL(url);
      made.pathname = `/${name}`;
      return made.href;
    },
    async drop(name) {
      await using sql = openClient(url);
      await sql.client.unsafe(`drop database if exists ${name} with (force)`);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A server in a process of its own. */
export type Served = AsyncDisposable & {
  readonly url: string;
  readonly child: ChildProcess;
  /** Returns the usage of the process until now; "collect" collects garbage first. */
  readonly usage: (how?: "collect") => Promise<Usage>;
};

/** Environment, arguments and output of a server. */
export type ServeOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly output?: "inherit" | "ignore";
};

/** The CPU of a process in microseconds, its resident memory, and the part held by objects and buffers, in bytes. */
export type Usage = { readonly cpu: number; readonly rss: number; readonly held: number };

type Message = { readonly url?: string; readonly usage?: Usage };

/** Starts a program of bench/servers and waits until it listens. */
export async function serve(
  name: string,
  { env = {}, args = [], output = "inherit" }: ServeOptions = {},
): Promise<Served> {
  const program = fileURLToPath(new URL(`./servers/${name}.ts`, import.meta.url));
  const child = fork(program, [...args], {
    execArgv: [...process.execArgv, "--expose-gc"],
    env: { ...ownEnv(), ...env },
    stdio: ["ignore", output, output, "ipc"],
  });
  const { url = "" } = await messageFrom(child);
  return {
    url,
    child,
    async usage(how) {
      const answer = messageFrom(child);
      child.send(how ?? "look");
      return (await answer).usage ?? { cpu: 0, rss: 0, held: 0 };
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}

async function messageFrom(child: ChildProcess): Promise<Message> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, "exit", { signal }).then(() =>
    Promise.reject(new Error("a server of the benchmark ended")),
  );
  const [message] = await Promise.race([once(child, "message", { signal }), ended]);
  over.abort();
  ended.catch(() => {});
  return message as Message;
}

function ownEnv() {
  return { PATH: dirOf(process.execPath), HOME: tmpdir() };
}

const dirOf = (path: string) => `${join(path, "..")}:/usr/local/bin:/usr/bin:/bin`;
