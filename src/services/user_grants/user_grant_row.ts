import type { ListUserGrantsRequest } from "../../../gen/postern/v1/user_grant_pb.ts";
import type { Reach } from "../../deps.ts";
import { grantShutBy, isHidden } from "../callers/in_force.ts";
import { history, insertOf, type RowOf, selected } from "../reading/row.ts";

/** A user grant's columns other than the id, from which its row, select lists and insert derive. */
export const userGrantRow = {
  owner: "text",
  userId: "text",
  projectId: "text",
  projectGrantId: "text?",
  active: "boolean",
  /** When the roles end; null if they do not. */
  expirationDate: "timestamptz?",
  ...history,
} as const;

export type UserGrantRow = RowOf<typeof userGrantRow> & {
  readonly id: string;
  readonly roleKeys: string[];
  readonly shutBy: "project" | "organization" | "user" | "time" | "";
  /** Whether the user is hidden from lists and calls, and so is the grant. */
  readonly isHidden: boolean;
};

/** The columns of a user grant `g` except its roles. */
export const roleless = `g.user_grant_id as id, ${selected("g", Object.keys(userGrantRow), { lines: ["projectGrantId"], indent: 2 })},
  ${grantShutBy} as "shutBy", ${isHidden("g.user_id")} as "isHidden"`;

export const userGrantColumns = `${roleless},
  array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys"`;

/** Composes the insert of a user grant. */
export const userGrantInserted = insertOf({ table: "user_grants", id: "user_grant_id" }, userGrantRow);

/** The user grants that a request lists: an organization's, within reach. */
export type ListedUserGrants = {
  readonly owner: string;
  readonly request: ListUserGrantsRequest;
  readonly reach: Reach;
};
