import type { Sql } from "./connect.ts";

/** The running time of the oldest statement that is waiting for a lock in this database; 0 if none is waiting. */
export async function lockWaitSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select coalesce(max(extract(epoch from clock_timestamp() - query_start)), 0)::float as seconds
    from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return Math.max(0, row?.seconds ?? 0);
}
