import { type Call, type Deps, systemCall } from "../../deps.ts";
import { next, type Versioned } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken } from "../../security/token.ts";
import { endedAt, signedOutAt } from "../../services/sessions/new_session.ts";
import type { CookieOfSession } from "../http/cookies.ts";
import type { LogoutHint } from "./logout_request.ts";

/** A session of a browser that may be ended. */
export type OpenSession = Versioned & {
  readonly userId: string;
  readonly username: string;
  readonly expirationDate: Date;
  /** Its place among the cookies of the browser; null where it is none of them. */
  readonly place: number | null;
};

/**
 * The session of a browser that a sign-out is about: it is ended, and with it that of the hint and earlier ones, as far as they are of
 * the same user. The accounts of other users stay signed in.
 */
export type FoundSessions = {
  readonly ofBrowser: OpenSession | undefined;
  readonly ended: readonly OpenSession[];
  readonly kept: readonly CookieOfSession[];
};

/** The sessions of a browser by the values of its cookies, the present one first, and the hint of a request for a sign-out. */
export type SessionQuestion = {
  readonly cookies: readonly string[];
  readonly hint: Pick<LogoutHint, "sessionId" | "userId"> | undefined;
};

// As many sign-ins that replaced each other are followed.
const mostEarlier = 100;

/**
 * Finds the sessions that a sign-out ends, and those that they replaced in their browsers. Unlike for a sign-in, it does not matter how
 * long ago they were used.
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
    select distinct on (n.session_id) n.session_id as id, s.owner, n.user_id as "userId", u.username, s.version, s.created, s.changed,
      n.expiration_date as "expirationDate", n.place
    from named n join sessions s on s.session_id = n.session_id join users u on u.user_id = n.user_id
    order by n.session_id, n.place nulls last`;
  return found(rows, { cookies, hint });
}

/** Of several accounts it is that of the hint, else the present one. */
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

/** The sessions that end, and whether refresh tokens of `offline_access` end with them. */
export type EndedSessions = { readonly ended: readonly OpenSession[]; readonly isOfflineOver?: boolean };

/** Ends the sessions of a sign-out, all or none: the page of one that loses a race finds them anew. */
export async function endSessions(
  { log, clock }: Pick<Deps, "log" | "clock">,
  { ended, isOfflineOver = false }: EndedSessions,
  call: Call,
) {
  if (ended.length === 0) return;
  const endOf = isOfflineOver ? endedAt : signedOutAt;
  const facts = ended.map((session) => endOf(next(session, clock()), session.userId));
  // A client that leaves meanwhile still signs out.
  await log.append({ ...systemCall(""), values: call.values }, facts, true);
}
