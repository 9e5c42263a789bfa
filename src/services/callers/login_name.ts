import { canonicalDomain } from "./canonical_domain.ts";

/** Normalizes a username for comparison with login names. */
export const loginNameOf = (username: string): string => username.normalize("NFKC").toLowerCase();

/** A login name or an address as typed, and the organization of its user, if the request names one. */
export type TypedName = { readonly loginName: string; readonly organizationId?: string | undefined };

/** The columns of a question about the user of a login name or an address. */
export const nameAsked = "login_name text, organization text, address text, local_part text, domain text";

/** The text typed, and its other possible meanings besides a login name: an address, or a name followed by a domain of its organization. */
export type NameKey = {
  readonly login_name: string;
  readonly organization: string | null;
  readonly address: string | null;
  readonly local_part: string | null;
  readonly domain: string | null;
};

/** The key for `nameAsked`: the organization may also be at the end of the name, as in a qualified name. */
export function nameKey({ loginName, organizationId = "" }: TypedName): NameKey {
  const folded = loginNameOf(loginName);
  const [, name = "", named = ""] = withOrganization.exec(folded) ?? [];
  if (named !== "" && (organizationId === "" || organizationId === named)) return keyIn(named, name);
  return keyIn(organizationId || null, folded);
}

/** The key for a login name that is not taken for an address. */
export const nameOnlyKey = (typed: TypedName): NameKey => ({ ...nameKey(typed), address: null });

function keyIn(organization: string | null, name: string): NameKey {
  const at = name.lastIndexOf("@");
  const domain = at > 0 ? canonicalDomain(name.slice(at + 1)) : undefined;
  const none = { address: null, local_part: null, domain: null };
  if (domain === undefined) return { login_name: name, organization, ...none };
  const local = name.slice(0, at);
  const address = local.includes("@") ? null : `${local}@${domain}`;
  return { login_name: name, organization, address, local_part: local, domain };
}

/** The text by which failures are counted for a name that nobody has: the same for all spellings of an address. */
export const countedText = ({ login_name: name, address }: NameKey): string => address ?? name;

/** The SQL condition that one of our mails has reached the address of the user `u`. */
export const emailIsProven = (user: string): string =>
  `${user}.email_verified and ${user}.proven_email is not distinct from lower(${user}.email)`;

/** The SQL condition that the organization of the user `u` has proven the domain of the user's address. */
export const emailOfOwnDomain = (user: string): string =>
  `coalesce((select d.owner from domains d where d.proven and d.name = split_part(lower(${user}.email), '@', 2)) = ${user}.owner, false)`;

/**
 * The SQL condition that the address of the user `u` finds the user if the organization has proven its domain. It vouches for addresses
 * there that are verified or that its administrators set, but not for those that users entered themselves.
 */
export const emailIsVouchedFor = (user: string): string =>
  `(${user}.email_verified or ${user}.email_setter <> ${user}.user_id)`;

// A second one makes an address ambiguous, so no more than two are read, however many there are.
const addressed = `
      select u.user_id, u.owner from users u
      where r.organization is null and u.proven_email = asked.address and ${emailIsProven("u")}
      union all
      select u.user_id, u.owner from users u
      where not r.is_holder and u.proven_email = asked.address and u.owner = r.organization and ${emailIsProven("u")}
      union all
      select u.user_id, u.owner from users u
      where r.is_holder and u.owner = r.organization and lower(u.email) = asked.address and ${emailIsVouchedFor("u")}
      limit 2`;

/**
 * SQL for the only user `l` that `asked` may mean, if any, and the organization that it was looked up in. That is `asked.organization`, or
 * else the one that has proven `asked.domain`; neither depends on which users exist. A login name comes first, so that its user can keep
 * signing in whatever addresses others prove; then an address, then, in an organization, a name followed by the domain.
 */
export const userNamed = `lateral (
    select found.who[1] as user_id, found.who[2] as owner, r.organization
    from (
      select coalesce(asked.organization, h.owner) as organization,
        coalesce(h.owner = coalesce(asked.organization, h.owner), false) as is_holder
      from (select (select d.owner from domains d where d.name = asked.domain and d.proven) as owner offset 0) h offset 0
    ) r
    left join lateral (
      select d.user_id, d.owner from login_names d where r.organization is null and d.login_name = asked.login_name
      union all
      select o.user_id, o.owner from organization_login_names o
      where o.owner = r.organization and o.login_name = asked.login_name
    ) n on true
    cross join lateral (
      select count(*) as found, min(one.user_id) as user_id, min(one.owner) as owner from (${addressed}
      ) one
    ) a
    left join lateral (
      select o.user_id, o.owner from organization_login_names o
      where r.is_holder and o.owner = r.organization and o.login_name = asked.local_part
    ) q on true
    cross join lateral (
      select case
        when n.user_id is not null then array[n.user_id, n.owner]
        when a.found = 1 then array[a.user_id, a.owner]
        when a.found = 0 then array[q.user_id, q.owner]
      end as who
    ) found) l on true`;

// The form of our ids. Nobody can have a username that ends like this.
const withOrganization = /^(.+)@([0-9a-hjkmnp-tv-z]{24})$/s;

/** Whether a login name ends in an organization. */
export const namesOrganization = (loginName: string): boolean => withOrganization.test(loginNameOf(loginName));

/**
 * SQL for the username of the user `u` as it is unique in the instance, and as it signs in without naming the organization. A name of the
 * directory stays as it is, unless it ends in another organization's domain, which decides where it is looked up. A name of the
 * organization's own stays if it ends in the organization's domain, otherwise the domain that the organization has had for longest follows.
 * If there is none, or if a name with the domain would be another user's, the id of the organization follows.
 */
export const qualifiedName = (u: string): string => `case when coalesce((
        select d.owner from domains d where d.proven and d.name = substring(lower(normalize(${u}.username, nfkc)) from '@([^@]+)$')),
      case when not ${u}.own_login_name then ${u}.owner end) = ${u}.owner
    then ${u}.username
    else ${u}.username || '@' || coalesce((
      select d.name from (
        select e.name, own.login_name || '@' || e.name as named
        from organization_login_names own join domains e on e.owner = own.owner and e.proven
        where own.owner = ${u}.owner and own.user_id = ${u}.user_id and own.own is not null
        order by e.proven_since, e.domain_id limit 1) d
      where not exists (select from organization_login_names o where o.owner = ${u}.owner and o.login_name = d.named offset 0)
        and not exists (
          select from users v where v.owner = ${u}.owner and lower(v.email) = d.named and ${emailIsVouchedFor("v")}
            and v.user_id <> ${u}.user_id offset 0)), ${u}.owner) end`;
