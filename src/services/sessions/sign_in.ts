import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type PublicSettings, relyingParty } from "../../security/passkey.ts";
import type { PasswordBench } from "../../security/password.ts";
import type { TypedName } from "../callers/login_name.ts";
import { isFullFactor } from "../factors/factor_read.ts";
import { factorRefusals } from "../factors/factor_refusal.ts";
import { provenPasskey } from "../factors/passkey_proof.ts";
import { evenTime } from "../passwords/even_time.ts";
import { replacementHash } from "../passwords/new_password.ts";
import { mustChange, passwordUserRead, type TriedUser } from "../passwords/password.ts";
import { passwordGuesses } from "../passwords/password_guess.ts";
import { isEnrolmentOff, isFactorRequired } from "../policies/factor_policy.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { type SignInCompletion, signInCompletion } from "./complete_session.ts";
import { confirmedSessions, newSessions, passwordReplaced, type SessionKind } from "./new_session.ts";
import { type PasskeySignIn, passkeySignIn } from "./passkey_session.ts";
import { type Hashes, type PendingSession, type PendingSessions, pendingSessions } from "./pending_session.ts";
import { type SignInCounts, signInCounts } from "./sign_in_counts.ts";
import { type FoundUser, passwordAttempts, type SignInLimits, signInLimit } from "./sign_in_limit.ts";

/** A login name or an address and a password, and a replacement if the password has to be changed. */
export type SignIn = TypedName & {
  readonly password: string;
  readonly newPassword: string | undefined;
  /** The hashes of the cookies by which the browser may be known; empty for a call. */
  readonly browsers: readonly string[];
  readonly call: Call;
};

/** The outcome of a correct password: a session's response, or a sign-in that waits for a factor. */
export type SignInOutcome<A> = { readonly answer: A } | { readonly pending: PendingSession };

export type PasswordSignIn = <A>(request: SignIn, kind: SessionKind<A>) => Promise<SignInOutcome<A>>;

/** The steps of signing in, shared by calls and pages. */
export type SignIns = {
  readonly signIn: PasswordSignIn;
  readonly complete: SignInCompletion;
  readonly passkeys: PasskeySignIn;
  readonly pending: PendingSessions;
  readonly counts: SignInCounts;
};

type SignInSettings = SignInLimits & PublicSettings & NoticeSettings;

export function signInsOf(deps: Deps, settings: SignInSettings): SignIns {
  const record = factorRefusals(deps);
  const counts = signInCounts();
  const proof = provenPasskey(deps, relyingParty(settings), record);
  return {
    signIn: passwordSignIn(deps, { ...settings, counts }),
    complete: signInCompletion(deps, { settings, proof, record }),
    passkeys: passkeySignIn(deps, { settings, proof }),
    pending: pendingSessions(deps, settings),
    counts,
  };
}

/** Makes the only function that signs a user in by password, so that calls and pages share the count of failures. */
const passwordSignIn = (deps: Deps, settings: SignInSettings & { readonly counts: SignInCounts }): PasswordSignIn => {
  const { log, sql, clock, secrets } = deps;
  const userById = passwordUserRead(sql);
  const guess = passwordGuesses(deps);
  const limited = signInLimit(deps, settings);
  const even = evenTime(sql);
  const pending = pendingSessions(deps, settings);
  const sessionOf = newSessions(deps);
  const notice = notices(deps, settings);
  const confirm = confirmedSessions(deps);

  return async <A>(request: SignIn, kind: SessionKind<A>): Promise<SignInOutcome<A>> => {
    const { call, newPassword } = request;
    // The limit wraps the wait: a caller who hangs up during it has still made a guess.
    const outcome = await even(call.signal, () => limited(request, (found) => tried(request, found)));
    if (outcome.is === "waiting") throw passwordAttempts(outcome.until.getTime() - clock().getTime());
    if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
    const { user, value } = outcome;
    if (newPassword === undefined && mustChange(user, clock())) throw refuse.because("PASSWORD_CHANGE_REQUIRED");
    if (user.factorKinds.some((kind) => isFullFactor({ kind })))
      return { pending: await pending.begin({ user, ...value }, call) };
    return { answer: await signedIn({ user, hashes: value.hashes, call }, kind) };
  };

  async function tried(request: SignIn, { userId, owner, browser }: FoundUser) {
    const { password, newPassword, call } = request;
    // Asked even if nobody was found, so that it costs the same.
    const user = await userById({ owner: owner ?? "", id: userId ?? "" }, call.signal);
    const hashesOf = async (bench: PasswordBench, user: TriedUser): Promise<Hashes> => {
      if (newPassword !== undefined)
        return { replaced: await replacementHash(secrets, { bench, user, oldPassword: password, newPassword }) };
      return secrets.passwords.needsRehash(user.hash) ? { rehashed: await bench.hash(password) } : {};
    };
    const whenRight = async (bench: PasswordBench, user: TriedUser) => ({
      hashes: await hashesOf(bench, user),
      isKnown: browser !== undefined,
    });
    return guess({ password, call, browser, whenRight }, user);
  }

  /** Signs in a user without a factor. If one is required, the session may only enrol it, for which a browser needs pages. */
  async function signedIn<A>({ user, hashes: { rehashed, replaced }, call }: RightPassword, kind: SessionKind<A>) {
    const enrolmentOnly = mustEnrol(user, kind);
    if (enrolmentOnly && kind.browser && !kind.enrolment) throw refuse.because("FACTOR_ENROLMENT_REQUIRED");
    // The fact that replaces a password already counts this sign-in.
    const since = replaced === undefined ? user.since : null;
    const made = sessionOf({ ...user, since }, { amr: [], enrolmentOnly, rehashed }, kind);
    const facts =
      replaced === undefined
        ? []
        : [passwordReplaced(user, replaced, { now: clock(), notice: notice("password_changed", call) })];
    await log.append(call, [...facts, made.created], made.answer);
    if (replaced === undefined) await confirm(made, { ...user, isComplete: false }, call);
    return made.answer;
  }
};

/** Whether a user without a factor may only enrol one. */
function mustEnrol(user: TriedUser, { enrolment }: Pick<SessionKind<unknown>, "enrolment">): boolean {
  const { factorRequirement } = user.policy;
  return (
    user.requiresFactor ||
    isFactorRequired(factorRequirement, user) ||
    (enrolment === "wanted" && !isEnrolmentOff(factorRequirement))
  );
}

type RightPassword = { readonly user: TriedUser; readonly hashes: Hashes; readonly call: Call };
