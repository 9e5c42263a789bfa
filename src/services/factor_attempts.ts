import { refuse } from "../errors.ts";
import type { Sql } from "../postgres/connect.ts";
import { firstLockSeconds, longestLockSeconds } from "./password.ts";

/** How many wrong codes in a row make a user wait. */
export const codesUntilWait = 5;

/**
 * Counts a try of a user's codes before it is checked, on all nodes together, and refuses it while the user waits. The last try
 * that is allowed begins the wait at once, so a process that ends before it is checked leaves nothing open.
 */
export async function countFactorTry(sql: Sql, userId: string, now: Date): Promise<void> {
  const rows = await sql`
    insert into factor_attempts as a (user_id, attempts) values (${userId}, 1)
    on conflict (user_id) do update set attempts = a.attempts + 1,
      blocked_until = case when (a.attempts + 1) % ${codesUntilWait} = 0 then ${now}::timestamptz
        + least(${firstLockSeconds} * 2 ^ least((a.attempts + 1) / ${codesUntilWait} - 1, 16), ${longestLockSeconds})
        * interval '1 second' end
    where a.blocked_until is null or a.blocked_until <= ${now}
    returning attempts`;
  if (rows.length === 0) throw await tooMany(sql, userId, now);
}

async function tooMany(sql: Sql, userId: string, now: Date) {
  const [row] = await sql<{ until: Date | null }[]>`
    select blocked_until as until from factor_attempts where user_id = ${userId}`;
  const seconds = row?.until ? (row.until.getTime() - now.getTime()) / 1000 : 0;
  return refuse.because("FACTOR_ATTEMPTS", { retrySeconds: Math.max(1, Math.ceil(seconds)) });
}
