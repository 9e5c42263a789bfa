import type { ServiceImpl } from "@connectrpc/connect";
import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import {
  ChangeEmailRequestSchema,
  ResendEmailCodeRequestSchema,
  type UserService,
} from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { emailCodeMatches } from "../../security/mailed_secret.ts";
import { qualifiedName } from "../callers/login_name.ts";
import { endingOutgrownCodes } from "../members/ended_by_role.ts";
import { wrongInEmail } from "../verification/email_address.ts";
import { languageOfMail, type MailSettings } from "../verification/mail.ts";
import { dropMailCodes, keepMailCode, newEmailCode, reserveEmailAttempt } from "../verification/mail_code.ts";
import { type MailSends, mailSendsColumns, refuseTooManyMails } from "../verification/mail_limits.ts";
import { type NoticeSettings, noticeSeconds, sendNotice } from "../verification/notice.ts";
import {
  asksForCode,
  exclusive,
  type Modes,
  refuseChange,
  type VerifiableUser,
  verifiableColumns,
  withoutCreation,
  wrongCodes,
} from "../verification/verification.ts";
import { touchUser } from "../writing/touch_user.ts";
import { emailRestored, emailSetter, type FormerAddress, keepUndoCode, noticeOfChange } from "./email_undo.ts";

export const userEmail = (deps: Deps, settings: NoticeSettings) => {
  const { log, sql, clock } = deps;
  const userToChange = emailRead(sql, settings);
  const codeFor = codeMaker(deps, settings);
  const verify = emailVerification(deps, settings);
  const noticeFor = noticeOfChange(deps, settings);
  const outgrownEnd = endingOutgrownCodes(deps);

  return {
    async changeEmail(request, call) {
      const { email, isVerified = false } = request;
      const user = await userOf(request.userId, call, email);
      refuseChange(user, { isSame: user.email === email, modes: request, reason: "EMAIL_UNCHANGED" });
      const verified = isVerified || keepsVerification(user, request);
      const code = verified ? undefined : codeFor(user, email, { call, ...request });
      const at = next(user, clock());
      const value = { email, verified, ...code?.named };
      const secret = { ...code?.secret, ...(await noticeFor(user, call)) };
      const changed = factOf("user", at, { case: "emailChanged", value }, secret);
      const appended = log.append(call, [changed], { details: withoutCreation(at), ...code?.answered });
      return code ? appended.then(outgrownEnd(user.id, call)) : appended;
    },

    verifyEmail: ({ userId, verificationCode: code }, call) =>
      verify({ owner: organizationOf(call), userId, code }, call),

    async resendEmailCode(request, call) {
      const user = await userOf(request.userId, call);
      const email = refuseUnverifiable(user);
      const { named, secret, answered } = codeFor(user, email, { call, ...request });
      const at = next(user, clock());
      const requested = factOf("user", at, { case: "emailCodeRequested", value: named }, secret);
      return log.append(call, [requested], { details: detailsAfter(at), ...answered }).then(outgrownEnd(user.id, call));
    },
  } satisfies Partial<ServiceImpl<typeof UserService>>;

  async function userOf(id: string, call: Call, email: string | null = null): Promise<UserWithEmail> {
    const { sessionId: session = null } = callerOf(call);
    const user = await userToChange({ owner: organizationOf(call), id, email, session }, call.signal);
    if (!user) throw refuse.notFound("user", id);
    return user;
  }
};

/** Whether a change of a verified address is only a different spelling. Mail servers ignore case, and so do resets. */
const keepsVerification = (user: UserWithEmail, { email, ...modes }: Modes & { readonly email: string }): boolean =>
  user.verified && user.email?.toLowerCase() === email.toLowerCase() && !asksForCode(modes);

export type EmailProof = { readonly owner: string; readonly userId: string; readonly code: string };

/** Makes the only function that verifies an address by a code, for calls and pages. */
export function emailVerification(deps: Deps, settings: MailSettings) {
  const { log, sql, clock, secrets } = deps;
  const refuseWrong = wrongCodes(deps);
  const userToVerify = emailRead(sql, settings);
  return async ({ owner, userId, code }: EmailProof, call: Call) => {
    const user = await userToVerify({ owner, id: userId, email: null, session: null }, call.signal);
    if (!user) throw refuse.notFound("user", userId);
    refuseUnverifiable(user);
    const tried = await reserveEmailAttempt(sql, userId, clock());
    const isRight = tried && emailCodeMatches(secrets.keyring, { ...tried, userId }, code);
    refuseWrong(user, { isRight, purpose: CodePurpose.EMAIL, call });
    const at = next(user, clock());
    const value = tried?.wasMailed ? { byMail: true } : {};
    const verified = factOf("user", at, { case: "emailVerified", value });
    return log.append(call, [verified], { details: detailsAfter(at) });
  };
}

