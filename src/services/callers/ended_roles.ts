import { type RoleKind, RoleKindSchema } from "../../../gen/postern/v1/user_role_pb.ts";

export const roleKindName = (kind: RoleKind): string => RoleKindSchema.value[kind]?.name ?? "";

/** The SQL condition that a user's roles of this kind from an organization have been ended. */
export const isEnded = (kind: RoleKind, { user, giver }: { readonly user: string; readonly giver: string }): string =>
  `exists (select from ended_roles e
      where e.user_id = ${user} and e.organization_id = ${giver} and e.kind = '${roleKindName(kind)}' offset 0)`;
