import type { ListUserGrantsRequest } from "../../../gen/postern/v1/user_grant_pb.ts";
import type { Reach } from "../../deps.ts";
import { grantShutBy, isHidden } from "../callers/in_force.ts";

export type UserGrantRow = {
  id: string;
  owner: string;
  userId: string;
  projectId: string;
  projectGrantId: string | null;
  roleKeys: string[];
  active: boolean;
  /** When the roles end; null if they do not. */
  expirationDate: Date | null;
  shutBy: "project" | "organization" | "user" | "time" | "";
  /** Whether the user is hidden from lists and calls, and so is the grant. */
  isHidden: boolean;
  version: bigint;
  created: Date;
  changed: Date;
};

/** The columns of a user grant `g` except its roles. */
export const roleless = `g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
  g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
  ${grantShutBy} as "shutBy", ${isHidden("g.user_id")} as "isHidden"`;

export const userGrantColumns = `${roleless},
  array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys"`;

/** The user grants that a request lists: an organization's, within reach. */
export type ListedUserGrants = {
  readonly owner: string;
  readonly request: ListUserGrantsRequest;
  readonly reach: Reach;
};
