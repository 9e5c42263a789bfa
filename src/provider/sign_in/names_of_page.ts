import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { canonicalDomain } from "../../services/callers/canonical_domain.ts";
import { nameKey, namesOrganization } from "../../services/callers/login_name.ts";

/** What somebody typed as their login name, and the organization that the request names, or else the one that they typed. */
type Typed = {
  readonly loginName: string;
  readonly organizationId: string | undefined;
  readonly organization: string;
};

/**
 * Finds the organization in which a page looks up what was typed. Without one in the request, it is that of the page's field. With one, it
 * is that of the request, unless the name itself ends in the id of one. But if its users have login names of the directory, so may others
 * who sign in for it, and then it decides only about what ends in a domain that somebody has proven. None of this depends on who is there.
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

  /** The organization with a domain or an id; for any other text, an id that no organization has. */
  async function named(organization: string, signal: AbortSignal): Promise<string> {
    const domain = canonicalDomain(organization);
    const found = domain === undefined ? undefined : await holder({ domain }, signal);
    return found?.owner ?? organization.toLowerCase();
  }
}
