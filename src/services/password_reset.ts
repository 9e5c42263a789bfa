import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AccountService,
  type RequestPasswordResetRequest,
  RequestPasswordResetRequestSchema,
} from "../../gen/postern/v1/account_pb.ts";
import { type Call, type Deps, keys } from "../deps.ts";
import { messageRule, refuse, type Violation } from "../errors.ts";
import { detailsAfter, factOf, next } from "../events/fact.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { passwordCodeMacs } from "../security/mail_code.ts";
import { userInForce } from "./in_force.ts";
import type { MailSettings } from "./mail_code.ts";
import { countNetwork } from "./network_rate.ts";
import { newPasswordHash } from "./new_password.ts";
import { loginNameOf, type PasswordUser, passwordColumns, passwordSecret } from "./password.ts";

/** How many requests and wrong codes may come from one address within a minute on this node; 0 sets no limit. */
export type ResetSettings = MailSettings & {
  readonly passwordResetsPerAddressPerMinute: number;
  readonly signInFailuresPerAddressPerMinute: number;
};

/** New passwords for those who cannot sign in. */
export const passwordResets = (deps: Deps, settings: ResetSettings) => {
  const { log, sql, clock, ids, secrets, failureRate } = deps;
  const userByCode = userByCodeRead(sql);
  const requests = failureRate("password resets", settings.passwordResetsPerAddressPerMinute);
  const guesses = failureRate("codes for passwords", settings.signInFailuresPerAddressPerMinute);

  return {
    async requestPasswordReset({ loginName, email }, call) {
      countNetwork(requests, call);
      const language = call.values.get(keys.language) ?? settings.mailLanguage;
      const name = loginName === "" ? null : loginNameOf(loginName);
      await keepRequest(sql, { id: ids(), loginName: name, email: email === "" ? null : email, language });
      return {};
    },

    async resetPassword({ verificationCode, newPassword }, call) {
      const user = await userOf(verificationCode, call);
      const hash = await newPasswordHash(secrets, { user, password: newPassword, signal: call.signal });
      const at = next(user, clock());
      const value = { byAdministrator: false, byCode: true, emailVerified: user.wasMailed };
      const changed = factOf("user", at, { case: "passwordChanged", value }, passwordSecret(hash, user.policy));
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof AccountService>>;

  /** Finds the user of a code. A guess counts before it is looked for, and a right one is taken back. */
  async function userOf(code: string, call: Call): Promise<UserOfCode> {
    const uncount = countNetwork(guesses, call);
    const macs = passwordCodeMacs(secrets.keyring, code).map((mac) => mac.toString("hex"));
    const user = await userByCode({ macs, now: clock().toISOString() }, call.signal);
    if (!user) throw refuse.because("CODE_INVALID", { violations: [notInForce] });
    uncount();
    return user;
  }
};

const notInForce: Violation = {
  field: "verificationCode",
  description: "is not a code in force: it is wrong, was used or has expired",
  reason: "CODE_INVALID",
};

/** Cross-field rules of requests for a new password. */
export const accountRules = [messageRule(RequestPasswordResetRequestSchema, notOne)];

/** Finds a request that names both a login name and an address, or none of them. */
function notOne({ loginName, email }: RequestPasswordResetRequest): Violation[] {
  if ((loginName === "") !== (email === "")) return [];
  const isBoth = loginName !== "";
  return (["loginName", "email"] as const).map((field) => ({
    field,
    description: isBoth
      ? `cannot be combined with ${field === "email" ? "loginName" : "email"}`
      : "one of loginName and email is required",
    reason: isBoth ? "MUTUALLY_EXCLUSIVE" : "REQUIRED",
  }));
}

type ResetRequest = { readonly id: string; readonly loginName: string | null } & {
  readonly email: string | null;
  readonly language: string;
};

// The worker clears a hundred at a time: this many wait only while it cannot.
const mostWaiting = 10_000;

/** Writes the request for the worker, whether anybody is known or not. */
async function keepRequest(sql: Sql, { id, loginName, email, language }: ResetRequest): Promise<void> {
  const { count } = await sql`
    insert into password_reset_requests (request_id, login_name, email, language)
    select ${id}, ${loginName}, ${email}, ${language}
    where not exists (select from password_reset_requests offset ${mostWaiting - 1})`;
  if (count === 0) throw refuse.because("OVERLOADED", { retrySeconds: 10 });
}

type UserOfCode = PasswordUser & { readonly wasMailed: boolean };

const userByCodeRead = (sql: Sql) =>
  loadOne<{ macs: readonly string[]; now: string }, UserOfCode>(sql, {
    asked: "macs text[], now timestamptz",
    select: `select n, ${passwordColumns}, c.mail_id is not null as "wasMailed"
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join mail_codes c on c.mac = decode(m.mac, 'hex') and c.purpose = 'password' and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and ${userInForce}
             left join passwords p on p.user_id = u.user_id`,
  });
