import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { relyingParty } from "../../security/passkey.ts";
import type { PasswordBench } from "../../security/password.ts";
import type { TypedName } from "../callers/login_name.ts";
import { factorRefusals } from "../factors/factor_refusal.ts";
import { provenPasskey } from "../factors/passkey_proof.ts";
import { evenTime } from "../passwords/even_time.ts";
import { replacementHash } from "../passwords/new_password.ts";
import { passwordUserRead, type TriedUser } from "../passwords/password.ts";
import { passwordGuesses } from "../passwords/password_guess.ts";
import { type SignInCompletion, signInCompletion } from "./complete_session.ts";
import { afterFirstStep, refuseUnchanged, type SignInOutcome } from "./first_step.ts";
import { type LinkSignIn, linkSignIn } from "./link_session.ts";
import { type MailSignIn, type MailSignInSettings, mailSignIn } from "./mail_session.ts";
import type { SessionKind } from "./new_session.ts";
import { type PasskeySignIn, passkeySignIn } from "./passkey_session.ts";
import { type Hashes, type PendingSessions, pendingSessions } from "./pending_session.ts";
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

export type PasswordSignIn = <A>(request: SignIn, kind: SessionKind<A>) => Promise<SignInOutcome<A>>;

/** The steps of signing in, shared by calls and pages. */
export type SignIns = {
  readonly signIn: PasswordSignIn;
  readonly complete: SignInCompletion;
  readonly passkeys: PasskeySignIn;
  readonly mails: MailSignIn;
  readonly links: LinkSignIn;
  readonly pending: PendingSessions;
  readonly counts: SignInCounts;
};

type SignInSettings = SignInLimits & MailSignInSettings;

export function signInsOf(deps: Deps, settings: SignInSettings): SignIns {
  const record = factorRefusals(deps);
  const counts = signInCounts();
  const proof = provenPasskey(deps, relyingParty(settings), record);
  return {
    signIn: passwordSignIn(deps, { ...settings, counts }),
    complete: signInCompletion(deps, { settings, proof, record }),
    passkeys: passkeySignIn(deps, { settings, proof }),
    mails: mailSignIn(deps, settings),
    links: linkSignIn(deps, settings),
    pending: pendingSessions(deps, settings),
    counts,
  };
}

/** Makes the only function that signs a user in by password, so that calls and pages share the count of failures. */
const passwordSignIn = (deps: Deps, settings: SignInSettings & { readonly counts: SignInCounts }): PasswordSignIn => {
  const { sql, clock, secrets } = deps;
  const userById = passwordUserRead(sql);
  const guess = passwordGuesses(deps);
  const limited = signInLimit(deps, settings);
  const even = evenTime(sql);
  const after = afterFirstStep(deps, settings);

  return async <A>(request: SignIn, kind: SessionKind<A>): Promise<SignInOutcome<A>> => {
    const { call, newPassword } = request;
    // The limit wraps the wait: a caller who hangs up during it has still made a guess.
    const outcome = await even(call.signal, () => limited(request, (found) => tried(request, found)));
    if (outcome.is === "waiting") throw passwordAttempts(outcome.until.getTime() - clock().getTime());
    if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
    const { user, value } = outcome;
    refuseUnchanged(user, newPassword, clock());
    return after({ user, ...value, method: "pwd", call }, kind);
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
};
