import type { Deps } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { firstLockSeconds, longestLockSeconds } from "../policies/lock_seconds.ts";
import { instanceLockoutColumn, type Lockouts } from "../policies/policy.ts";

/** The state of a login name, known or not, for a browser that signs in by it. */
export type Standing = {
  /** The user of the login name, or the HMAC of one that nobody has. */
  readonly subject: string;
  readonly userId: string | null;
  /** The hash of the cookie by which the browser is known to the user. */
  readonly known: string | null;
  /** When unknown callers may try again. */
  readonly waitUntil: Date | null;
  /** The policy of the instance: a name that nobody has is in no organization. */
  readonly lockout: Lockouts;
};

/** Reads the state of login names. */
export function standingRead({ sql, clock, secrets }: Pick<Deps, "sql" | "clock" | "secrets">) {
  const read = loadOne<Key, Standing>(sql, {
    asked: "login_name text, nobody text, browsers text, now timestamptz",
    select: `select n, coalesce(l.user_id, asked.nobody) as subject, l.user_id as "userId", k.hash as known,
               s.wait_until as "waitUntil", ${instanceLockoutColumn} as lockout
             from asked left join login_names l using (login_name)
             left join sign_in_failures s on s.subject = coalesce(l.user_id, asked.nobody)
             left join lateral (
               select encode(k.hash, 'hex') as hash from unnest(string_to_array(asked.browsers, ' ')) as value
               join known_browsers k on k.hash = decode(value, 'hex')
               left join passwords p on p.user_id = k.user_id
               where k.user_id = l.user_id and k.since is not distinct from p.changed and k.expiration_date > asked.now
               limit 1) k on true`,
  });
  return async (loginName: string, browsers: readonly string[], signal: AbortSignal): Promise<Standing> => {
    // A password that is entered as the name leaves nothing that could be guessed at without the key.
    const nobody = secrets.keyring.mac("unknown login name", loginName).toString("base64url");
    const key = { login_name: loginName, nobody, browsers: browsers.join(" "), now: clock().toISOString() };
    const standing = await read(key, signal);
    if (!standing) throw new Error("a login name has no state");
    return standing;
  };
}

type Key = Readonly<Record<"login_name" | "nobody" | "browsers" | "now", string>>;

// A policy that never locks leaves unknown callers as many guesses in a minute.
const [mostWithoutLock, secondsWithoutLock] = [10, 60];

/** How many failures in a row make unknown callers wait, how long at first, and how long at most. */
export type NameWait = { readonly most: number; readonly first: number; readonly longest: number };

/** Finds how long unknown callers wait under a policy: as long as its lock lasts, but an hour at most. */
export function waitUnder({ maximumAttempts, lockSeconds, untilUnlocked }: Lockouts): NameWait {
  if (maximumAttempts === 0) return { most: mostWithoutLock, first: secondsWithoutLock, longest: secondsWithoutLock };
  const fixed = untilUnlocked ? longestLockSeconds : lockSeconds;
  if (fixed === null) return { most: maximumAttempts, first: firstLockSeconds, longest: longestLockSeconds };
  const seconds = Math.min(fixed, longestLockSeconds);
  return { most: maximumAttempts, first: seconds, longest: seconds };
}

// A day without a failure ends a row of them: names that nobody has would stay for ever.
const rememberedSeconds = 86_400;

/** Counts a failed sign-in of an unknown caller, on all nodes together; returns the end of the wait where one has begun before it. */
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

/** Finds when the unknown callers of a subject may try again; undefined when they may now. */
export async function waitOf(sql: Sql, subject: string, now: Date): Promise<Date | undefined> {
  const [row] = await sql<{ until: Date }[]>`
    select wait_until as until from sign_in_failures where subject = ${subject} and wait_until > ${now}`;
  return row?.until;
}
