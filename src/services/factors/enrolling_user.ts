import { type Call, callerOf, type Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { factOf, type NewFact, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { isMultiFactor } from "../callers/authentication_class.ts";
import { isEnrolmentOff } from "../policies/factor_policy.ts";
import { policyOfUserColumn } from "../policies/policy.ts";
import { type FactorRow, factorsRead, isFullFactor } from "./factor_read.ts";

export type EnrollingUser = {
  readonly owner: string;
  readonly id: string;
  readonly kind: string;
  readonly username: string;
  readonly displayName: string;
  readonly requiresFactor: boolean;
  readonly policy: { readonly factorRequirement: string };
  readonly session: (Versioned & { readonly amr: readonly string[] }) | undefined;
  readonly factors: readonly FactorRow[];
};

type Row = Omit<EnrollingUser, "session" | "factors"> & {
  readonly sessionId: string | null;
  readonly amr: readonly string[];
} & Pick<Versioned, "version" | "created" | "changed">;

export function enrollingUser({ sql }: Pick<Deps, "sql">): (call: Call) => Promise<EnrollingUser> {
  const userOf = userRead(sql);
  const factorsOf = factorsRead(sql);
  return async (call) => {
    const { userId, sessionId = null } = callerOf(call);
    const row = await userOf({ user: userId, session: sessionId }, call.signal);
    if (!row) throw refuse.notFound("user", userId);
    const { owner, id, kind, username, displayName, requiresFactor, policy } = row;
    const factors = await factorsOf({ owner, user: id }, call.signal);
    return { owner, id, kind, username, displayName, requiresFactor, policy, session: sessionOf(row), factors };
  };
}

function sessionOf({ owner, sessionId, amr, version, created, changed }: Row): EnrollingUser["session"] {
  return sessionId === null ? undefined : { owner, id: sessionId, amr, version, created, changed };
}

const userRead = (sql: Sql) =>
  loadOne<{ user: string; session: string | null }, Row>(sql, {
    asked: `"user" text, session text`,
    select: `select n, u.owner, u.user_id as id, u.kind, u.username, concat_ws(' ', u.given_name, u.family_name) as "displayName",
               u.requires_factor as "requiresFactor", ${policyOfUserColumn("u")} as policy, s.session_id as "sessionId", s.amr,
               s.version, s.created, s.changed
             from asked join users u on u.user_id = asked."user"
             left join sessions s on s.session_id = asked.session and s.user_id = u.user_id`,
  });

/** Refuses machines, and enrolments that the factor policy does not allow. Users who are required to have a factor may always enrol one. */
export function refuseEnrolment({ id, kind, requiresFactor, policy }: EnrollingUser): void {
  if (kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id } });
  if (isEnrolmentOff(policy.factorRequirement) && !requiresFactor) throw refuse.because("FACTORS_OFF");
}

/** Refuses to complete an enrolment in a password-only session if a factor has been added in another session meanwhile. */
export function refuseWithoutFactor({ session, factors }: EnrollingUser): void {
  if (factors.some(isFullFactor) && !isMultiFactor(session?.amr ?? [])) throw refuse.because("SIGN_IN_NOT_FRESH");
}

/**
 * The fact that a user confirmed a second factor in a session begun with one. If the session could only enrol, the restriction is lifted.
 */
export function unrestricted({ session, id: userId }: EnrollingUser, methods: string[], now: Date): NewFact[] {
  if (!session || isMultiFactor(session.amr)) return [];
  const amr = [...new Set([...session.amr, ...methods])];
  return [factOf("session", next(session, now), { case: "unrestricted", value: { userId, amr } })];
}
