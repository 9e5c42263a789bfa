import type { Sql } from "./connect.ts";

/** How long the oldest of the statements that are waiting for a lock in this database has been running; 0 if none is waiting. */
export async function lockWaitSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select coalesce(max(extract(epoch from clock_timestamp() - query_start)), 0)::float as seconds
    from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return Math.max(0, row?.seconds ?? 0);
}
