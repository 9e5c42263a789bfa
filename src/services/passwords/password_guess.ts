import { setTimeout as pause } from "node:timers/promises";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Call, Deps } from "../../deps.ts";
import { type At, factOf, type NewFact, next } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { PasswordBench } from "../../security/password.ts";
import { MAX_PASSWORD_BYTES } from "../../security/password_rule.ts";
import type { Secrets } from "../../security/secrets.ts";
import { firstLockSeconds, longestLockSeconds } from "../policies/lock_seconds.ts";
import type { PolicyInForce } from "../policies/policy.ts";
import { aside } from "../writing/side_call.ts";
import { type KnownAttempt, knownAttempts } from "./known_browser.ts";
import {
  hashing,
  isLocked,
  isTried,
  type PasswordUser,
  passwordUserRead,
  placeOf,
  spent,
  type TriedUser,
} from "./password.ts";
import { takeBack } from "./take_back.ts";

/** A guess at a password; `whenRight` runs in the same job of the queue. */
export type Guess<T> = {
  readonly password: string;
  readonly call: Call;
  /** The known browser that it comes from, with its attempt already counted; absent for unknown callers. */
  readonly browser?: KnownAttempt | undefined;
  readonly whenRight: (bench: PasswordBench, user: TriedUser) => Promise<T>;
};

/** The outcome of a guess: right, wrong, or unchecked because the user is locked. */
export type GuessOutcome<T> =
  | { readonly is: "right"; readonly user: TriedUser; readonly value: T }
  | { readonly is: "wrong" }
  | { readonly is: "locked" };

/**
 * The only place that checks a password at sign-in. Wrong guesses by unknown callers count towards the lock, across all nodes, and during a
 * lock none of theirs is checked. Those from a known browser are counted separately, and no lock stops them.
 */
export function passwordGuesses(deps: Pick<Deps, "log" | "sql" | "clock" | "secrets">) {
  const { log, sql, clock, secrets } = deps;
  const userById = passwordUserRead(sql);

  return async <T>(guess: Guess<T>, user: PasswordUser | undefined): Promise<GuessOutcome<T>> => {
    const { call, browser } = guess;
    if (user && isTried(user) && browser?.userId === user.id) {
      const attempts = knownAttempts(sql, browser);
      return (await verified(guess, user, { passwords: secrets.passwords, attempts })) ?? { is: "wrong" };
    }
    if (!user || !isTried(user) || isLocked(user, clock())) return decoy(guess, user);
    const attempt = await reserve(sql, user, clock());
    if (attempt !== undefined) return checked(guess, user, attempt);
    // Waits as long as a wrong guess takes: guesses already counted but not yet checked are checked in the meantime.
    await hashing(secrets.passwords.verifyDecoy(tried(guess.password), placeOf(call)));
    return late(guess, user);
  };

  /** Makes a guess that cannot be right cost as much work as one that can. */
  async function decoy(
    { password, call }: Guess<unknown>,
    user: PasswordUser | undefined,
  ): Promise<GuessOutcome<never>> {
    await reserve(sql, nobody, clock());
    await hashing(secrets.passwords.verifyDecoy(tried(password), placeOf(call)));
    return { is: user && isLocked(user, clock()) ? "locked" : "wrong" };
  }

  async function checked<T>(guess: Guess<T>, user: TriedUser, attempt: number): Promise<GuessOutcome<T>> {
    const attempts = { giveBack: () => giveBack(sql, user.id), clear: () => clear(sql, user.id, clock()) };
    const outcome = await verified(guess, user, { passwords: secrets.passwords, attempts });
    if (!outcome && attempt === user.policy.maximumAttempts) await lock(guess.call, user);
    return outcome ?? { is: "wrong" };
  }

  /** Waits while pending guesses hold all attempts: they end in a lock, or in a correct guess that clears the count. */
  async function late<T>(guess: Guess<T>, { owner, id }: TriedUser): Promise<GuessOutcome<T>> {
    const latest = performance.now() + longestWaitMs;
    for (;;) {
      const user = await userById({ owner, id }, guess.call.signal);
      if (!user || !isTried(user)) return { is: "wrong" };
      if (isLocked(user, clock())) return { is: "locked" };
      const attempt = await reserve(sql, user, clock());
      if (attempt !== undefined) return checked(guess, user, attempt);
      if (performance.now() > latest) return lock(guess.call, user);
      await pause(20, undefined, { signal: guess.call.signal });
    }
  }

  async function lock(call: Call, user: PasswordUser): Promise<{ is: "locked" }> {
    for (let current: PasswordUser | undefined = user; current && !isLocked(current, clock()); ) {
      const at: At = next(current, clock());
      const locked: NewFact = factOf("user", at, { case: "locked", value: lockOf(current, at.time) });
      const won: boolean = await log.append(aside(call), [locked], true).catch(lostRace);
      current = won ? undefined : await userById({ owner: user.owner, id: user.id });
    }
    return { is: "locked" };
  }
}

