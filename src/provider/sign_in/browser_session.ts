import type { Deps } from "../../deps.ts";
import { load } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { mayUse, userInForce } from "../../services/callers/in_force.ts";
import { qualifiedName } from "../../services/callers/login_name.ts";
import type { SessionKind } from "../../services/sessions/new_session.ts";
import { later, type ProviderSettings } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import { mayActFor } from "../tokens/subject.ts";

export type BrowserSession = {
  readonly sessionId: string;
  readonly userId: string;
  readonly owner: string;
  readonly username: string;
  /** The username as it is unique in the instance. */
  readonly qualifiedName: string;
  /** The name of the user's organization. */
  readonly organization: string;
  readonly displayName: string;
  readonly email: string | null;
  readonly authTime: Date;
  /** The methods of the sign-in (RFC 8176). */
  readonly methods: readonly string[];
  /** Whether the user has a second factor. */
  readonly hasFactor: boolean;
  readonly expirationDate: Date;
  readonly cookie: string;
};

/** A browser session, and what its user may do at an application. */
export type ClientSession = BrowserSession & {
  /** Whether the user may use the application, and sign in for the organization that the request names. */
  readonly permitted: boolean;
  /** The scopes that the user has allowed the application so far; null without a consent. */
  readonly allowed: readonly string[] | null;
};

/** The login name that the user of a session would type in a request for an organization. */
export const typedName = (session: BrowserSession, organizationId: string | undefined): string =>
  session.owner === organizationId ? session.username : session.qualifiedName;

/** The application and the organization that a user signs in for. */
export type SessionClient = Pick<Client, "appId" | "projectId"> & { readonly organizationId?: string | undefined };

/**
 * Reads a browser's sessions by the values of its cookies, in that order. A session is in force as long as its user may call and it is used
 * from time to time.
 */
export const browserSessionsRead = (sql: Sql) => readWhere(sql, "not s.enrolment_only");

/** Also reads sessions that may only enrol a factor, for the enrolment pages. */
export const enrollingSessionsRead = (sql: Sql) => readWhere(sql, "true");

type Key = Readonly<{ hashes: string[]; app: string; project: string; organization: string | null; now: string }>;
type Row = Omit<ClientSession, "cookie"> & { readonly hash: string };

function readWhere(sql: Sql, condition: string) {
  const read = load<Key, Row>(sql, {
    asked: "hashes text[], app text, project text, organization text, now timestamptz",
    select: `select n, value.hash, b.session_id as "sessionId", b.user_id as "userId", u.owner, u.username, u.email,
        ${qualifiedName("u")} as "qualifiedName", (select h.name from organizations h where h.organization_id = u.owner) as organization,
        concat_ws(' ', u.given_name, u.family_name) as "displayName", b.auth_time as "authTime", b.methods,
        b.expiration_date as "expirationDate", exists (
          select from factors f where f.user_id = b.user_id and f.kind <> 'recovery_codes') as "hasFactor",
        (select c.scopes from consents c where c.user_id = b.user_id and c.app_id = asked.app) as allowed,
        exists (select from projects p where p.project_id = asked.project and ${mayUse}
          and ${mayActFor("coalesce(asked.organization, u.owner)")}) as permitted
      from asked cross join unnest(asked.hashes) as value (hash)
      join browser_sessions b on b.hash = decode(value.hash, 'hex')
      join sessions s on s.session_id = b.session_id
      join users u on u.user_id = b.user_id and ${userInForce}
      where ${condition} and b.idle_date > asked.now and b.expiration_date > asked.now`,
  });
  return async (cookies: readonly string[], client: SessionClient, at: { now: Date; signal: AbortSignal }) => {
    if (cookies.length === 0) return [];
    const hashes = cookies.map(hashOf);
    const { appId: app, projectId: project, organizationId: organization = null } = client;
    const key = { hashes, app, project, organization, now: at.now.toISOString() };
    const rows = await read(key, at.signal);
    return cookies.flatMap((cookie, place): ClientSession[] => {
      const row = rows.find(({ hash }) => hash === hashes[place]);
      return row ? [sessionOf(row, cookie)] : [];
    });
  };
}

function sessionOf({ hash: _, ...row }: Row, cookie: string): ClientSession {
  return { ...row, cookie };
}

/** A session that a sign-in began in a browser. */
export type BegunBrowserSession = {
  readonly sessionId: string;
  readonly userId: string;
  readonly owner: string;
  readonly cookie: string;
  readonly expirationDate: Date;
  readonly methods: readonly string[];
  /** Whether the session may only enrol a factor. */
  readonly enrolmentOnly: boolean;
};

/** The browser's earlier cookies, and whether users without a factor are asked to enrol one. */
type Beginning = { readonly earlier: readonly string[]; readonly enrolment?: SessionKind<unknown>["enrolment"] };

/**
 * Makes the kind of session that a sign-in in a browser begins, always with a new cookie. If one of the browser's earlier cookies belongs
 * to the same user, its session will end together with the new one at sign-out.
 */
export function browserSessions({ clock }: Pick<Deps, "clock">, settings: ProviderSettings) {
  const { browserSessionLifetimeSeconds: lifetimeSeconds, browserSessionIdleSeconds } = settings;
  return ({ earlier, enrolment }: Beginning): SessionKind<BegunBrowserSession> => {
    const cookie = newToken("os");
    const now = clock();
    const idleDate = later(now, browserSessionIdleSeconds).toISOString();
    const expirationDate = later(now, lifetimeSeconds);
    return {
      lifetimeSeconds,
      browser: true,
      enrolment,
      secret: { cookie: hashOf(cookie), idleDate, earlier: earlier.map(hashOf) },
      answer({ sessionId, userId, details, amr: methods, enrolmentOnly }) {
        const { resourceOwner: owner } = details;
        return { sessionId, userId, owner, methods, enrolmentOnly, cookie, expirationDate };
      },
    };
  };
}

const hashOf = (cookie: string): string => hashToken(cookie).toString("hex");
