import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { SessionService } from "../../../gen/postern/v1/session_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type AskedCode, openAskedCode, sealAskedCode, signInCodeMatches } from "../../security/mailed_secret.ts";
import type { PublicSettings } from "../../security/passkey.ts";
import { nameKey, type TypedName } from "../callers/login_name.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { forNobody, keepMailRequest } from "../passwords/mail_request.ts";
import { newPasswordHash } from "../passwords/new_password.ts";
import { isLocked, type PasswordUser, passwordColumns } from "../passwords/password.ts";
import type { ResetSettings } from "../passwords/password_reset.ts";
import { signInCodeSeconds, takesMailCodes } from "../passwords/sign_in_mail.ts";
import { languageOfMail } from "../verification/mail.ts";
import { codeAttempts } from "../verification/verification.ts";
import { afterFirstStep, refuseUnchanged, type SignInOutcome } from "./first_step.ts";
import { callSession, type SessionKind, type SessionLifetime } from "./new_session.ts";
import { challengeOver, type Hashes } from "./pending_session.ts";

/** The token of a sign-in by mail and the code in the mail, with a replacement if the password has to be changed. */
type MailedCode = Readonly<Record<"challengeToken" | "code", string>> & {
  readonly newPassword: string | undefined;
  readonly call: Call;
};

/** Sign-in with a mailed code, for calls and pages. */
export type MailSignIn = {
  /** Asks for the mail. The response is the same whether or not anybody gets one. */
  readonly start: (asked: AskedMail, call: Call) => Promise<StartedSignIn>;
  readonly complete: <A>(code: MailedCode, kind: SessionKind<A>) => Promise<SignInOutcome<A>>;
};

/** The text typed as the login name, and the hashes of the cookies by which the browser may be known; empty for a call. */
type AskedMail = TypedName & { readonly browsers: readonly string[] };

type StartedSignIn = { readonly challengeToken: string; readonly until: Date };

export type MailSignInSettings = PublicSettings & ResetSettings;

/** Makes the only function that signs a user in with a mailed code. */
export const mailSignIn = (deps: Deps, settings: MailSignInSettings): MailSignIn => {
  const { sql, clock, ids, secrets, failureRate, noteAttempt } = deps;
  const requests = failureRate("sign-in mails", settings.passwordResetsPerAddressPerMinute);
  const guesses = failureRate("mailed codes of sign-ins", settings.signInFailuresPerAddressPerMinute);
  const userOf = userOfCode(sql);
  const after = afterFirstStep(deps, settings);

  return {
    async start({ browsers, ...typed }, call) {
      countNetwork(requests, call);
      const { login_name: name, organization: organizationId } = nameKey(typed);
      const asked = { id: ids(), until: new Date(clock().getTime() + signInCodeSeconds * 1000) };
      const of = { ...forNobody, signInName: name, organizationId };
      await keepMailRequest(sql, { id: asked.id, of, language: languageOfMail(call, settings), browsers }, call);
      return { challengeToken: sealAskedCode(secrets.keyring, asked), until: asked.until };
    },

    async complete({ challengeToken, code, newPassword, call }, kind) {
      const uncount = countNetwork(guesses, call);
      const asked = openAskedCode(secrets.keyring, challengeToken);
      if (!asked || asked.until <= clock()) throw challengeOver("challengeToken");
      const user = await guessed(asked, code, call);
      uncount();
      await giveBack(sql, asked);
      refuseUnchanged(user, newPassword, clock());
      const hashes = await hashesOf(user, newPassword, call);
      return after({ user, hashes, method: "otp", isKnown: false, usedCode: asked, call }, kind);
    },
  };

  /** Finds the user of a code. The guess is counted before the code is compared, whether or not there is one. */
  async function guessed(asked: AskedCode, code: string, call: Call): Promise<PasswordUser> {
    const isLeft = await countGuess(sql, asked);
    const user = await userOf({ id: asked.id, now: clock().toISOString() }, call.signal);
    if (isLeft && user && !isLocked(user, clock())) {
      const { mac, email } = user;
      if (signInCodeMatches(secrets.keyring, { id: asked.id, userId: user.id, email, mac }, code)) return user;
    }
    noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.SIGN_IN } }, user, call);
    throw isLeft ? wrongCode() : noGuessLeft(asked, clock());
  }

  async function hashesOf(user: PasswordUser, newPassword: string | undefined, call: Call): Promise<Hashes> {
    return newPassword === undefined
      ? {}
      : { replaced: await newPasswordHash(secrets, { user, password: newPassword, call }) };
  }
};

export const mailSessions = (options: SessionLifetime & { readonly mails: MailSignIn }) =>
  ({
    async startMailSession({ loginName, organizationId }, call) {
      const { challengeToken, until } = await options.mails.start({ loginName, organizationId, browsers: [] }, call);
      return { challengeToken, expirationDate: timestampFromDate(until) };
    },

    async createMailSession({ challengeToken, verificationCode: code, newPassword }, call) {
      const kind = callSession(options);
      const outcome = await options.mails.complete(
        { challengeToken, code, newPassword, call },
        { ...kind, answer: (begun) => ({ ...kind.answer(begun), enrolmentOnly: begun.enrolmentOnly }) },
      );
      return "pending" in outcome ? outcome : outcome.answer;
    },
  }) satisfies Partial<ServiceImpl<typeof SessionService>>;

function wrongCode() {
  const reason = "CODE_INVALID";
  return refuse.because(reason, { violations: [{ field: "verificationCode", text: "CODE_NOT_IN_FORCE", reason }] });
}

const noGuessLeft = ({ until }: AskedCode, now: Date) =>
  refuse.because("CODE_ATTEMPTS", { retrySeconds: Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000)) });

const subjectOf = ({ id }: AskedCode): string => `code ${id}`;

/** Counts a guess across all nodes, even if no code was mailed, so that it costs the same; returns whether it was one too many. */
async function countGuess(sql: Sql, asked: AskedCode): Promise<boolean> {
  const counted = await sql`
    insert into sign_in_failures as s (subject, failures, waits, expiration_date)
    values (${subjectOf(asked)}, 1, 0, ${asked.until})
    on conflict (subject) do update set failures = s.failures + 1 where s.failures < ${codeAttempts}
    returning 1`;
  return counted.length > 0;
}

/** Takes back the guess of a correct code, which may have to be sent again with a new password. */
const giveBack = (sql: Sql, asked: AskedCode) => sql`
  update sign_in_failures set failures = failures - 1 where subject = ${subjectOf(asked)} and failures > 0`;

type UserOfCode = PasswordUser & { readonly mac: Uint8Array; readonly email: string };

/** Finds the user of a code that is still valid for the address that it was mailed to. */
const userOfCode = (sql: Sql) =>
  loadOne<{ id: string; now: string }, UserOfCode>(sql, {
    asked: "id text, now timestamptz",
    select: `select n, ${passwordColumns}, c.mac, c.email
             from asked join mail_codes c on c.mail_code_id = asked.id and c.purpose = 'sign_in' and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and ${takesMailCodes} and lower(c.email) = lower(u.email)
             left join passwords p on p.user_id = u.user_id`,
  });
