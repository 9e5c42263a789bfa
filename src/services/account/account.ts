import type { ServiceImpl } from "@connectrpc/connect";
import { type AccountService, ChangePasswordRequestSchema } from "../../../gen/postern/v1/account_pb.ts";
import { type Call, callerOf, type Deps, type Membership } from "../../deps.ts";
import { lateRule, refuse } from "../../errors.ts";
import { permissionsGiven } from "../../guards/held_permissions.ts";
import { handlers } from "../module.ts";
import { organization } from "../organizations/organization.ts";
import { passwordUserRead, policyViolations } from "../passwords/password.ts";
import { type PasswordResets, passwordResetCalls } from "../passwords/password_reset.ts";
import { shownProjectRoles } from "../projects/held_project_roles.ts";
import { ownErasure } from "../users/erasure.ts";
import { user } from "../users/user.ts";
import type { NoticeSettings } from "../verification/notice.ts";
import { ownAccountRead } from "./own_account.ts";
import { ownPassword } from "./own_password.ts";

export const accountService = (deps: Deps, resets: PasswordResets, settings: NoticeSettings) => {
  const { sql, clock } = deps;
  const ownAccount = ownAccountRead(sql);

  return handlers(passwordResetCalls(resets), ownErasure(deps, settings), ownPassword(deps, settings), {
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

const mostRoles = 1000;

/** Shows the roles on the instance and in the user's own organization first: other organizations can give any number of roles. */
function shownRoles(memberships: readonly Membership[], own: string) {
  const isOwn = ({ scope, organization }: Membership) => scope === "instance" || organization === own;
  const roles = [...memberships.filter(isOwn), ...memberships.filter((one) => !isOwn(one))].flatMap(heldRoles);
  return { roles: roles.slice(0, mostRoles), hasMoreRoles: roles.length > mostRoles };
}

/** The roles of a membership, each with the object it is held on. */
function heldRoles({ scope, organization, project, id, roles, only }: Membership) {
  const where = {
    ...(scope === "instance" ? {} : { organizationId: organization }),
    ...(project === undefined ? {} : { projectId: project }),
    ...(scope === "project_grant" ? { projectGrantId: id } : {}),
  };
  return roles.map((role) => ({ role, ...where, permissions: permissionsGiven(role, only) }));
}
