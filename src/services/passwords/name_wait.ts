import type { Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { countedText, type NameKey, nameAsked, nameKey, type TypedName, userNamed } from "../callers/login_name.ts";
import { firstLockSeconds, longestLockSeconds } from "../policies/lock_seconds.ts";
import { instanceLockoutColumn, type Lockouts } from "../policies/policy.ts";
import { knownBrowserOf } from "./known_browser.ts";

/** The state of a text typed as a login name, whether or not it finds a user, for a browser that signs in with it. */
export type Standing = {
  /** The user who is found; if nobody is, an HMAC of the text and the organization in which it was looked up. */
  readonly subject: string;
  readonly userId: string | null;
  readonly owner: string | null;
  /** The hash of the cookie by which the browser is known to the user. */
  readonly known: string | null;
  /** The time at which unknown callers may try again. */
  readonly waitUntil: Date | null;
  /** The instance's policy, since a name that nobody has belongs to no organization. */
  readonly lockout: Lockouts;
};

export function standingRead({ sql, clock, secrets }: Pick<Deps, "sql" | "clock" | "secrets">) {
  const read = loadOne<Key, Standing>(sql, {
    asked: `${nameAsked}, nobody text, browsers text, now timestamptz`,
    select: `select n, f.subject, l.user_id as "userId", l.owner, k.hash as known,
               s.wait_until as "waitUntil", ${instanceLockoutColumn} as lockout
             from asked join ${userNamed}
             cross join lateral (
               select coalesce(l.user_id, asked.nobody || coalesce('.' || l.organization, '')) as subject offset 0) f
             left join sign_in_failures s on s.subject = f.subject
             left join lateral (${knownBrowserOf("l.user_id", "asked.browsers")}) k on true`,
  });
  return async (typed: TypedName, browsers: readonly string[], signal: AbortSignal): Promise<Standing> => {
    const name = nameKey(typed);
    // If somebody enters a password as the login name, only its HMAC is stored, which nobody can guess without the key.
    const nobody = secrets.keyring.mac("unknown login name", countedText(name)).toString("base64url");
    const standing = await read({ ...name, nobody, browsers: browsers.join(" "), now: clock().toISOString() }, signal);
    if (!standing) throw new Error("a login name has no state");
    return standing;
  };
}

type Key = NameKey & Readonly<Record<"nobody" | "browsers" | "now", string>>;

// Under a policy that never locks, unknown callers get this many guesses per minute.
const [mostWithoutLock, secondsWithoutLock] = [10, 60];

/** The number of failures in a row after which unknown callers wait, the first wait, and the longest. */
export type NameWait = { readonly most: number; readonly first: number; readonly longest: number };

/** Finds how long unknown callers wait under a policy: as long as its lock lasts, up to an hour. */
export function waitUnder({ maximumAttempts, lockSeconds, untilUnlocked }: Lockouts): NameWait {
  if (maximumAttempts === 0) return { most: mostWithoutLock, first: secondsWithoutLock, longest: secondsWithoutLock };
  const fixed = untilUnlocked ? longestLockSeconds : lockSeconds;
  if (fixed === null) return { most: maximumAttempts, first: firstLockSeconds, longest: longestLockSeconds };
  const seconds = Math.min(fixed, longestLockSeconds);
  return { most: maximumAttempts, first: seconds, longest: seconds };
}

// A day without failures ends a series: otherwise names that nobody has would be kept forever.
const rememberedSeconds = 86_400;

/** Counts a failed sign-in by an unknown caller, across all nodes; returns the end of the wait if one had already begun. */
export async function countFailure(sql: Sql, { subject, lockout }: Standing, now: Date): Promise<Date | undefined> {
  const { most, first, longest } = waitUnder(lockout);
  const firstWait = most === 1 ? new Date(now.getTime() + first * 1000) : null;
  const ends = new Date(now.getTime() + rememberedSeconds * 1000);
  const counted = await sql`
    insert into sign_in_failures as s (subject, failures, waits, wait_until, expiration_date)
    values (${subject}, 1, ${firstWait ? 1 : 0}, ${firstWait}, ${ends})
    on conflict (subject) do update set
      failures = case when s.failures + 1 >= ${most} then 0 else s.failures + 1 end,
      waits = s.waits + (s.failures + 1 >= ${most})::integer,
      wait_until = case when s.failures + 1 >= ${most} then ${now}::timestamptz
        + least(${first} * 2 ^ least(s.waits, 16), ${longest}) * interval '1 second' end,
      expiration_date = excluded.expiration_date
    where s.wait_until is null or s.wait_until <= ${now}
    returning 1`;
  return counted.length > 0 ? undefined : waitOf(sql, subject, now);
}

/** Finds the time at which unknown callers may try a subject again; undefined if they may now. */
export async function waitOf(sql: Sql, subject: string, now: Date): Promise<Date | undefined> {
  const [row] = await sql<{ until: Date }[]>`
    select wait_until as until from sign_in_failures where subject = ${subject} and wait_until > ${now}`;
  return row?.until;
}
