import { grantShutBy, roleIsThere } from "../callers/in_force.ts";

/** A role that a user grant gives. */
export type HeldProjectRole = {
  readonly projectId: string;
  readonly roleKey: string;
  readonly organizationId: string;
  readonly projectGrantId: string | null;
};

const mostAnswered = 1000;

const rolesOf = (grants: string, first = ""): string => `(
            select g.owner <> u.owner as foreign, g.project_id, g.project_grant_id, g.owner, r.role_key
            from user_grants g cross join lateral (
              select role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id and ${roleIsThere}
              order by role_key limit ${mostAnswered + 1}) r
            where ${grants} and g.active and ${grantShutBy} = ''
            order by ${first}(g.owner collate "C"), (g.user_grant_id collate "C"), r.role_key
            limit ${mostAnswered + 1})`;

const inOrder = "h.foreign, h.project_id, h.project_grant_id, h.owner, h.role_key";

// Each part is a range of user_grants_of_user, so finding the own organization's grants does not read those of others.
const ofAllProjects = ["=", "<", ">"].map((compared) =>
  rolesOf(`(g.user_id collate "C") = u.user_id and (g.owner collate "C") ${compared} u.owner`),
);

const ofOneProject = [rolesOf("g.user_id = u.user_id and g.project_id = asked.project", "g.owner <> u.owner, ")];

const answered = (parts: readonly string[]): string => `(
        select json_agg(json_build_object('projectId', h.project_id, 'roleKey', h.role_key, 'organizationId', h.owner,
          'projectGrantId', h.project_grant_id) order by ${inOrder})
        from (
          select * from (${parts.join(" union all ")}) h order by ${inOrder} limit ${mostAnswered + 1}
        ) h
      )`;

/**
 * SQL for the roles that the user `u` holds in projects, those from its own organization first; one more than the response shows, null if
 * there are none.
 */
export const heldProjectRoles = answered(ofAllProjects);

/** The same for the requested project. */
export const heldRolesOfProject = answered(ofOneProject);

export const shownProjectRoles = (roles: readonly HeldProjectRole[]) => ({
  projectRoles: roles.slice(0, mostAnswered).map(held),
  hasMoreProjectRoles: roles.length > mostAnswered,
});

const held = ({ projectGrantId, ...role }: HeldProjectRole) =>
  projectGrantId === null ? role : { ...role, projectGrantId };
