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

/** The SQL of the roles that a user holds in projects, in whatever organization, one more than are answered; null for none. */
export const heldProjectRoles = (user: string): string => `(
        select json_agg(json_build_object('projectId', h.project_id, 'roleKey', h.role_key, 'organizationId', h.owner,
          'projectGrantId', h.project_grant_id) order by ${order}, h.role_key)
        from (
          select g.project_id, g.project_grant_id, g.owner, r.role_key
          from user_grants g join user_grant_roles r using (user_grant_id)
          where g.user_id = ${user} and g.active and ${grantShutBy} = ''
          order by g.project_id, g.project_grant_id, g.owner, r.role_key
          limit ${mostAnswered + 1}
        ) h
      )`;

/** The roles of a response. */
export const shownProjectRoles = (roles: readonly HeldProjectRole[]) => ({
  projectRoles: roles.slice(0, mostAnswered).map(held),
  hasMoreProjectRoles: roles.length > mostAnswered,
});

const held = ({ projectGrantId, ...role }: HeldProjectRole) =>
  projectGrantId === null ? role : { ...role, projectGrantId };
