import type { ServiceImpl } from "@connectrpc/connect";
import { type AccountService, ChangePasswordRequestSchema } from "../../../gen/postern/v1/account_pb.ts";
import { type Call, callerOf, type Deps, type Membership } from "../../deps.ts";
import { lateRule, refuse, type Violation } from "../../errors.ts";
import { detailsAfter, factOf, next } from "../../events/fact.ts";
import type { PasswordBench } from "../../security/password.ts";
import { handlers } from "../module.ts";
import { organization } from "../organizations/organization.ts";
import { replacementHash } from "../passwords/new_password.ts";
import {
  type PasswordUser,
  passwordSecret,
  passwordUserRead,
  policyViolations,
  type TriedUser,
} from "../passwords/password.ts";
import { oldPasswordGuesses } from "../passwords/password_change.ts";
import { type PasswordResets, passwordResetCalls } from "../passwords/password_reset.ts";
import { shownProjectRoles } from "../projects/held_project_roles.ts";
import { ownErasure } from "../users/erasure.ts";
import { user } from "../users/user.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { ownAccountRead } from "./own_account.ts";

export const accountService = (deps: Deps, resets: PasswordResets, settings: NoticeSettings) => {
  const { log, sql, clock, secrets } = deps;
  const ownAccount = ownAccountRead(sql);
  const passwordUser = passwordUserRead(sql);
  const guess = oldPasswordGuesses(deps);
  const notice = notices(deps, settings);

  return handlers(passwordResetCalls(resets), ownErasure(deps, settings), {
    async getMe({ projectId: project }, call) {
      const { userId: id, organization: owner, memberships } = callerOf(call);
      const account = await ownAccount({ owner, id, project }, call.signal);
      if (!account) throw refuse.because("TOKEN_INVALID");
      return {
        user: user(account.user, clock()),
        organization: organization(account.organization),
        ...shownRoles(memberships, owner),
        ...shownProjectRoles(account.roles),
      };
    },

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
  } satisfies Partial<ServiceImpl<typeof AccountService>>);
};

export function accountLateRules({ sql, secrets }: Pick<Deps, "sql" | "secrets">) {
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

const mostRoles = 1000;

/** Shows the roles on the instance and in the user's own organization first: other organizations can give any number of roles. */
function shownRoles(memberships: readonly Membership[], own: string) {
  const isOwn = ({ scope, organization }: Membership) => scope === "instance" || organization === own;
  const roles = [...memberships.filter(isOwn), ...memberships.filter((one) => !isOwn(one))].flatMap(heldRoles);
  return { roles: roles.slice(0, mostRoles), hasMoreRoles: roles.length > mostRoles };
}

/** The roles of a membership, each with the object it is held on. */
function heldRoles({ scope, organization, project, id, roles }: Membership) {
  const where = {
    ...(scope === "instance" ? {} : { organizationId: organization }),
    ...(project === undefined ? {} : { projectId: project }),
    ...(scope === "project_grant" ? { projectGrantId: id } : {}),
  };
  return roles.map((role) => ({ role, ...where }));
}
