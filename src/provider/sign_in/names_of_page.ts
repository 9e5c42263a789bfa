import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { canonicalDomain } from "../../services/callers/canonical_domain.ts";
import { nameKey, namesOrganization } from "../../services/callers/login_name.ts";
import { mailCodesIn } from "../../services/policies/sign_in_policy.ts";

/** The text typed as the login name, and the organization that the request names, or else the one that was typed. */
type Typed = {
  readonly loginName: string;
  readonly organizationId: string | undefined;
  readonly organization: string;
};

/**
 * Finds the organization in which a page looks up what was typed. If the request names none, it is that of the page's field. Otherwise it
 * is that of the request, unless the name ends in the id of another. But if its users have login names of the directory, so may others who
 * sign in for it, and then it decides only about names that end in a proven domain. None of this depends on which users exist.
 */
export function namesOfPage(sql: Sql) {
  const ofRequest = loadOne<{ organization: string; domain: string | null }, object>(sql, {
    asked: "organization text, domain text",
    select: `select n from asked join organizations o on o.organization_id = asked.organization
             where not o.deleted and (o.own_login_names or exists (select from domains d where d.name = asked.domain and d.proven offset 0))`,
  });
  const holder = loadOne<{ domain: string }, { owner: string }>(sql, {
    asked: "domain text",
    select: "select n, d.owner from asked join domains d on d.name = asked.domain and d.proven",
  });
  return async ({ loginName, organizationId, organization }: Typed, signal: AbortSignal) => {
    if (organizationId === undefined) return organization === "" ? undefined : named(organization, signal);
    if (namesOrganization(loginName)) return undefined;
    const { domain } = nameKey({ loginName });
    return (await ofRequest({ organization: organizationId, domain }, signal)) ? organizationId : undefined;
  };

  /** The organization with a domain or id; for any other text, an id that no organization has. */
  async function named(organization: string, signal: AbortSignal): Promise<string> {
    const domain = canonicalDomain(organization);
    const found = domain === undefined ? undefined : await holder({ domain }, signal);
    return found?.owner ?? organization.toLowerCase();
  }
}

/**
 * Decides whether to offer a mailed code to whoever signs in with a name: by the policy of the organization that the name is looked up in,
 * which depends only on its domain. A name of the directory may belong to a user of any organization, so a code is offered if any of them
 * allows it.
 */
export function mailOffers(sql: Sql) {
  const read = loadOne<{ organization: string | null; domain: string | null }, { offered: boolean }>(sql, {
    asked: "organization text, domain text",
    select: `select n, case when r.organization is null then exists (select from sign_in_policies p where p.mail_codes)
               else ${mailCodesIn("r.organization")} end as offered
             from asked cross join lateral (
               select coalesce(asked.organization, (select d.owner from domains d where d.name = asked.domain and d.proven)) as organization
               offset 0) r`,
  });
  const namesOf = namesOfPage(sql);
  return async (typed: Typed, signal: AbortSignal): Promise<boolean> => {
    const organizationId = await namesOf(typed, signal);
    const { organization, domain } = nameKey({ loginName: typed.loginName, organizationId });
    return (await read({ organization, domain }, signal))?.offered ?? false;
  };
}
