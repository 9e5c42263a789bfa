import { startEmbedded } from "./embedded/embedded.ts";
import type { Pooler } from "./pool/connect.ts";
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
