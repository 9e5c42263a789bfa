import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AccountService,
  type RequestPasswordResetRequest,
  RequestPasswordResetRequestSchema,
  type ResetPasswordRequest,
} from "../../../gen/postern/v1/account_pb.ts";
import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { detailsAfter, factOf, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { passwordCodeMacs } from "../../security/mailed_secret.ts";
import { userInForce } from "../callers/in_force.ts";
import { nameKey } from "../callers/login_name.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { languageOfMail } from "../verification/mail.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { forNobody, keepMailRequest, type MailFor } from "./mail_request.ts";
import { newPasswordHash } from "./new_password.ts";
import { type PasswordUser, passwordColumns, passwordSecret } from "./password.ts";

/** The maximum number of requests and wrong codes from one address per minute on this node; 0 sets no limit. */
export type ResetSettings = NoticeSettings & {
  readonly passwordResetsPerAddressPerMinute: number;
  readonly signInFailuresPerAddressPerMinute: number;
};

/**
 * The account to reset: by its login name, its address, or a text that may be either. The organization is where a login name is looked up,
 * and, with an address alone, the only one whose accounts count.
 */
export type ResetOf = (
  | { readonly loginName: string }
  | { readonly email: string }
  | { readonly nameOrEmail: string }
) & { readonly organizationId?: string | undefined };

/** A code from a mail or a response, and the new password. */
export type CodeAndPassword = Pick<ResetPasswordRequest, "verificationCode" | "newPassword">;

/** The steps of a password reset, shared by calls and pages. */
export type PasswordResets = {
  /** Asks for a mail. The response and its timing are the same whether or not an account exists. */
  readonly request: (of: ResetOf, call: Call) => Promise<void>;
  readonly reset: (request: CodeAndPassword, call: Call) => Promise<PasswordReset>;
};

/** A password set with a code: its user, and the time that distinguishes it from a later one. */
export type PasswordReset = {
  readonly userId: string;
  readonly passwordSet: Date;
  readonly details: ReturnType<typeof detailsAfter>;
};

export const passwordResetCalls = ({ request, reset }: PasswordResets) =>
  ({
    async requestPasswordReset({ loginName, email, organizationId }, call) {
      await request({ ...(loginName === "" ? { email } : { loginName }), organizationId }, call);
      return {};
    },

    async resetPassword(code, call) {
      const { details } = await reset(code, call);
      return { details };
    },
  }) satisfies Partial<ServiceImpl<typeof AccountService>>;

export function passwordResetsOf(deps: Deps, settings: ResetSettings): PasswordResets {
  const { log, sql, clock, ids, secrets, failureRate, noteAttempt } = deps;
  const userByCode = userByCodeRead(sql);
  const notice = notices(deps, settings);
  const requests = failureRate("password resets", settings.passwordResetsPerAddressPerMinute);
  const guesses = failureRate("codes for passwords", settings.signInFailuresPerAddressPerMinute);

  return {
    async request(of, call) {
      countNetwork(requests, call);
      await keepMailRequest(sql, { id: ids(), of: mailFor(of), language: languageOfMail(call, settings) }, call);
    },

    async reset({ verificationCode, newPassword }, call) {
      const user = await userOf(verificationCode, call);
      const hash = await newPasswordHash(secrets, { user, password: newPassword, call });
      const at = next(user, clock());
      const value = { byAdministrator: false, byCode: true, emailVerified: user.wasMailed };
      const secret = { ...passwordSecret(hash, user.policy), ...notice("password_changed", call) };
      const changed = factOf("user", at, { case: "passwordChanged", value }, secret);
      const { details } = await log.append(call, [changed], { details: detailsAfter(at) });
      return { userId: user.id, passwordSet: at.time, details };
    },
  };

  /** Finds the user of a code. The guess is counted before the lookup; a correct one is taken back. */
  async function userOf(code: string, call: Call): Promise<UserOfCode> {
    const uncount = countNetwork(guesses, call);
    const macs = passwordCodeMacs(secrets.keyring, code).map((mac) => mac.toString("hex"));
    const user = await userByCode({ macs, now: clock().toISOString() }, call.signal);
    if (!user) {
      noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.PASSWORD } }, undefined, call);
      throw refuse.because("CODE_INVALID", { violations: [notInForce] });
    }
    uncount();
    return user;
  }
}

const notInForce: Violation = {
  field: "verificationCode",
  text: "CODE_NOT_IN_FORCE",
  reason: "CODE_INVALID",
};

export const passwordResetRules = [messageRule(RequestPasswordResetRequestSchema, notOne)];

/** Refuses a request that names both a login name and an address, or neither. */
function notOne({ loginName, email }: RequestPasswordResetRequest): Violation[] {
  if ((loginName === "") !== (email === "")) return [];
  const isBoth = loginName !== "";
  return (["loginName", "email"] as const).map((field) =>
    isBoth
      ? {
          field,
          text: "FIELD_COMBINED",
          params: { other: field === "email" ? "loginName" : "email" },
          reason: "MUTUALLY_EXCLUSIVE",
        }
      : { field, text: "FIELD_ONE_OF", params: { one: "loginName", other: "email" }, reason: "REQUIRED" },
  );
}

function mailFor(of: ResetOf): MailFor {
  const organizationId = of.organizationId || null;
  if ("email" in of) return { ...forNobody, organizationId, email: of.email };
  if ("nameOrEmail" in of) return { ...forNobody, organizationId, nameOrEmail: of.nameOrEmail };
  const { login_name: loginName, organization } = nameKey(of);
  return { ...forNobody, organizationId: organization, loginName };
}

type UserOfCode = PasswordUser & { readonly wasMailed: boolean };

// The address may have changed while its code was being written; the change ended only the codes that existed then.
const userByCodeRead = (sql: Sql) =>
  loadOne<{ macs: readonly string[]; now: string }, UserOfCode>(sql, {
    asked: "macs text[], now timestamptz",
    select: `select n, ${passwordColumns}, c.mail_id is not null as "wasMailed"
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join mail_codes c on c.mac = decode(m.mac, 'hex') and c.purpose = 'password' and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and ${userInForce}
               and (c.mail_id is null or lower(c.email) = lower(u.email))
             left join passwords p on p.user_id = u.user_id`,
  });
