/** Normalizes a username for comparison with login names. */
export const loginNameOf = (username: string): string => username.normalize("NFKC").toLowerCase();

/** A login name as somebody typed it, and the organization that it is looked up in; if none, the directory of the instance. */
export type TypedName = { readonly loginName: string; readonly organizationId?: string | undefined };

/** The columns of a question about the user of a login name. */
export const nameAsked = "login_name text, organization text";

export type NameKey = { readonly login_name: string; readonly organization: string | null };

/** The key for `nameAsked`: the organization may also be at the end of the name, as in a qualified name. */
export function nameKey({ loginName, organizationId = "" }: TypedName): NameKey {
  const folded = loginNameOf(loginName);
  const [, name = "", named = ""] = withOrganization.exec(folded) ?? [];
  if (named !== "" && (organizationId === "" || organizationId === named))
    return { login_name: name, organization: named };
  return { login_name: folded, organization: organizationId || null };
}

/**
 * SQL for the user `l` of `asked.login_name`: in `asked.organization` or, if that is null, in the directory. Only one of the two indexes is
 * looked up.
 */
export const userNamed = `lateral (
    select d.user_id, d.owner from login_names d where asked.organization is null and d.login_name = asked.login_name
    union all
    select o.user_id, o.owner from organization_login_names o
    where o.owner = asked.organization and o.login_name = asked.login_name) l on true`;

// The form of our ids. Nobody can have a username that ends like this.
const withOrganization = /^(.+)@([0-9a-hjkmnp-tv-z]{24})$/s;

/** Whether a login name ends in an organization. */
export const namesOrganization = (loginName: string): boolean => withOrganization.test(loginNameOf(loginName));

export type Named = { readonly username: string; readonly owner: string; readonly ownLoginName: boolean };

/** A username as it is unique in the instance: one that is an organization's own is followed by that organization. */
export const qualifiedName = ({ username, owner, ownLoginName }: Named): string =>
  ownLoginName ? `${username}@${domainOf(owner)}` : username;

/** What stands for an organization in the names of its users. */
const domainOf = (organizationId: string): string => organizationId;
