import type { ServiceImpl } from "@connectrpc/connect";
import type { AccountService } from "../../../gen/postern/v1/account_pb.ts";
import { callerOf, type Deps, type Membership } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { permissionsGiven } from "../../guards/held_permissions.ts";
import { organization } from "../organizations/organization.ts";
import { shownProjectRoles } from "../projects/held_project_roles.ts";
import { user } from "../users/user_row.ts";
import { ownAccountRead } from "./own_account.ts";

export const accountService = ({ sql, clock }: Pick<Deps, "sql" | "clock">) => {
  const ownAccount = ownAccountRead(sql);

  return {
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
  } satisfies Partial<ServiceImpl<typeof AccountService>>;
};

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
