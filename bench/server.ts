import { readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Served, type ServeOptions, serve } from "../packages/gateway/bench/serve.ts";
import { startEmbedded } from "../src/postgres/embedded/embedded.ts";
import { openClient, warningsOnly } from "../test/fixture/database_client.ts";
import { parentOf } from "./hostile/process.ts";

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

/** The databases of a server. */
export type Databases = {
  /** Returns the URL of a database; makes a missing one, empty or as a copy of another. */
  readonly database: (name: string, like?: string) => Promise<string>;
  readonly drop: (name: string) => Promise<void>;
  readonly folder: string;
};

/** A database server for benchmarks, durable like a real one. */
export type DatabaseServer = Databases & AsyncDisposable;

/** The folder of the server, its settings besides those of the service, and a TCP port of loopback where it listens too. */
export type DatabaseServerOptions = {
  readonly folder?: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly port?: number;
};

/** Starts a database server. */
export async function startDatabaseServer({
  folder,
  settings = {},
  port,
}: DatabaseServerOptions = {}): Promise<DatabaseServer> {
  await using opened = new AsyncDisposableStack();
  const path = folder ?? opened.use(await makeFolder()).path;
  const listening = port ? { listen_addresses: "127.0.0.1", port: String(port) } : {};
  const all = { max_connections: "300", ...settings, ...listening };
  const embedded = opened.use(await startEmbedded({ dataDir: join(path, "data"), log: warningsOnly, settings: all }));
  const url = port ? `postgresql://postern@127.0.0.1:${port}/postgres` : embedded.url;
  const stack = opened.move();
  return { ...databasesOf(url, path), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The databases of a server that somebody else stops; the URL names any of them. */
export function databasesOf(url: string, folder: string): Databases {
  return {
    folder,
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
  };
}

const calls = "60000000";

/** Settings of the limits that count every call, and are never reached: one client makes all the calls. */
export const unreached = {
  CALLS_PER_ADDRESS_PER_MINUTE: calls,
  CALLS_PER_CALLER_PER_MINUTE: calls,
  CALLS_PER_ORGANIZATION_PER_MINUTE: calls,
};

const launcher = readFileSync(new URL("../bin/postern", import.meta.url), "utf8");

/** A part of the command with which the program starts Node. */
function launched(part: RegExp): string {
  const [, found] = part.exec(launcher) ?? [];
  if (found === undefined) throw new Error(`bin/postern has nothing like ${part}`);
  return found;
}

/** The options of Node and the environment that the program has. */
const ofProgram = {
  nodeOptions: launched(/ node ((?:--\S+ )+)"\$@"/)
    .trim()
    .split(" "),
  env: { GLIBC_TUNABLES: launched(/GLIBC_TUNABLES-([^}]+)\}/) },
};

/** Starts the service itself, as the program starts it, and waits until it listens. */
export const servePostern = ({ env, ...options }: ServeOptions = {}): Promise<Served> =>
  serve(new URL("./servers/postern.ts", import.meta.url), {
    ...ofProgram,
    ...options,
    env: { ...ofProgram.env, ...unreached, ...env },
  });

/** Finds the process of a database's server that the others are children of. */
export async function postmasterOf(databaseUrl: string): Promise<number> {
  await using sql = openClient(databaseUrl);
  const [row] = await sql.client`select pg_backend_pid() as pid`;
  // While the connection is open: its process has no parent once it ended.
  return await parentOf(Number(row?.pid));
}
