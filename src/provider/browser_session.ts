import type { Deps } from "../deps.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { hashToken, newToken } from "../security/token.ts";
import { userInForce } from "../services/in_force.ts";
import type { SessionKind } from "../services/new_session.ts";
import type { BrowserSession } from "./decision.ts";
import { later, type ProviderSettings } from "./settings.ts";

export type { BrowserSession } from "./decision.ts";

/** Reads the session of a browser by the value of its cookie. It is in force while its user may call, and it is used now and then. */
export const browserSessionRead = (sql: Sql) => readWhere(sql, "not s.enrolment_only");

/** Reads also a session that may only enrol a factor, for the pages where one is enrolled. */
export const enrollingSessionRead = (sql: Sql) => readWhere(sql, "true");

function readWhere(sql: Sql, condition: string) {
  type Row = Omit<BrowserSession, "authTime"> & { readonly authTime: Date };
  const read = loadOne<{ hash: string; now: string }, Row>(sql, {
    asked: "hash text, now timestamptz",
    select: `select n, b.session_id as "sessionId", b.user_id as "userId", u.username, b.auth_time as "authTime",
        u.owner, b.methods, exists (
          select from factors f where f.user_id = b.user_id and f.kind <> 'recovery_codes') as "hasFactor"
      from asked join browser_sessions b on b.hash = decode(asked.hash, 'hex')
      join sessions s on s.session_id = b.session_id
      join users u on u.user_id = b.user_id and ${userInForce}
      where ${condition} and b.idle_date > asked.now and b.expiration_date > asked.now`,
  });
  return async (cookie: string | undefined, now: Date, signal: AbortSignal): Promise<BrowserSession | undefined> => {
    if (cookie === undefined) return undefined;
    return read({ hash: hashOf(cookie), now: now.toISOString() }, signal);
  };
}

/** A session that a sign-in began in a browser. */
export type BegunBrowserSession = {
  readonly sessionId: string;
  readonly userId: string;
  /** The value of its cookie. */
  readonly cookie: string;
  readonly expirationDate: Date;
  readonly methods: readonly string[];
  /** Whether it may only enrol a factor. */
  readonly enrolmentOnly: boolean;
};

/**
 * Makes the kind of session that a sign-in in a browser begins: each time it gets a new session and a new cookie. The cookie that it had
 * before names the session that ends with the new one when its user signs out.
 */
export function browserSessions({ clock }: Pick<Deps, "clock">, settings: ProviderSettings) {
  const { browserSessionLifetimeSeconds: lifetimeSeconds, browserSessionIdleSeconds } = settings;
  return (earlier?: string, enrolment?: SessionKind<unknown>["enrolment"]): SessionKind<BegunBrowserSession> => {
    const cookie = newToken("os");
    const now = clock();
    const idleDate = later(now, browserSessionIdleSeconds).toISOString();
    const expirationDate = later(now, lifetimeSeconds);
    return {
      lifetimeSeconds,
      browser: true,
      enrolment,
      secret: { cookie: hashOf(cookie), idleDate, earlier: earlier === undefined ? null : hashOf(earlier) },
      answer({ sessionId, userId, amr: methods, enrolmentOnly }) {
        return { sessionId, userId, methods, enrolmentOnly, cookie, expirationDate };
      },
    };
  };
}

const hashOf = (cookie: string): string => hashToken(cookie).toString("hex");