const setEmail = `email = f.payload->>'email', email_verified = (f.payload->>'verified')::boolean, email_setter = f.actor,
  proven_email = case when t.proven_email = lower(f.payload->>'email') then t.proven_email end`;

const byMail = `email_verified = true,
  proven_email = case when (f.payload->>'byMail')::boolean then lower(t.email) else t.proven_email end`;

/** The folds of facts about a user's email address: they write its row, its code and the mail with it. */
export const emailFolds = {
  emailChanged: {
    views: [touchUser(setEmail)],
    unknownBefore: { table: "users", column: "email_setter" },
    credentials: [
      ...keepMailCode,
      ...keepUndoCode,
      ...sendNotice("i.stream"),
      ...dropMailCodes("password", "sign_in"),
      // Sign-ins that a code to the former address began.
      `delete from pending_sessions p using $input i where p.user_id = i.stream and p.method = 'otp'`,
      `delete from mail_codes c using $input i
       where c.user_id = i.stream and c.purpose = 'email' and i.secret->'mailCode' is null`,
    ],
  },
  emailCodeRequested: { views: [touchUser()], credentials: keepMailCode },
  emailVerified: {
    views: [touchUser(byMail)],
    unknownBefore: { table: "users", column: "proven_email" },
    credentials: dropMailCodes("email"),
  },
  emailRestored,
} satisfies Pick<NounFolds<"user">, "emailChanged" | "emailCodeRequested" | "emailVerified" | "emailRestored">;

type UserWithEmail = VerifiableUser & MailSends & FormerAddress;

/** Reads a user's address, its code, and how much of the sending limits is used: for a new address, or else the user's. */
const emailRead = (sql: Sql, settings: MailSettings) =>
  loadOne<{ owner: string; id: string; email: string | null; session: string | null }, UserWithEmail>(sql, {
    asked: "owner text, id text, email text, session text",
    select: `select n, ${verifiableColumns}, u.email_verified as verified, ${qualifiedName("u")} as "qualifiedName", u.email,
      ${emailSetter} as "emailSetter",
      (select s.amr from sessions s where s.session_id = asked.session) as amr,
      exists (select from factors f where f.user_id = u.user_id and f.created < now() - make_interval(secs => ${noticeSeconds}))
        as "hasOldFactor",
      (select count(*)::integer from mail_codes o where o.user_id = u.user_id and o.purpose = 'undo') as undoable,
      ${mailSendsColumns({ user: "u.user_id", email: "coalesce(asked.email, u.email)", purpose: "email" }, settings)}
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id
      left join mail_codes c on c.user_id = u.user_id and c.purpose = 'email'`,
  });

type CodeRequest = Pick<Modes, "returnCode"> & { readonly call: Call };

/** Makes a code for the user's address: the id in its fact, its secret, and its part of the response. */
function codeMaker(deps: Deps, settings: MailSettings) {
  return (user: UserWithEmail, email: string, { call, returnCode }: CodeRequest) => {
    const of = { id: deps.ids(), userId: user.id, email };
    if (returnCode !== undefined) {
      const { code, secret } = newEmailCode(deps, of);
      return { named: {}, secret, answered: { verificationCode: code } };
    }
    if (!user.active) throw refuse.because("USER_INACTIVE");
    refuseTooManyMails(user, settings, deps.clock());
    const language = languageOfMail(call, settings);
    const { secret } = newEmailCode(deps, of, { loginName: user.qualifiedName, language, nth: user.nth });
    return { named: { emailCodeId: of.id }, secret, answered: {} };
  };
}

export const emailRules = [
  messageRule(ChangeEmailRequestSchema, (request) => [...wrongInEmail(request.email), ...exclusive(request)]),
  messageRule(ResendEmailCodeRequestSchema, exclusive),
];

function refuseUnverifiable({ id, email, verified }: UserWithEmail): string {
  if (email === null) throw refuse.because("USER_NOT_HUMAN", { params: { id } });
  if (verified) throw refuse.because("EMAIL_VERIFIED");
  return email;
}
