import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { grantShutBy } from "./in_force.ts";

/** A role that a user grant gives. */
export type HeldProjectRole = {
  readonly projectId: string;
  readonly roleKey: string;
  readonly organizationId: string;
  readonly projectGrantId: string | null;
};

const mostAnswered = 1000;

// The order of user_grants_once, which begins with the user: what is beyond the limit is not read.
const order = "project_id, project_grant_id, owner";

/** Reads the roles that a user holds in projects, in whatever organization, up to a limit. */
export function heldProjectRolesRead(sql: Sql) {
  const ofUser = loadOne<{ id: string }, { roles: readonly HeldProjectRole[] }>(sql, {
    asked: "id text",
    select: `select n, coalesce((
        select jsonb_agg(jsonb_build_object('projectId', h.project_id, 'roleKey', h.role_key, 'organizationId', h.owner,
          'projectGrantId', h.project_grant_id) order by ${order}, h.role_key)
        from (
          select g.project_id, g.project_grant_id, g.owner, r.role_key
          from user_grants g join user_grant_roles r using (user_grant_id)
          where g.user_id = asked.id and g.active and ${grantShutBy} = ''
          order by g.project_id, g.project_grant_id, g.owner, r.role_key
          limit ${mostAnswered + 1}
        ) h
      ), '[]') as roles from asked`,
  });
  return async (id: string, signal: AbortSignal) => {
    const { roles = [] } = (await ofUser({ id }, signal)) ?? {};
    return { projectRoles: roles.slice(0, mostAnswered).map(held), hasMoreProjectRoles: roles.length > mostAnswered };
  };
}

const held = ({ projectGrantId, ...role }: HeldProjectRole) =>
  projectGrantId === null ? role : { ...role, projectGrantId };
