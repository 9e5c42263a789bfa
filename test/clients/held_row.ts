import postgres from "postgres";
import { clientOptions, driverUrl } from "../../src/postgres/connect.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Locks the row of a user from a connection of its own, so that whoever changes it waits until this is disposed. */
export function holdUser(databaseUrl: string, userId: string): Promise<AsyncDisposable> {
  return held(databaseUrl, async (sql) => {
    const rows = await sql`select from users where user_id = ${userId} for update`;
    if (rows.count !== 1) throw new Error(`no row of the user ${userId}`);
  });
}

/** Locks a table in the same way, so that whoever reads it waits. */
export function holdTable(databaseUrl: string, table: string): Promise<AsyncDisposable> {
  return held(databaseUrl, async (sql) => void (await sql`lock table ${sql(table)} in access exclusive mode`));
}

async function held(databaseUrl: string, lock: (sql: postgres.TransactionSql) => Promise<void>) {
  const sql = postgres(driverUrl(databaseUrl), { ...clientOptions(databaseUrl, quiet), max: 1 });
  const locked = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const done = sql.begin(async (transaction) => {
    await lock(transaction);
    locked.resolve();
    await free.promise;
  });
  await Promise.race([locked.promise, done]);
  return {
    async [Symbol.asyncDispose]() {
      free.resolve();
      await done;
      await sql.end();
    },
  };
}
