import type { ServiceImpl } from "@connectrpc/connect";
import { type AccountService, ChangePasswordRequestSchema } from "../../../gen/postern/v1/account_pb.ts";
import { type Call, callerOf, type Deps } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { detailsAfter, factOf, next } from "../../events/fact.ts";
import { lateRule } from "../../rules.ts";
import type { PasswordBench } from "../../security/password.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { replacementHash } from "./new_password.ts";
import { type PasswordUser, passwordSecret, passwordUserRead, policyViolations, type TriedUser } from "./password.ts";
import { oldPasswordGuesses } from "./password_change.ts";

/** Makes the change of the caller's own password. */
export const ownPassword = (deps: Deps, settings: NoticeSettings) => {
  const { log, sql, clock, secrets } = deps;
  const passwordUser = passwordUserRead(sql);
  const guess = oldPasswordGuesses(deps);
  const notice = notices(deps, settings);

  return {
    async changePassword({ oldPassword, newPassword }, call) {
      const { userId: id, organization: owner, sessionId } = callerOf(call);
      const caller = await passwordUser({ owner, id }, call.signal);
      refuseWithout(caller);
      const whenRight = (bench: PasswordBench, user: TriedUser) =>
        replacementHash(secrets, { bench, user, oldPassword, newPassword });
      const outcome = await guess({ password: oldPassword, call, whenRight }, caller);
      if (!outcome) throw refuse.because("PASSWORD_MISMATCH", { violations: [mismatch] });
      const at = next(outcome.user, clock());
      const value = { byAdministrator: false, keepSessionId: sessionId };
      const secret = { ...passwordSecret(outcome.value, outcome.user.policy), ...notice("password_changed", call) };
      const changed = factOf("user", at, { case: "passwordChanged", value }, secret);
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Pick<ServiceImpl<typeof AccountService>, "changePassword">;
};

export function ownPasswordLateRules({ sql, secrets }: Pick<Deps, "sql" | "secrets">) {
  const passwordUser = passwordUserRead(sql);
  const ofNewPassword = async (password: string, call: Call) => {
    const { userId: id, organization: owner } = callerOf(call);
    const caller = await passwordUser({ owner, id }, call.signal);
    if (!caller || caller.hash === null) return [];
    const { names, policy } = caller;
    return policyViolations({ field: "newPassword", password, names, policy }, secrets);
  };
  // The old password is not verified: that would count as a guess.
  return [
    lateRule(ChangePasswordRequestSchema, ["newPassword"], (request, call: Call) =>
      ofNewPassword(request.newPassword, call),
    ),
  ];
}

const mismatch: Violation = { field: "oldPassword", text: "PASSWORD_MISMATCH", reason: "PASSWORD_MISMATCH" };

function refuseWithout(caller: PasswordUser | undefined): asserts caller is TriedUser {
  if (!caller) throw refuse.because("TOKEN_INVALID");
  if (caller.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id: caller.id } });
  if (caller.hash === null) throw refuse.because("PASSWORD_MISSING");
}
