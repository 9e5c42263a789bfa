import { startEmbedded } from "./embedded/embedded.ts";
import { type Connection, connect, type Pooler } from "./pool/connect.ts";
import { findPooler } from "./pool/pooler.ts";
import type { ProcessLog } from "./process_log.ts";

/** The database of this process: the configured one, or the embedded one. */
export type Database = AsyncDisposable &
  Readonly<{ url: string; migrationUrl: string; pooler?: Pooler | undefined; note?: string }>;

/** The settings of the database; without a URL, it is the embedded one in the data folder. */
export type DatabaseSettings = Readonly<{
  databaseUrl: string | undefined;
  migrationDatabaseUrl: string | undefined;
  dataDir: string;
}>;

/** Opens the configured database, or starts the embedded one; `join` shares that of a process running on the same folder. */
export async function openDatabase(
  { databaseUrl: url, migrationDatabaseUrl, dataDir }: DatabaseSettings,
  log: ProcessLog,
  { join = false } = {},
): Promise<Database> {
  if (url) {
    const pooler = await findPooler(url, log);
    return { url, migrationUrl: migrationDatabaseUrl ?? url, pooler, async [Symbol.asyncDispose]() {} };
  }
  const embedded = await startEmbedded({ dataDir, log, join });
  return Object.assign(embedded, { migrationUrl: embedded.url });
}

// A statement may take long, and settings of a session belong to one connection.
const oneConnection = { connections: 1, waitMs: 60_000, statementTimeoutMs: 24 * 3_600_000, lifetimeMs: Infinity };

/** Connects with the role that may change tables, for maintenance. */
export async function connectMaintenance(
  { url, migrationUrl, pooler: known }: Database,
  log: ProcessLog,
): Promise<Connection> {
  const pooler = migrationUrl === url ? known : await findPooler(migrationUrl, log);
  return connect(migrationUrl, { ...oneConnection, log, pooler });
}
