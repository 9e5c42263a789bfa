import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { namesOrganization } from "../../services/callers/login_name.ts";

/** What somebody typed as their login name, and the organization that the request names. */
type Typed = { readonly loginName: string; readonly organizationId: string | undefined };

/**
 * Finds the organization in which a page looks up a login name: the one of the request if login names there are its own, unless the name
 * itself ends in one. It depends on the organization alone, so the page tells nobody who is in it.
 */
export function namesOfPage(sql: Sql) {
  const ownNames = loadOne<{ organization: string }, object>(sql, {
    asked: "organization text",
    select: `select n from asked join organizations o on o.organization_id = asked.organization
             where o.own_login_names and not o.deleted`,
  });
  return async ({ loginName, organizationId }: Typed, signal: AbortSignal): Promise<string | undefined> => {
    if (organizationId === undefined || namesOrganization(loginName)) return undefined;
    return (await ownNames({ organization: organizationId }, signal)) ? organizationId : undefined;
  };
}
