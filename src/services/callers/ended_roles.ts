import { type RoleKind, RoleKindSchema } from "../../../gen/postern/v1/user_role_pb.ts";

export const roleKindName = (kind: RoleKind): string => RoleKindSchema.value[kind]?.name ?? "";

type Roles = { readonly user: string; readonly giver: string };

const ended = (kind: RoleKind, { user, giver }: Roles, which = ""): string =>
  `exists (select from ended_roles e
      where e.user_id = ${user} and e.organization_id = ${giver} and e.kind = '${roleKindName(kind)}'${which} offset 0)`;

/** The SQL condition that an organization can give a user no more roles of this kind: they have been ended, or further ones declined. */
export const isEnded = (kind: RoleKind, roles: Roles): string => ended(kind, roles);

/** The SQL condition that a user's roles of this kind from an organization have been ended, even if some rows are left. */
export const givesNothing = (kind: RoleKind, roles: Roles): string => ended(kind, roles, " and not e.kept");
