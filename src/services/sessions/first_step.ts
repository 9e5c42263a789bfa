import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { PublicSettings } from "../../security/passkey.ts";
import { hasFullFactor } from "../factors/factor_read.ts";
import { changeReason, type PasswordUser } from "../passwords/password.ts";
import { isEnrolmentOff, isFactorRequired } from "../policies/factor_policy.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import {
  confirmedSessions,
  type FirstMethod,
  newSessions,
  passwordReplaced,
  type SessionKind,
  type UsedCode,
} from "./new_session.ts";
import { type Hashes, type PendingSession, pendingSessions } from "./pending_session.ts";

/** The outcome of a correct first step: a session's response, or a sign-in that waits for a factor. */
export type SignInOutcome<A> = { readonly answer: A } | { readonly pending: PendingSession };

/** A user who took the first step of a sign-in, by password or with a mailed code. */
export type FirstStep = {
  readonly user: PasswordUser;
  readonly hashes: Hashes;
  readonly method: FirstMethod;
  /** Whether it came from a known browser. */
  readonly isKnown: boolean;
  /** The code that it uses up. */
  readonly usedCode?: UsedCode | undefined;
  readonly call: Call;
};

/** Refuses a sign-in without a new password if the user has to change the current one. */
export function refuseUnchanged(user: PasswordUser, newPassword: string | undefined, now: Date): void {
  if (newPassword === undefined && changeReason(user, now) !== undefined)
    throw refuse.because("PASSWORD_CHANGE_REQUIRED");
}

/** Makes the second step of every sign-in: a question for a second factor, or a session. */
export const afterFirstStep = (deps: Deps, settings: PublicSettings & NoticeSettings) => {
  const { log, clock } = deps;
  const pending = pendingSessions(deps, settings);
  const sessionOf = newSessions(deps);
  const notice = notices(deps, settings);
  const confirm = confirmedSessions(deps);

  return async <A>(step: FirstStep, kind: SessionKind<A>): Promise<SignInOutcome<A>> => {
    if (hasFullFactor(step.user.factorKinds)) return { pending: await pending.begin(step, step.call) };
    return { answer: await signedIn(step, kind) };
  };

  /** Signs in a user without a factor. If one is required, the session may only enrol it, for which a browser needs pages. */
  async function signedIn<A>({ user, hashes, method, usedCode, call }: FirstStep, kind: SessionKind<A>): Promise<A> {
    const { rehashed, replaced } = hashes;
    const enrolmentOnly = enrolmentReason(user, kind) !== undefined;
    if (enrolmentOnly && kind.browser && !kind.enrolment) throw refuse.because("FACTOR_ENROLMENT_REQUIRED");
    // The fact that replaces a password already counts this sign-in.
    const since = replaced === undefined ? user.since : null;
    const amr = method === "pwd" ? [] : [method];
    const made = sessionOf({ ...user, since }, { amr, enrolmentOnly, rehashed, usedCode }, kind);
    const facts =
      replaced === undefined
        ? []
        : [passwordReplaced(user, replaced, { now: clock(), notice: notice("password_changed", call), method })];
    await log.append(call, [...facts, made.created], made.answer);
    if (replaced === undefined) await confirm(made, { ...user, isComplete: false }, call);
    return made.answer;
  }
};

/** The reason why a user without a factor may only enrol one: this user must have one, or the policy or the application requires it. */
export function enrolmentReason(
  user: Pick<PasswordUser, "policy" | "requiresFactor" | "isAdministrator">,
  { enrolment }: Pick<SessionKind<unknown>, "enrolment">,
): "user" | "policy" | "application" | undefined {
  const { factorRequirement } = user.policy;
  if (user.requiresFactor) return "user";
  if (isFactorRequired(factorRequirement, user)) return "policy";
  return enrolment === "wanted" && !isEnrolmentOff(factorRequirement) ? "application" : undefined;
}
