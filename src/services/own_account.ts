import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { type HeldProjectRole, heldProjectRoles } from "./held_project_roles.ts";
import type { OrganizationRow } from "./organization.ts";
import type { UserRow } from "./user.ts";
import { userColumns } from "./user_list.ts";

/** A user with its organization and the roles that it holds in projects. */
type OwnAccount = {
  readonly user: Omit<UserRow, "lastOwner">;
  readonly organization: OrganizationRow;
  readonly roles: readonly HeldProjectRole[];
};

type Row = OwnAccount["user"] & {
  readonly organizationName: string;
  readonly organizationActive: boolean;
  readonly organizationVersion: bigint;
  readonly organizationCreated: Date;
  readonly organizationChanged: Date;
  readonly roles: readonly HeldProjectRole[] | null;
};

/** Reads a user, its organization and the roles that it holds in projects; a statement for each of them costs twice as much. */
export function ownAccountRead(sql: Sql) {
  const read = loadOne<{ owner: string; id: string }, Row>(sql, {
    asked: "owner text, id text",
    isPlain: true,
    select: `select n, u.user_id as id, ${userColumns}, h.name as "organizationName", h.active as "organizationActive",
        h.version as "organizationVersion", h.created as "organizationCreated", h.changed as "organizationChanged",
        ${heldProjectRoles("u.user_id")} as roles
      from asked
      cross join lateral (select * from users u where u.owner = asked.owner and u.user_id = asked.id limit 1) u
      cross join lateral (select * from organizations h where h.organization_id = u.owner limit 1) h
      where not h.deleted`,
  });
  return async (key: { owner: string; id: string }, signal: AbortSignal): Promise<OwnAccount | undefined> => {
    const row = await read(key, signal);
    return row && { user: row, organization: organizationOf(row), roles: row.roles ?? [] };
  };
}

const organizationOf = (row: Row): OrganizationRow => ({
  id: row.owner,
  owner: row.owner,
  name: row.organizationName,
  active: row.organizationActive,
  version: row.organizationVersion,
  created: row.organizationCreated,
  changed: row.organizationChanged,
});
