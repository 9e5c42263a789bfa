import { type Call, type Deps, systemCall } from "../deps.ts";
import { factOf, next, type Versioned } from "../events/fact.ts";
import { lostRace } from "../events/log.ts";
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

/** The session of a browser; it is ended, and with it that of the hint where both are of one user. */
export type FoundSessions = { readonly ofBrowser: OpenSession | undefined; readonly ended: readonly OpenSession[] };

/** The cookie of a browser, and the hint of a request for a sign-out. */
export type SessionQuestion = { readonly cookie: string | undefined; readonly hint: LogoutHint | undefined };

/** Finds the sessions that a sign-out ends; unlike for a sign-in, it does not matter how long ago they were used. */
export async function sessionsToEnd(sql: Sql, { cookie, hint }: SessionQuestion): Promise<FoundSessions> {
  if (cookie === undefined) return { ofBrowser: undefined, ended: [] };
  const rows = await sql<OpenSession[]>`
    select b.session_id as id, s.owner, b.user_id as "userId", u.username, s.version, s.created, s.changed,
      b.hash = ${hashToken(cookie)} as "isOfBrowser"
    from browser_sessions b join sessions s on s.session_id = b.session_id join users u on u.user_id = b.user_id
    where b.hash = ${hashToken(cookie)} or b.session_id = ${hint?.sessionId ?? ""}`;
  const ofBrowser = rows.find(({ isOfBrowser }) => isOfBrowser);
  return { ofBrowser, ended: rows.filter(({ userId }) => userId === ofBrowser?.userId) };
}

const mostTries = 5;

/** Sessions that were found, and the question by which they are found again. */
export type SessionsOfLogout = FoundSessions & { readonly question: SessionQuestion };

/** Ends the sessions of a sign-out, also where one of them changes meanwhile. */
export async function endSessions(
  deps: Pick<Deps, "log" | "sql" | "clock">,
  { question, ...found }: SessionsOfLogout,
  call: Call,
): Promise<void> {
  let { ended } = found;
  for (let tries = 0; tries < mostTries; tries++) {
    const done = await Promise.all(ended.map((session) => endSession(deps, session, call)));
    if (!done.includes(false)) return;
    ({ ended } = await sessionsToEnd(deps.sql, question));
  }
  throw new Error("the session changes all the time");
}

async function endSession({ log, clock }: Pick<Deps, "log" | "clock">, session: OpenSession, { values }: Call) {
  const ended = factOf("session", next(session, clock()), { case: "ended", value: { userId: session.userId } });
  // A client that leaves meanwhile still signs out.
  return log.append({ ...systemCall(""), values }, [ended], true).catch(lostRace);
}
