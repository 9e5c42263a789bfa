import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { clientOptions, driverUrl } from "../src/postgres/pool/connect.ts";

/** A connection of the test's own to a database. */
export type Probe = AsyncDisposable & { readonly sql: postgres.Sql<{ bigint: bigint }> };

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Opens a connection beside the service's. */
export function openProbe(databaseUrl: string): Probe {
  const sql = postgres(driverUrl(databaseUrl), { ...clientOptions(databaseUrl, quiet), max: 2 });
  return { sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
}

/** Makes each command that appends events take this long, at its commit. */
export async function slowCommits({ sql }: Probe, seconds: number): Promise<void> {
  await sql.unsafe(`
    create or replace function be_slow() returns trigger language plpgsql as
      'begin perform pg_sleep(${seconds}); return null; end';
    create constraint trigger slow after insert on events deferrable initially deferred
      for each row execute function be_slow()`);
}

/** Makes each statement that appends events take this long, before its commit. */
export async function slowWrites({ sql }: Probe, seconds: number): Promise<void> {
  await sql.unsafe(`
    create function be_slower() returns trigger language plpgsql as
      'begin perform pg_sleep(${seconds}); return null; end';
    create trigger slower after insert on events for each statement execute function be_slower()`);
}

/** The process id of the backend that sleeps in its commit, once there is one. */
export async function sleeper({ sql }: Probe): Promise<number> {
  for (;;) {
    const [found] = await sql`
      select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    if (found) return found.pid;
    await pause(10);
  }
}
