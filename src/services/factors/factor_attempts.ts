import { refuse } from "../../errors.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { firstLockSeconds, longestLockSeconds } from "../policies/lock_seconds.ts";

/** The number of wrong codes in a row after which a user has to wait. */
export const codesUntilWait = 5;

/**
 * Counts an attempt at a user's codes, across all nodes, before checking it; refuses it while the user has to wait. The last attempt
 * allowed starts the wait immediately, so a process that crashes before the check leaves no gap. Returns the end of that wait.
 */
export async function countFactorTry(sql: Sql, userId: string, now: Date): Promise<Date | undefined> {
  const [row] = await sql<{ until: Date | null }[]>`
    insert into factor_attempts as a (user_id, attempts) values (${userId}, 1)
    on conflict (user_id) do update set attempts = a.attempts + 1,
      blocked_until = case when (a.attempts + 1) % ${codesUntilWait} = 0 then ${now}::timestamptz
        + least(${firstLockSeconds} * 2 ^ least((a.attempts + 1) / ${codesUntilWait} - 1, 16), ${longestLockSeconds})
        * interval '1 second' end
    where a.blocked_until is null or a.blocked_until <= ${now}
    returning blocked_until as until`;
  if (!row) throw await tooMany(sql, userId, now);
  return row.until ?? undefined;
}

/** Whether a user's codes are refused at the moment. */
export async function codesWait(sql: Sql, userId: string, now: Date): Promise<boolean> {
  const rows = await sql`select from factor_attempts where user_id = ${userId} and blocked_until > ${now}`;
  return rows.length > 0;
}

/** Credentials of a fact that ends the wait and resets the count of wrong codes. */
export const endCodesWait: readonly string[] = [
  `delete from factor_attempts a using $facts f where a.user_id = f.stream`,
];

async function tooMany(sql: Sql, userId: string, now: Date) {
  const [row] = await sql<{ until: Date | null }[]>`
    select blocked_until as until from factor_attempts where user_id = ${userId}`;
  const seconds = row?.until ? (row.until.getTime() - now.getTime()) / 1000 : 0;
  return refuse.because("FACTOR_ATTEMPTS", { retrySeconds: Math.max(1, Math.ceil(seconds)) });
}
