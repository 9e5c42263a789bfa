import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbedded } from "../src/postgres/embedded/embedded.ts";
import { clientOptions, driverUrl } from "../src/postgres/pool/connect.ts";
import { fastFolder } from "./fast_folder.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const fast = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "300" };
// Whatever counts blocks plans anew after an ANALYZE of autovacuum's, at a moment of its choosing.
const steady = { autovacuum: "off" };

/** A PostgreSQL server on this machine; the URL names its database `postgres`, as its administrator. */
export type Cluster = AsyncDisposable & { readonly url: string };

/** Starts a PostgreSQL server. A test that leaves a transaction open has one of its own: it would hold up the others. */
export async function startCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  const folder = await fastFolder("postern-test-");
  // Under root the server runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const embedded = await startEmbedded({
    dataDir: join(folder, "data"),
    log,
    settings: { ...fast, ...steady, ...settings },
  });
  return {
    url: embedded.url,
    async [Symbol.asyncDispose]() {
      await embedded[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Creates an empty database, or a copy of another; answers its URL. */
export async function newDatabase(
  { url }: Pick<Cluster, "url">,
  name: string,
  template = "template1",
): Promise<string> {
  await using client = oneConnection(url);
  await client.sql.unsafe(`create database ${name} template ${template}`);
  const made = new URL(url);
  made.pathname = `/${name}`;
  return made.href;
}

/** A transaction that wrote and stays open until it is disposed; `pid` is its server process. */
export async function openTransaction(url: string): Promise<AsyncDisposable & { readonly pid: number }> {
  const client = oneConnection(url);
  await client.sql.unsafe("begin");
  const [row] = await client.sql.unsafe<{ pid: number }[]>("select pg_current_xact_id(), pg_backend_pid() as pid");
  return {
    pid: row?.pid ?? 0,
    async [Symbol.asyncDispose]() {
      await client.sql.unsafe("rollback");
      await client[Symbol.asyncDispose]();
    },
  };
}

function oneConnection(url: string) {
  const sql = postgres(driverUrl(url), { ...clientOptions(url, log), max: 1 });
  return { sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) };
}
