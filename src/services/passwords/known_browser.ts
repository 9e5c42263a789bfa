import type { JsonObject } from "@bufbuild/protobuf";
import type { Sql } from "../../postgres/pool/connect.ts";
import { sendNotice } from "../verification/notice.ts";

/** How long a browser stays known after its last full sign-in. */
export const knownSeconds = 90 * 86_400;

/** The maximum number of known browsers per user; beyond it, those with the oldest sign-ins are forgotten. */
const mostKnown = 10;

/** The number of wrong passwords in a row after which a known browser becomes unknown. */
export const wrongUntilUnknown = 10;

/** A user's known browser, and the number of the attempt counted for it. */
export type KnownAttempt = { readonly userId: string; readonly hash: string; readonly attempt: number };

/** A user's browser, by the hash of its cookie. */
export type UserBrowser = { readonly userId: string; readonly hash: string };

/**
 * Counts an attempt from a known browser before the password is checked; undefined if none is left. Guesses by unknown callers are counted
 * separately, so they cannot use these up.
 */
export async function reserveKnown(sql: Sql, { userId, hash }: UserBrowser): Promise<KnownAttempt | undefined> {
  const [row] = await sql<{ attempt: number }[]>`
    update known_browsers set attempts = attempts + 1
    where hash = decode(${hash}, 'hex') and attempts < ${wrongUntilUnknown} returning attempts as attempt`;
  return row && { userId, hash, ...row };
}

/** The counted attempts of a known browser: how to clear them, and how to take one back. */
export const knownAttempts = (sql: Sql, { hash }: UserBrowser) => ({
  giveBack: () => sql`
    update known_browsers set attempts = attempts - 1 where hash = decode(${hash}, 'hex') and attempts > 0`,
  clear: () => sql`update known_browsers set attempts = 0 where hash = decode(${hash}, 'hex')`,
});

/** A browser whose user has proved who they are: in a session, or with a code that set the password at a given time. */
export type ProvenBrowser = UserBrowser & { readonly now: Date; readonly earlier: readonly string[] } & (
    | { readonly sessionId: string; readonly notice?: JsonObject }
    | { readonly passwordSet: Date }
  );

/**
 * The hashes of the cookies that the new one replaces, and whether the browser was already known to the user, under any password. If not,
 * the user is signing in on a new device.
 */
export type Remembered = { readonly replaced: readonly string[]; readonly wasKnown: boolean };

/**
 * SQL for the hash, as `hash`, of the cookie by which a browser is known to a user, for SQL expressions of the user's id and of the hashes
 * of its cookies.
 */
export const knownBrowserOf = (user: string, browsers: string): string => `
  select encode(k.hash, 'hex') as hash from unnest(string_to_array(${browsers}, ' ')) as value
  join known_browsers k on k.hash = decode(value, 'hex')
  left join passwords p on p.user_id = k.user_id
  where k.user_id = ${user} and k.since is not distinct from p.changed and k.expiration_date > asked.now
  limit 1`;

// A user's first browser is not worth a notice.
const [mail, count] = sendNotice("i.stream").map((text) => text.replaceAll("$input", "told"));

/** Makes a browser known to its user, replacing an earlier cookie, and notifies users who already had another browser. */
export async function rememberBrowser(sql: Sql, browser: ProvenBrowser): Promise<Remembered> {
  const { userId, hash, now, earlier } = browser;
  const sessionId = "sessionId" in browser ? browser.sessionId : null;
  const passwordSet = "passwordSet" in browser ? browser.passwordSet : null;
  const notice = "notice" in browser && browser.notice ? JSON.stringify(browser.notice) : null;
  const ends = new Date(now.getTime() + knownSeconds * 1000);
  const [row] = await sql<Remembered[]>`
    with proven as (
      select u.user_id, p.changed as since from users u left join passwords p using (user_id)
      where u.user_id = ${userId} and (${passwordSet}::timestamptz is null or p.changed = ${passwordSet})
        and (${sessionId}::text is null or exists (
          select from browser_sessions b where b.session_id = ${sessionId} and b.user_id = ${userId} offset 0))
    ),
    replaced as (
      delete from known_browsers where user_id = ${userId}
        and hash in (select decode(value, 'hex') from unnest(string_to_array(${earlier.join()}, ',')) as value)
      returning hash, expiration_date
    ),
    surplus as (
      delete from known_browsers where hash in (
        select hash from known_browsers where user_id = ${userId} order by created desc offset ${mostKnown - 1})
    ),
    remembered as (
      insert into known_browsers (hash, user_id, since, created, expiration_date)
      select decode(${hash}, 'hex'), user_id, since, ${now}, ${ends} from proven
    ),
    told as (
      select 0 as n, u.owner, u.user_id as stream, ${now}::timestamptz as time,
        jsonb_build_object('notice', ${notice}::text::jsonb) as secret
      from proven join users u using (user_id)
      where ${notice}::text is not null and not exists (select from replaced where expiration_date > ${now})
        and exists (select from known_browsers k where k.user_id = ${userId} offset 0)
    ),
    mailed as (${sql.unsafe(mail ?? "")}),
    counted as (${sql.unsafe(count ?? "")})
    select coalesce((select array_agg(encode(hash, 'hex')) from replaced), '{}') as replaced,
      exists (select from replaced where expiration_date > ${now}) as "wasKnown"`;
  return row ?? { replaced: [], wasKnown: false };
}
