import { RoleScope } from "../../../gen/postern/v1/member_pb.ts";
import type { Membership } from "../../deps.ts";
import { type Role, roles } from "../../guards/permissions.ts";

type Scope = Membership["scope"];

/** The scopes in which roles can be held. */
const scopes = {
  INSTANCE_OWNER: "instance",
  INSTANCE_VIEWER: "instance",
  ORG_OWNER: "organization",
  ORG_USER_MANAGER: "organization",
  ORG_VIEWER: "organization",
  PROJECT_OWNER: "project",
  PROJECT_GRANT_OWNER: "project_grant",
  PROJECT_VIEWER: "project",
  PROJECT_GRANT_VIEWER: "project_grant",
  PROJECT_EVALUATOR: "project",
} as const satisfies Record<Role, Scope>;

const scopeByRole: ReadonlyMap<string, Scope> = new Map(Object.entries(scopes));

/** The scope in which a role can be held; undefined if there is no such role. */
export const scopeOfRole = (role: string): Scope | undefined => scopeByRole.get(role);

const shown = {
  instance: RoleScope.INSTANCE,
  organization: RoleScope.ORGANIZATION,
  project: RoleScope.PROJECT,
  project_grant: RoleScope.PROJECT_GRANT,
} as const satisfies Record<Scope, RoleScope>;

/** The roles that members can have, as ListRoles shows them. */
export const listedRoles = {
  roles: Object.entries(roles).map(([role, permissions]) => ({
    role,
    scope: shown[scopes[role as Role]],
    permissions: [...permissions],
  })),
};
