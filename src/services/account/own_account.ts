import { loadOne, type Question } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type OrganizationRow, organizationRow } from "../organizations/organization_row.ts";
import { type HeldProjectRole, heldProjectRoles, heldRolesOfProject } from "../projects/held_project_roles.ts";
import { selected } from "../reading/row.ts";
import { type UserRow, userColumns } from "../users/user_row.ts";

/** A user with its organization and the roles it holds in projects. */
type OwnAccount = {
  readonly user: UserRow;
  readonly organization: OrganizationRow;
  readonly roles: readonly HeldProjectRole[];
};

/** The organization's columns, named apart from the user's. */
type OfOrganization = {
  readonly [Name in keyof typeof organizationRow as `organization${Capitalize<Name>}`]: OrganizationRow[Name];
};

type Row = UserRow & OfOrganization & { readonly roles: readonly HeldProjectRole[] | null };

type AccountKey = { readonly owner: string; readonly id: string };

/**
 * Reads a user, its organization, and the roles it holds in all projects or in the requested one. Separate statements cost twice as much.
 */
export function ownAccountRead(sql: Sql) {
  const whole = loadOne<AccountKey, Row>(sql, questionOf("owner text, id text", heldProjectRoles));
  const ofProject = loadOne<AccountKey & { project: string }, Row>(
    sql,
    questionOf("owner text, id text, project text", heldRolesOfProject),
  );
  type Key = AccountKey & { readonly project?: string };
  return async ({ project, ...key }: Key, signal: AbortSignal): Promise<OwnAccount | undefined> => {
    const row = await (project ? ofProject({ ...key, project }, signal) : whole(key, signal));
    return row && { user: row, organization: organizationOf(row), roles: row.roles ?? [] };
  };
}

const ofOrganization = (name: string) => `organization${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const organizationColumns = selected("h", Object.keys(organizationRow), {
  lines: ["ownLoginNames", "version"],
  indent: 8,
  as: ofOrganization,
});

const questionOf = (asked: string, roles: string): Question => ({
  asked,
  isPlain: true,
  select: `select n, u.user_id as id, ${userColumns}, ${organizationColumns},
        ${roles} as roles
      from asked
      cross join lateral (select * from users u where u.owner = asked.owner and u.user_id = asked.id limit 1) u
      cross join lateral (select * from organizations h where h.organization_id = u.owner limit 1) h
      where not h.deleted`,
});

const organizationOf = (row: Row): OrganizationRow => ({
  id: row.owner,
  owner: row.owner,
  name: row.organizationName,
  active: row.organizationActive,
  ownLoginNames: row.organizationOwnLoginNames,
  requiresAcceptance: row.organizationRequiresAcceptance,
  version: row.organizationVersion,
  created: row.organizationCreated,
  changed: row.organizationChanged,
});
