import { type Call, type Deps, systemCall } from "../deps.ts";
import { factOf, next, type Versioned } from "../events/fact.ts";
import type { Sql } from "../postgres/connect.ts";
import { hashToken } from "../security/token.ts";
import type { LogoutHint } from "./logout_request.ts";

/** A session of a browser that may be ended. */
export type OpenSession = Versioned & {
  readonly userId: string;
  readonly username: string;
  /** Whether it is the one of the cookie. */
  readonly isOfBrowser: boolean;
};

/** The session of a browser; it is ended, and with it that of the hint and earlier ones, as far as they are of the same user. */
export type FoundSessions = { readonly ofBrowser: OpenSession | undefined; readonly ended: readonly OpenSession[] };

/** The cookie of a browser, and the hint of a request for a sign-out. */
export type SessionQuestion = { readonly cookie: string | undefined; readonly hint: LogoutHint | undefined };

// As many sign-ins that replaced each other are followed.
const mostEarlier = 100;

/**
 * Finds the sessions that a sign-out ends, and those that they replaced in their browsers. Unlike for a sign-in, it does not matter how
 * long ago they were used.
 */
export async function sessionsToEnd(sql: Sql, { cookie, hint }: SessionQuestion): Promise<FoundSessions> {
  if (cookie === undefined) return { ofBrowser: undefined, ended: [] };
  const hash = hashToken(cookie);
  const rows = await sql<OpenSession[]>`
    with recursive named as (
      select b.session_id, b.user_id, b.earlier_session_id, b.hash = ${hash} as of_browser, 0 as place
      from browser_sessions b where b.hash = ${hash} or b.session_id = ${hint?.sessionId ?? ""}
      union all
      select b.session_id, b.user_id, b.earlier_session_id, false, n.place + 1
      from named n join browser_sessions b on b.session_id = n.earlier_session_id and n.place < ${mostEarlier}
    )
    select distinct on (n.session_id) n.session_id as id, s.owner, n.user_id as "userId", u.username, s.version, s.created, s.changed,
      n.of_browser as "isOfBrowser"
    from named n join sessions s on s.session_id = n.session_id join users u on u.user_id = n.user_id
    order by n.session_id, n.of_browser desc`;
  const ofBrowser = rows.find(({ isOfBrowser }) => isOfBrowser);
  return { ofBrowser, ended: rows.filter(({ userId }) => userId === ofBrowser?.userId) };
}

/** Ends the sessions of a sign-out, all or none: the page of one that loses a race finds them anew. */
export async function endSessions(
  { log, clock }: Pick<Deps, "log" | "clock">,
  ended: readonly OpenSession[],
  call: Call,
) {
  if (ended.length === 0) return;
  const facts = ended.map((session) =>
    factOf("session", next(session, clock()), { case: "ended", value: { userId: session.userId } }),
  );
  // A client that leaves meanwhile still signs out.
  await log.append({ ...systemCall(""), values: call.values }, facts, true);
}
