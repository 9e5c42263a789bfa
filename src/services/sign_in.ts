import type { Call, Deps } from "../deps.ts";
import { refuse } from "../errors.ts";
import { relyingParty } from "../security/passkey.ts";
import type { PasswordBench } from "../security/password.ts";
import { type SignInCompletion, signInCompletion } from "./complete_session.ts";
import type { FactorSettings } from "./enrolling_user.ts";
import { evenTime } from "./even_time.ts";
import { isEnrolmentOff, isFactorRequired } from "./factor_policy.ts";
import { isFullFactor } from "./factor_read.ts";
import { factorRefusals } from "./factor_refusal.ts";
import { replacementHash } from "./new_password.ts";
import { confirmedSessions, newSessions, passwordReplaced, type SessionKind } from "./new_session.ts";
import { provenPasskey } from "./passkey_proof.ts";
import { type PasskeySignIn, passkeySignIn } from "./passkey_session.ts";
import { loginNameOf, mustChange, passwordUserByLoginName, type TriedUser } from "./password.ts";
import { passwordGuesses } from "./password_guess.ts";
import { type Hashes, type PendingSession, type PendingSessions, pendingSessions } from "./pending_session.ts";
import { type SignInLimits, signInLimit } from "./sign_in_limit.ts";

/** A login name and a password, and the one that replaces it where it has to be changed. */
export type SignIn = {
  readonly loginName: string;
  readonly password: string;
  readonly newPassword: string | undefined;
  readonly call: Call;
};

/** The outcome of a right password: the answer of a session, or a sign-in that waits for a factor. */
export type SignInOutcome<A> = { readonly answer: A } | { readonly pending: PendingSession };

/** Signs a user in, or refuses. */
export type PasswordSignIn = <A>(request: SignIn, kind: SessionKind<A>) => Promise<SignInOutcome<A>>;

/** The steps of signing in, which calls and pages share. */
export type SignIns = {
  readonly signIn: PasswordSignIn;
  readonly complete: SignInCompletion;
  readonly passkeys: PasskeySignIn;
  readonly pending: PendingSessions;
};

/** Makes the steps of signing in. */
export function signInsOf(deps: Deps, settings: SignInLimits & FactorSettings): SignIns {
  const record = factorRefusals(deps);
  const proof = provenPasskey(deps, relyingParty(settings), record);
  return {
    signIn: passwordSignIn(deps, settings),
    complete: signInCompletion(deps, { settings, proof, record }),
    passkeys: passkeySignIn(deps, { settings, proof }),
    pending: pendingSessions(deps, settings),
  };
}

/** Makes the one way to sign in by password, for calls and for pages: they share the count of failures. */
const passwordSignIn = (deps: Deps, settings: SignInLimits & FactorSettings): PasswordSignIn => {
  const { log, sql, clock, secrets } = deps;
  const userByLoginName = passwordUserByLoginName(sql);
  const guess = passwordGuesses(deps);
  const limited = signInLimit(settings, deps.failureRate);
  const even = evenTime(sql);
  const pending = pendingSessions(deps, settings);
  const sessionOf = newSessions(deps);
  const confirm = confirmedSessions(deps);

  return async <A>(request: SignIn, kind: SessionKind<A>): Promise<SignInOutcome<A>> => {
    const { call, newPassword } = request;
    const signIn = { ...request, loginName: loginNameOf(request.loginName) };
    // The limit counts first: whoever hangs up during the wait has made a guess all the same.
    const outcome = await even(call.signal, () => limited(signIn, () => tried(signIn)));
    if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
    const { user, value } = outcome;
    if (newPassword === undefined && mustChange(user, clock())) throw refuse.because("PASSWORD_CHANGE_REQUIRED");
    if (user.factorKinds.some((kind) => isFullFactor({ kind })))
      return { pending: await pending.begin(user, value, call) };
    return { answer: await signedIn({ user, hashes: value, call }, kind) };
  };

  async function tried({ loginName, password, newPassword, call }: SignIn) {
    const user = await userByLoginName({ login_name: loginName }, call.signal);
    const whenRight = async (bench: PasswordBench, user: TriedUser): Promise<Hashes> => {
      if (newPassword !== undefined)
        return { replaced: await replacementHash(secrets, { bench, user, oldPassword: password, newPassword }) };
      return secrets.passwords.needsRehash(user.hash) ? { rehashed: await bench.hash(password) } : {};
    };
    return guess({ password, call, whenRight }, user);
  }

  /** Signs a user without a factor in; where one is wanted, only to enrol it, for which a browser needs pages. */
  async function signedIn<A>({ user, hashes: { rehashed, replaced }, call }: RightPassword, kind: SessionKind<A>) {
    const enrolmentOnly = mustEnrol(user, kind);
    if (enrolmentOnly && kind.browser && !kind.enrolment) throw refuse.because("FACTOR_ENROLMENT_REQUIRED");
    // The fact that replaces a password counts this sign-in.
    const since = replaced === undefined ? user.since : null;
    const made = sessionOf({ ...user, since }, { amr: [], enrolmentOnly, rehashed }, kind);
    const facts = replaced === undefined ? [] : [passwordReplaced(user, replaced, clock())];
    await log.append(call, [...facts, made.created], made.answer);
    if (replaced === undefined) await confirm(made, { ...user, isComplete: false }, call);
    return made.answer;
  }
};

/** Whether a user without a factor may only enrol one. */
function mustEnrol(user: TriedUser, { enrolment }: Pick<SessionKind<unknown>, "enrolment">): boolean {
  const { factorRequirement } = user.policy;
  return isFactorRequired(factorRequirement, user) || (enrolment === "wanted" && !isEnrolmentOff(factorRequirement));
}

type RightPassword = { readonly user: TriedUser; readonly hashes: Hashes; readonly call: Call };
