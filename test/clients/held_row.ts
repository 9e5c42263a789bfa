import postgres from "postgres";
import { clientOptions, driverUrl } from "../../src/postgres/connect.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Locks the row of a user from a connection of its own, so that whoever changes it waits until this is disposed. */
export async function holdUser(databaseUrl: string, userId: string): Promise<AsyncDisposable> {
  const sql = postgres(driverUrl(databaseUrl), { ...clientOptions(databaseUrl, quiet), max: 1 });
  const locked = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const done = sql.begin(async (held) => {
    const rows = await held`select from users where user_id = ${userId} for update`;
    if (rows.count !== 1) throw new Error(`no row of the user ${userId}`);
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
