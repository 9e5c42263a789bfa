import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { firstLockSeconds, longestLockSeconds } from "../policies/lock_seconds.ts";
import type { TriedUser } from "./password.ts";
import { type Guess, verified } from "./password_guess.ts";

/**
 * Checks the old password when a user changes it; undefined if it is wrong. These attempts are counted separately from sign-ins, across all
 * nodes, so that a signed-in user can change the password while somebody else is guessing at it.
 */
export function oldPasswordGuesses(deps: Pick<Deps, "sql" | "clock" | "secrets" | "noteAttempt">) {
  const { sql, clock, secrets, noteAttempt } = deps;
  return async <T>(guess: Guess<T>, user: TriedUser) => {
    const counted = await reserve(sql, user, clock());
    if (!counted) {
      noteAttempt({ case: "passwordChangeRefused", value: { blocked: true } }, user, guess.call);
      throw await tooMany(user);
    }
    const attempts = { giveBack: () => giveBack(sql, user.id), clear: () => clear(sql, user.id) };
    const outcome = await verified(guess, user, { passwords: secrets.passwords, attempts });
    const until = counted.until ? { until: timestampFromDate(counted.until) } : {};
    if (!outcome) noteAttempt({ case: "passwordChangeRefused", value: until }, user, guess.call);
    return outcome;
  };

  async function tooMany({ id }: TriedUser) {
    const [row] = await sql<{ until: Date | null }[]>`
      select blocked_until as until from password_change_attempts where user_id = ${id}`;
    const seconds = row?.until ? (row.until.getTime() - clock().getTime()) / 1000 : 0;
    return refuse.because("PASSWORD_ATTEMPTS", { retrySeconds: Math.max(1, Math.ceil(seconds)) });
  }
}

/** Whether password changes are refused at the moment, after wrong old passwords. */
export async function isChangeBlocked(sql: Sql, userId: string, now: Date): Promise<boolean> {
  const rows = await sql`select from password_change_attempts where user_id = ${userId} and blocked_until > ${now}`;
  return rows.length > 0;
}

// A policy that never locks is meant for sign-ins, where unknown callers guess; changes are limited anyway.
const mostWithoutLock = 10;

/**
 * Counts an attempt before the password is checked; undefined if none is left. The last attempt allowed blocks further ones immediately,
 * so a process that crashes before the check leaves no gap.
 */
async function reserve(sql: Sql, { id, policy }: TriedUser, now: Date): Promise<{ until: Date | null } | undefined> {
  const most = policy.maximumAttempts || mostWithoutLock;
  const firstBlock = most === 1 ? new Date(now.getTime() + firstLockSeconds * 1000) : null;
  const attempts = sql`case when a.blocked_until is null then a.attempts + 1 else 1 end`;
  const [row] = await sql<{ until: Date | null }[]>`
    insert into password_change_attempts as a (user_id, attempts, blocks, blocked_until)
    values (${id}, 1, ${firstBlock ? 1 : 0}, ${firstBlock})
    on conflict (user_id) do update set attempts = ${attempts},
      blocks = a.blocks + (${attempts} >= ${most})::integer,
      blocked_until = case when ${attempts} >= ${most} then ${now}::timestamptz
        + least(${firstLockSeconds} * 2 ^ least(a.blocks, 16), ${longestLockSeconds}) * interval '1 second' end
    where a.blocked_until is null or a.blocked_until <= ${now}
    returning blocked_until as until`;
  return row;
}

/** A correct password resets the count. */
const clear = (sql: Sql, id: string) => sql`delete from password_change_attempts where user_id = ${id}`;

/** An attempt that was never checked does not count. */
const giveBack = (sql: Sql, id: string) => sql`
  update password_change_attempts set attempts = attempts - 1, blocks = blocks - (blocked_until is not null)::integer,
    blocked_until = null
  where user_id = ${id} and attempts > 0`;
