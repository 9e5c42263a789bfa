import type { Cascade } from "../../events/fold.ts";

/** The owner's role in a scope, in SQL; the instance and organizations always keep an owner. */
export const owning = (scope: string) =>
  `case ${scope} when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end`;

// An owner who is deactivated, or whose organization is, cannot act and so does not count. Exception: a deactivated organization's own
// users count as its owners, because they can act once it is reactivated.
export const activeOwners = (scope: string, id: string) => `members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = ${scope} and o.scope_id = ${id} and ${owning("o.scope")} = any(o.roles)`;

/**
 * The SQL condition that the membership `m` of one of the organization's users restricts what its administrators may do to the user.
 * Memberships from other organizations do not, even if those organizations lose their last owner.
 */
const isAtHome = (organization: string) => `(m.scope = 'instance' or m.owner = ${organization})`;

/** The SQL condition that, without the user `u`, the instance or the user's organization would have no active owner. */
export const isLastOwner = `exists (
  select from members m where m.user_id = u.user_id and ${isAtHome("u.owner")} and ${owning("m.scope")} = any(m.roles)
    and not exists (select from ${activeOwners("m.scope", "m.scope_id")} and o.user_id <> m.user_id))`;

/**
 * Makes a fact lose its race if its `leaving` memberships `m` (joined to `$input` i) would leave the instance or an organization without an
 * owner. The command then decides again, and is refused.
 */
export function keepsAnOwner(makes: string, leaving: string): Cascade {
  // A fact inserted twice violates events_pkey. Each leaving owner locks one who stays, chosen in a fixed order: if the last two owners
  // leave at once, the later statement waits, and then finds no other owner.
  const select = `
    select i.n, i.owner, i.stream, i.version, i.payload
    from $input i join members m on ${leaving}
    where ${owning("m.scope")} = any(m.roles)
      and not exists (
        select from organizations d join all_users x on x.user_id = m.user_id
        where d.deleted and d.organization_id in (m.owner, x.owner))
      and not exists (
      select from (
        select o.user_id from ${activeOwners("m.scope", "m.scope_id")} order by o.member_id for no key update
      ) owners where owners.user_id <> m.user_id)`;
  return { makes, extent: "few", refuses: true, select };
}

/** The SQL condition that, without the user `u`, the organization would have no active owner. */
export const isLastOwnerOf = (organization: string): string => `exists (
  select from members m where m.user_id = u.user_id and m.scope = 'organization' and m.scope_id = ${organization}
    and ${owning("m.scope")} = any(m.roles)
    and not exists (select from ${activeOwners("m.scope", "m.scope_id")} and o.user_id <> m.user_id))`;

/** Makes a fact that disables a user lose its race if it would leave the instance or the user's own organization without an owner. */
export const keepsAnOwnerAtHome = (makes: string): Cascade =>
  keepsAnOwner(makes, `m.user_id = i.stream and ${isAtHome("i.owner")}`);

/** SQL that selects the active owners of the instance who belong to another organization than this one. */
export const ownersElsewhere = (organization: string): string =>
  `select from ${activeOwners("'instance'", "(select i.instance_id from instance i)")} and w.owner <> ${organization}`;

/** Makes a fact that disables an organization lose its race if no active owner of the instance would remain elsewhere. */
export function keepsOwnersElsewhere(makes: string): Cascade {
  // As in keepsAnOwner, the owners are locked in one order: if two organizations are disabled at once, the later statement waits.
  const select = `
    select i.n, i.owner, i.stream, i.version, i.payload from $input i
    where not exists (
      select from (
        select w.owner from ${activeOwners("'instance'", "(select i.instance_id from instance i)")}
        order by o.member_id for no key update of o, w, h
      ) owners where owners.owner <> i.stream)`;
  return { makes, extent: "few", refuses: true, select };
}
