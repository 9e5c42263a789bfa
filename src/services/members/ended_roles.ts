import { type RoleKind, RoleKindSchema } from "../../../gen/postern/v1/user_role_pb.ts";

/** The name of a kind of roles in facts and tables. */
export const roleKindName = (kind: RoleKind): string => RoleKindSchema.value[kind]?.name ?? "";

/** The SQL condition that the roles of this kind which an organization gave a user were ended. */
export const isEnded = (kind: RoleKind, { user, giver }: { readonly user: string; readonly giver: string }): string =>
  `exists (select from ended_roles e
      where e.user_id = ${user} and e.organization_id = ${giver} and e.kind = '${roleKindName(kind)}')`;
