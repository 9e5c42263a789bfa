/** The SQL condition that a user may sign in and call: it is active, and so is its organization. */
export const inForce = (user: string): string =>
  `(${user}.active and (select h.active from organizations h where h.organization_id = ${user}.owner))`;

/** The SQL condition that the user `u` may sign in and call. */
export const userInForce = inForce("u");

// What a job deletes is little at any time, and has an index of its own: that it is not among it is found without reading a row.
/** The SQL condition that the role of the row `r` is one that its project still has. */
export const roleIsThere = `not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)`;

/** The SQL condition that the user grant `g` rests on no project grant that is being deleted. */
const projectGrantIsThere = `not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)`;

/** The SQL condition that the organization `g.owner`, to which a project grant gave what the user grant `g` gives, has it. */
export const granteeIsInForce = `((select o.active from organizations o where o.organization_id = g.owner)
        and ${projectGrantIsThere})`;

/**
 * The SQL of what keeps the roles of the user grant `g` in the project `p` of the organization `h` from counting beside the grant
 * itself: `project`, `organization` for the one that owns the project or the one that grants, else an empty text.
 */
export const grantShutIn = `case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ${granteeIsInForce} then 'organization'
      else '' end`;

/** The same of the user grant `g` alone. */
export const grantShutBy = `(select ${grantShutIn}
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id)`;

// Without an offset a subquery may be hashed: the whole table for each statement, by a plan that was made while it was small.
/** The SQL condition that the user `u` has a grant in the project `p` that counts. */
export const holdsGrant = (which = ""): string => `exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id${which} and g.active and ${grantShutBy} = '' offset 0)`;

/**
 * The SQL condition that the user `u` may use the applications of the project `p`: by its organization, or by a grant of its own. A
 * project that requires a grant takes only that.
 */
export const mayUse = `(${holdsGrant()} or not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0)))`;

// A join may begin at the organization: with few of them the planner looks for the object in each by their primary key.
/** The SQL condition that an organization is there and not deleted. */
export const organizationIsThere = (id: string): string =>
  `(select not d.deleted from organizations d where d.organization_id = ${id})`;

/** The SQL condition that there is a user of this id, in an organization that is not deleted. */
export const userIsThere = (id: string): string =>
  `exists (select from users u where u.user_id = ${id} and ${organizationIsThere("u.owner")})`;