/** Counted attempts: how to clear them, and how to take one back. */
export type CountedAttempts = Readonly<Record<"giveBack" | "clear", () => PromiseLike<unknown>>>;

type Verification = Pick<Secrets, "passwords"> & { readonly attempts: CountedAttempts };

/**
 * Checks a counted guess and runs the next step if it is correct; undefined if it is wrong. A correct guess clears the count while the next
 * step runs, which may hash a new password.
 */
export async function verified<T>(guess: Guess<T>, user: TriedUser, { passwords, attempts }: Verification) {
  let isWaiting = true;
  let cleared: Promise<unknown> | undefined;
  const work = async (bench: PasswordBench) => {
    isWaiting = false;
    if (!(await bench.verify(user.hash, tried(guess.password))) || !fits(guess.password)) return undefined;
    cleared = Promise.resolve(attempts.clear());
    // It is awaited in the end, however the next step ends.
    cleared.catch(() => {});
    return { is: "right", user, value: await guess.whenRight(bench, user) } as const;
  };
  const count = async () => {
    if (isWaiting) await takeBack(attempts.giveBack);
    await cleared;
  };
  return hashing(passwords.inOnePlace(work, placeOf(guess.call))).finally(count);
}

/** Bounds the password to hash: one too long for any user costs no more than others. */
const tried = (password: string): string => (fits(password) ? password : "");

const fits = (password: string): boolean => Buffer.byteLength(password.normalize("NFC"), "utf8") <= MAX_PASSWORD_BYTES;

const longestWaitMs = 5_000;

const nobody = { id: "", locked: false, lockedUntil: null, policy: { maximumAttempts: 0 } };

/**
 * Counts an attempt before the password is checked; undefined if none is left. If the policy has been tightened since the last attempt,
 * this one is the last.
 */
async function reserve(
  sql: Sql,
  user: Pick<PasswordUser, "id" | "locked" | "lockedUntil"> & { policy: Pick<PolicyInForce, "maximumAttempts"> },
  now: Date,
): Promise<number | undefined> {
  const most = user.policy.maximumAttempts || spent;
  const lockIsOver = user.locked && !isLocked(user, now);
  const [row] = await sql<{ attempts: number }[]>`
    insert into password_attempts as a (user_id, attempts, allowed) values (${user.id}, 1, ${most})
    on conflict (user_id) do update set allowed = excluded.allowed,
      attempts = case when a.attempts = ${spent} then 1 else least(a.attempts + 1, excluded.allowed) end
    where a.attempts < excluded.allowed or (${lockIsOver} and a.attempts = ${spent})
      or (a.allowed is distinct from excluded.allowed and a.attempts < ${spent})
    returning attempts`;
  return row?.attempts;
}

/** Resets the counts after a correct password, without ending a wait that began while it was being checked. */
const clear = (sql: Sql, id: string, now: Date) => sql`
  with cleared as (delete from password_attempts where user_id = ${id})
  delete from sign_in_failures where subject = ${id} and (wait_until is null or wait_until <= ${now})`;

/** Takes back an attempt that was never checked. */
const giveBack = (sql: Sql, id: string) => sql`
  update password_attempts set attempts = attempts - 1 where user_id = ${id} and attempts between 1 and ${spent - 1}`;

const lastTimestampMs = Date.UTC(9999, 11, 31);

function lockOf(user: Pick<PasswordUser, "policy" | "locks">, now: Date) {
  const until = now.getTime() + lockSecondsOf(user) * 1000;
  return until < lastTimestampMs ? { until: timestampFromMs(Math.round(until)) } : {};
}

function lockSecondsOf({ policy, locks }: Pick<PasswordUser, "policy" | "locks">): number {
  if (policy.untilUnlocked) return Number.POSITIVE_INFINITY;
  const growing = Math.min(firstLockSeconds * 2 ** locks, longestLockSeconds);
  return policy.lockSeconds ?? Math.max(growing, policy.leastLockSeconds ?? 0);
}
