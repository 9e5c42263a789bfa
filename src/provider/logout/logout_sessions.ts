import type { Call, Deps } from "../../deps.ts";
import { next, type Versioned } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";
import { qualifiedName } from "../../services/callers/login_name.ts";
import { endedAt, signedOutAt } from "../../services/sessions/session_end.ts";
import type { CookieOfSession } from "../http/cookies.ts";
import type { LogoutHint } from "./logout_request.ts";

/** A browser session that may be ended. */
export type OpenSession = Versioned & {
  readonly userId: string;
  /** The username as it is unique in the instance. */
  readonly qualifiedName: string;
  readonly expirationDate: Date;
  /** Its position among the browser's cookies; null if it is not among them. */
  readonly place: number | null;
};

/**
 * The session that a sign-out is about. It ends together with the hint's session and earlier ones, as far as they belong to the same user.
 * The accounts of other users stay signed in.
 */
export type FoundSessions = {
  readonly ofBrowser: OpenSession | undefined;
  readonly ended: readonly OpenSession[];
  readonly kept: readonly CookieOfSession[];
};

/** A browser's sessions by its cookie values, the current one first, and the hint of a sign-out request. */
export type SessionQuestion = {
  readonly cookies: readonly string[];
  readonly hint: Pick<LogoutHint, "sessionId" | "userId"> | undefined;
};

// How far to follow a chain of sign-ins that replaced each other.
const mostEarlier = 100;

/**
 * Finds the sessions that a sign-out ends, including those that they replaced in their browsers. Unlike for a sign-in, it does not matter
 * when they were last used.
 */
export async function sessionsToEnd(sql: Sql, { cookies, hint }: SessionQuestion): Promise<FoundSessions> {
  if (cookies.length === 0) return { ofBrowser: undefined, ended: [], kept: [] };
  const hashes = cookies.map((cookie) => hashToken(cookie).toString("hex"));
  const rows = await sql<OpenSession[]>`
    with recursive named as (
      select b.session_id, b.user_id, b.earlier_session_id, b.expiration_date, value.place::integer as place, 0 as steps
      from unnest(${hashes}::text[]) with ordinality as value (hash, place)
        join browser_sessions b on b.hash = decode(value.hash, 'hex')
      union all
      select b.session_id, b.user_id, b.earlier_session_id, b.expiration_date, null, 0
      from browser_sessions b where b.session_id = ${hint?.sessionId ?? ""}
      union all
      select b.session_id, b.user_id, b.earlier_session_id, b.expiration_date, null, n.steps + 1
      from named n join browser_sessions b on b.session_id = n.earlier_session_id and n.steps < ${mostEarlier}
    )
    select distinct on (n.session_id) n.session_id as id, s.owner, n.user_id as "userId", ${sql.unsafe(qualifiedName("u"))} as "qualifiedName",
      s.version, s.created, s.changed,
      n.expiration_date as "expirationDate", n.place
    from named n join sessions s on s.session_id = n.session_id join users u on u.user_id = n.user_id
    order by n.session_id, n.place nulls last`;
  return found(rows, { cookies, hint });
}

/** Of several accounts, picks the hint's, or else the current one. */
function found(rows: readonly OpenSession[], { cookies, hint }: SessionQuestion): FoundSessions {
  const held = cookies.flatMap((cookie, at) => {
    const row = rows.find(({ place }) => place === at + 1);
    return row ? [{ cookie, ...row }] : [];
  });
  const ofBrowser =
    held.find(({ id }) => id === hint?.sessionId) ?? held.find(({ userId }) => userId === hint?.userId) ?? held[0];
  return {
    ofBrowser,
    ended: rows.filter(({ userId }) => userId === ofBrowser?.userId),
    kept: held.filter(({ userId }) => userId !== ofBrowser?.userId),
  };
}

/** The sessions to end, and whether refresh tokens with `offline_access` end with them. */
export type EndedSessions = { readonly ended: readonly OpenSession[]; readonly isOfflineOver?: boolean };

/** Ends the sessions of a sign-out, all or none; if that loses a race, the page looks them up again. */
export async function endSessions(
  { log, clock }: Pick<Deps, "log" | "clock">,
  { ended, isOfflineOver = false }: EndedSessions,
  call: Call,
) {
  if (ended.length === 0) return;
  const endOf = isOfflineOver ? endedAt : signedOutAt;
  const facts = ended.map((session) => endOf(next(session, clock()), session.userId));
  // The sign-out completes even if the client disconnects.
  await log.append({ ...call, signal: new AbortController().signal }, facts, true);
}
