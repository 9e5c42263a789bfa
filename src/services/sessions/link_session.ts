import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { next, plainFact } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { linkCodeMacs } from "../../security/mailed_secret.ts";
import { userInForce } from "../callers/in_force.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { hasFullFactor } from "../factors/factor_read.ts";
import { newPasswordHash } from "../passwords/new_password.ts";
import { type PasswordUser, passwordColumns } from "../passwords/password.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { enrolmentReason } from "./first_step.ts";
import { newSessions, passwordReplaced, type SessionKind, type UsedCode } from "./new_session.ts";

/** The code of an administrator's link, and the password to set; without one, the user no longer has a password. */
export type LinkToUse = {
  readonly code: string;
  readonly newPassword: string | undefined;
  /** Whether the browser runs on the same machine. */
  readonly isHere: boolean;
  readonly call: Call;
};

/**
 * Signs an administrator in with a link that the first start or `recover` printed. The answer is undefined if a policy requires a factor:
 * the password is set, and a sign-in with it leads to the factor.
 */
export type LinkSignIn = <A>(link: LinkToUse, kind: SessionKind<A>) => Promise<A | undefined>;

type LinkSettings = NoticeSettings & { readonly signInFailuresPerAddressPerMinute: number };

export const linkSignIn = (deps: Deps, settings: LinkSettings): LinkSignIn => {
  const { log, sql, clock, secrets, failureRate, noteAttempt } = deps;
  const guesses = failureRate("links of administrators", settings.signInFailuresPerAddressPerMinute);
  const userByLink = userByLinkRead(sql);
  const sessionOf = newSessions(deps);
  const notice = notices(deps, settings);
  const removed = (user: PasswordUser) => plainFact("user", next(user, clock()), "passwordRemoved");

  return async (link, kind) => {
    const { newPassword, call } = link;
    const user = await userOf(link);
    const only = enrolmentReason(user, kind) !== undefined;
    if (newPassword === undefined && only) throw refuse.because("FACTOR_ENROLMENT_REQUIRED");
    const changed = newPassword === undefined ? removed(user) : await replaced(user, newPassword, call);
    if (only) return log.append(call, [changed], undefined);
    const signIn = { amr: newPassword === undefined ? ["otp"] : [], usedCode: { id: user.codeId, until: user.until } };
    const made = sessionOf({ ...user, since: null }, signIn, kind);
    return log.append(call, [changed, made.created], made.answer);
  };

  /** Finds the user of a link. The guess is counted before the lookup; a correct one is taken back. */
  async function userOf({ code, isHere, call }: LinkToUse): Promise<UserOfLink> {
    const uncount = countNetwork(guesses, call);
    const macs = linkCodeMacs(secrets.keyring, code).map((mac) => mac.toString("hex"));
    const user = await userByLink({ macs, now: clock().toISOString() }, call.signal);
    const isRight = user && (isHere || user.purpose === "recovery") && !hasFullFactor(user.factorKinds);
    if (!isRight) {
      noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.SIGN_IN } }, user, call);
      throw refuse.because("CODE_INVALID", {
        violations: [{ field: "code", text: "CODE_NOT_IN_FORCE", reason: "CODE_INVALID" }],
      });
    }
    uncount();
    return user;
  }

  /** Replaces the password like a change by its user: access tokens stay, including those of the calls to try. */
  async function replaced(user: PasswordUser, password: string, call: Call) {
    const hash = await newPasswordHash(secrets, { user, password, call });
    return passwordReplaced(user, hash, { now: clock(), notice: notice("password_changed", call), method: "pwd" });
  }
};

type UserOfLink = PasswordUser & { readonly codeId: UsedCode["id"]; readonly until: Date; readonly purpose: string };

const userByLinkRead = (sql: Sql) =>
  loadOne<{ macs: readonly string[]; now: string }, UserOfLink>(sql, {
    asked: "macs text[], now timestamptz",
    select: `select n, ${passwordColumns}, c.mail_code_id as "codeId", c.expiration_date as until, c.purpose
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join mail_codes c on c.mac = decode(m.mac, 'hex') and c.purpose in ('first_run', 'recovery')
               and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and ${userInForce}
             left join passwords p on p.user_id = u.user_id`,
  });
