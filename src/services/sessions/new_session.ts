import type { JsonObject } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type At, detailsAfter, factOf, first, type NewFact, next } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { userInForce } from "../callers/in_force.ts";
import { type PasswordUser, passwordSecret } from "../passwords/password.ts";
import { endedAt } from "./session_end.ts";
import { mostSessions, signOutSurplus } from "./session_limit.ts";

export type SessionLifetime = { readonly sessionLifetimeSeconds: number };

/** A user who signed in, and the time at which the password used was set: null if it is being replaced or the user has none. */
export type SignedInUser = { readonly owner: string; readonly id: string; readonly since: string | null };

/** A mailed code that a sign-in uses up, and its expiry. */
export type UsedCode = { readonly id: string; readonly until: Date };

/** How the user signed in, whether the session may only enrol a factor, and a new hash of the same password if its cost changed. */
export type SignIn = {
  readonly amr: readonly string[];
  readonly enrolmentOnly?: boolean;
  readonly rehashed?: string | undefined;
  readonly usedCode?: UsedCode | undefined;
};

/** A session that has begun. */
export type BegunSession = {
  readonly userId: string;
  readonly sessionId: string;
  readonly details: ReturnType<typeof detailsAfter>;
  readonly expirationDate: Timestamp;
  readonly enrolmentOnly: boolean;
  /** The methods of the sign-in (RFC 8176). */
  readonly amr: readonly string[];
};

/** The kind of session that a sign-in begins: its lifetime, its credentials, and the response recorded with it. */
export type SessionKind<A> = {
  readonly lifetimeSeconds: number;
  /** Whether it is a browser session, which makes no calls. */
  readonly browser: boolean;
  /**
   * The condition on which pages lead the user through an enrolment: only if the factor policy requires one, or, if the application asks
   * for a factor, whenever the policy allows one. If unset, a browser never gets a session that may only enrol.
   */
  readonly enrolment?: "required" | "wanted" | undefined;
  readonly secret: JsonObject;
  readonly answer: (begun: BegunSession) => A;
};

/** Makes the kind of session that makes calls, with a token of its own. */
export function callSession({ sessionLifetimeSeconds }: SessionLifetime) {
  const token = newToken("ps");
  return {
    lifetimeSeconds: sessionLifetimeSeconds,
    browser: false,
    secret: { hash: hashToken(token).toString("hex") },
    answer: ({ sessionId, details, expirationDate }: BegunSession) => ({ sessionId, token, details, expirationDate }),
  };
}

/** A session about to begin: its position, its fact, and the response. */
export type NewSession<A> = { readonly at: At; readonly created: NewFact; readonly answer: A };

export const newSessions =
  ({ ids, clock }: Pick<Deps, "ids" | "clock">) =>
  <A>({ owner, id: userId, since }: SignedInUser, signIn: SignIn, kind: SessionKind<A>): NewSession<A> => {
    const { amr, enrolmentOnly = false, rehashed, usedCode } = signIn;
    const methods = amr.length === 0 ? ["pwd"] : amr;
    const at = first(owner, ids(), clock());
    const expirationDate = timestampFromDate(new Date(at.time.getTime() + kind.lifetimeSeconds * 1000));
    const secret = { ...kind.secret, since, ...(rehashed ? { rehashed } : {}), ...usedCodeSecret(usedCode) };
    const value = { userId, expirationDate, amr: [...amr], enrolmentOnly, browser: kind.browser };
    const created = { ...factOf("session", at, { case: "created", value }, secret), by: userId };
    const begun = {
      userId,
      sessionId: at.stream,
      details: detailsAfter(at),
      expirationDate,
      enrolmentOnly,
      amr: methods,
    };
    return { at, created, answer: kind.answer(begun) };
  };

const usedCodeSecret = (code: UsedCode | undefined): JsonObject =>
  code ? { usedCode: { id: code.id, until: code.until.toISOString() } } : {};

/** The method of the first step of a sign-in (RFC 8176): a password, or a mailed code. */
export type FirstMethod = "pwd" | "otp";

/**
 * Makes the fact that a sign-in replaced the password. It also counts the sign-in: if one statement updates a row twice, only one update
 * takes effect. A mailed code takes an account back, as a reset does: it does not show that the user knows the old password.
 */
export function passwordReplaced(user: PasswordUser, hash: string, { now, notice, method }: Told): NewFact {
  const secret = { ...passwordSecret(hash, user.policy), ...notice };
  const value = { byAdministrator: false, byCode: method === "otp" };
  return factOf("user", next(user, now), { case: "passwordChanged", value }, secret);
}

/** The time of a fact, the mail about it, and the first step of the sign-in. */
type Told = { readonly now: Date; readonly notice: JsonObject; readonly method: FirstMethod };

/** The state in which a sign-in is still valid. */
export type StillRight = SignedInUser & {
  /** Whether a factor was used; if not, the user must not have any. */
  readonly isComplete: boolean;
};

/**
 * Ends a new session and fails the sign-in if the password was changed, or the user disabled, during the check. If the user now has too
 * many sessions, the oldest are signed out.
 */
export const confirmedSessions =
  (deps: Pick<Deps, "log" | "sql" | "clock">) =>
  async ({ at }: Pick<NewSession<unknown>, "at">, user: StillRight, call: Call): Promise<void> => {
    const { log, sql, clock } = deps;
    const found = await stillRight(sql, user);
    if (found?.hasSurplus) await signOutSurplus(deps, user.id, call);
    if (found) return;
    const row = { owner: at.owner, id: at.stream, version: at.version, created: at.time, changed: at.time };
    throw await log.append(call, [endedAt(next(row, clock()), user.id)], refuse.because("SIGN_IN_FAILED"));
  };

/** Finds the user if the sign-in is still valid, and whether they have more sessions than allowed. */
async function stillRight(sql: Sql, { id, since, isComplete }: StillRight) {
  // A statement that ends the user's sessions either sees this one and ends it, or ran first and is seen here.
  const [found] = await sql<{ hasSurplus: boolean }[]>`
    select exists (select from sessions s where s.user_id = u.user_id offset ${mostSessions}) as "hasSurplus"
    from users u left join passwords p using (user_id)
    where u.user_id = ${id} and p.changed::text is not distinct from ${since}::text and ${sql.unsafe(userInForce)}
      and (${isComplete}::boolean or not exists (
        select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes' offset 0))`;
  return found;
}
