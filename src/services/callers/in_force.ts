import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import { givesNothing } from "./ended_roles.ts";

/** The SQL condition that a user may sign in and call: user and organization are active. */
export const inForce = (user: string): string =>
  `(${user}.active and (select h.active from organizations h where h.organization_id = ${user}.owner))`;

/** The SQL condition that the user `u` may sign in and call. */
export const userInForce = inForce("u");

// A job deletes few rows at a time, and they have an index of their own, so checking that a row is not among them reads no row.
/** The SQL condition that the project still has the role of the row `r`, and so does the project grant behind it, if any. */
export const roleIsThere = `not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)`;

/** The SQL condition that the project grant behind the user grant `g`, if any, is not being deleted. */
const projectGrantIsThere = `not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)`;

/**
 * The SQL condition that roles which the organization `g.owner` gives under a project grant count: the organization is active, and the
 * project grant is not being deleted.
 */
export const granteeIsInForce = `((select o.active from organizations o where o.organization_id = g.owner)
        and ${projectGrantIsThere})`;

/** The SQL condition that the user of the user grant `g`, or its organization, has not ended what the organization `g.owner` grants. */
export const grantIsLeft = `not ${givesNothing(RoleKind.USER_GRANT, { user: "g.user_id", giver: "g.owner" })}`;

/** The same for the membership `m`. */
export const membershipIsLeft = `not ${givesNothing(RoleKind.MEMBERSHIP, { user: "m.user_id", giver: "m.owner" })}`;

// By the clock of the database, so that the moment is the same for all nodes.
/** The SQL condition that the user grant `g` has ended, because its expiration date has passed. */
export const grantIsOver = "g.expiration_date <= now()";

/**
 * SQL for the reason, other than its own state, why the roles of the user grant `g` in the project `p` of the organization `h` do not
 * count: `project`; `organization`, either the project's owner or the one that gave the roles; `user`, who ended them; `time`, since the
 * grant has ended; or an empty text.
 */
export const grantShutIn = `case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ${granteeIsInForce} then 'organization'
      when not (${grantIsLeft}) then 'user'
      when ${grantIsOver} then 'time'
      else '' end`;

/** The same, given only the user grant `g`. */
export const grantShutBy = `(select ${grantShutIn}
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id)`;

// Without an offset, PostgreSQL may hash the subquery, reading the whole table for each statement under a plan made while it was small.
/** The SQL condition that the user `u` has a grant in the project `p` that is in force. */
export const holdsGrant = (which = ""): string => `exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id${which} and g.active and ${grantShutBy} = '' offset 0)`;

const mayUseByOrganization = `not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))`;

/**
 * The SQL condition that the user `u` may use the applications of the project `p`: through its organization or a grant of its own. If the
 * project requires a grant, only the latter counts.
 */
export const mayUse = `(${holdsGrant()} or ${mayUseByOrganization})`;

/** SQL for the latest time until which the user `u` may use the applications of the project `p`; null or infinite without an end. */
export const mayUseUntil = `case when not (${mayUseByOrganization}) then (
      select max(coalesce(g.expiration_date, 'infinity')) from user_grants g
      where g.user_id = u.user_id and g.project_id = p.project_id and g.active and ${grantShutBy} = '') end`;

// A join may start from the organizations: if there are few, the planner looks up the object in each by their primary key.
/** The SQL condition that an organization exists and is not deleted. */
export const organizationIsThere = (id: string): string =>
  `(select not d.deleted from organizations d where d.organization_id = ${id})`;

// Few users are hidden at a time, and they have an index of their own, so this reads no row.
/** The SQL condition that a user is hidden from lists, because they are waiting for erasure or a job is deleting them. */
export const isHidden = (user: string): string =>
  `exists (select from all_users x where x.deleted and x.user_id = ${user} offset 0)`;

/** The SQL condition that a user with this id exists, in an organization that is not deleted. */
export const userIsThere = (id: string): string =>
  `exists (select from users u where u.user_id = ${id} and ${organizationIsThere("u.owner")})`;
