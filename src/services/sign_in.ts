import type { JsonObject } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Call, Deps } from "../deps.ts";
import { refuse } from "../errors.ts";
import { detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import type { Sql } from "../postgres/connect.ts";
import type { PasswordBench } from "../security/password.ts";
import { evenTime } from "./even_time.ts";
import { userInForce } from "./in_force.ts";
import { replacementHash } from "./new_password.ts";
import {
  loginNameOf,
  mustChange,
  passwordGuesses,
  passwordSecret,
  passwordUserByLoginName,
  type TriedUser,
} from "./password.ts";
import { type SignInLimits, signInLimit } from "./sign_in_limit.ts";

/** A login name and a password, and the one that replaces it where it has to be changed. */
export type SignIn = {
  readonly loginName: string;
  readonly password: string;
  readonly newPassword: string | undefined;
  readonly call: Call;
};

/** The session that a right password begins: its life, its credentials, and the answer that is recorded with it. */
export type NewSession<A> = {
  readonly lifetimeSeconds: number;
  readonly browser: boolean;
  readonly secret: JsonObject;
  readonly answer: (begun: BegunSession) => A;
};

/** A session that has begun. */
export type BegunSession = {
  readonly userId: string;
  readonly sessionId: string;
  readonly details: ReturnType<typeof detailsAfter>;
  readonly expirationDate: Timestamp;
};

/** Signs a user in, or refuses. */
export type PasswordSignIn = <A>(request: SignIn, session: NewSession<A>) => Promise<A>;

/** Makes the one way to sign in by password, for calls and for pages: they share the count of failures. */
export const passwordSignIn = (deps: Deps, settings: SignInLimits): PasswordSignIn => {
  const { log, sql, clock, secrets } = deps;
  const userByLoginName = passwordUserByLoginName(sql);
  const guess = passwordGuesses(deps);
  const limited = signInLimit(settings);
  const even = evenTime(sql);

  return async <A>(request: SignIn, session: NewSession<A>): Promise<A> => {
    const { call, newPassword } = request;
    const signIn = { ...request, loginName: loginNameOf(request.loginName) };
    // The limit counts first: whoever hangs up during the wait has made a guess all the same.
    const outcome = await even(call.signal, () => limited(signIn, () => tried(signIn)));
    if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
    const { user, value } = outcome;
    if (newPassword === undefined && mustChange(user, clock())) throw refuse.because("PASSWORD_CHANGE_REQUIRED");
    const { facts, at, answer } = begun(user, value, session);
    await log.append(call, facts, answer);
    if (value.replaced === undefined && !(await isStillRight(sql, user)))
      throw await takenBack({ ...at, id: at.stream }, user, call);
    return answer;
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

  function begun<A>(user: TriedUser, { rehashed, replaced }: Hashes, session: NewSession<A>) {
    const { id: userId, owner } = user;
    const at = first(owner, deps.ids(), clock());
    const expirationDate = timestampFromDate(new Date(at.time.getTime() + session.lifetimeSeconds * 1000));
    // The fact that replaces a password counts this sign-in; of a statement's two updates of one row only one would last.
    const since = replaced === undefined ? user.since : null;
    const secret = { ...session.secret, since, ...(rehashed ? { rehashed } : {}) };
    const value = { userId, expirationDate, browser: session.browser };
    const created = factOf("session", at, { case: "created", value }, secret);
    const facts = replaced === undefined ? [created] : [passwordReplaced(user, replaced), created];
    const answer = session.answer({ userId, sessionId: at.stream, details: detailsAfter(at), expirationDate });
    return { at, facts, answer };
  }

  function passwordReplaced(user: TriedUser, hash: string) {
    const value = { byAdministrator: false };
    const at = next(user, clock());
    return factOf("user", at, { case: "passwordChanged", value }, passwordSecret(hash, user.policy));
  }

  /** Ends the new session and refuses the sign-in: the password was changed, or the user shut out, during the check. */
  async function takenBack(row: Omit<Versioned, "changed" | "created"> & { time: Date }, user: TriedUser, call: Call) {
    const at = next({ ...row, created: row.time, changed: row.time }, clock());
    const ended = factOf("session", at, { case: "ended", value: { userId: user.id } });
    return log.append(call, [ended], refuse.because("SIGN_IN_FAILED"));
  }
};

/** The hash of the same password at another cost, or of the one that replaces it. */
type Hashes = { readonly rehashed?: string; readonly replaced?: string };

/** Whether the user may still sign in with the password that was checked. */
async function isStillRight(sql: Sql, { id, since }: TriedUser): Promise<boolean> {
  // A statement that ends the user's sessions either sees this one and ends it, or came first and is seen here.
  const rows = await sql`
    select from passwords p join users u using (user_id)
    where p.user_id = ${id} and p.changed::text = ${since} and ${sql.unsafe(userInForce)}`;
  return rows.length > 0;
}
