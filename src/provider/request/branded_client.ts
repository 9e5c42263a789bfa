import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { whereRegistrationIsOpen } from "../../services/policies/registration_policy.ts";
import { type Brand, type BrandRow, brandOf, brandTables, brandValue } from "../pages/brand.ts";
import { type Client, type ClientRow, clientColumn, clientOf, clientTables } from "./client.ts";

/** The branding of the organization that the user signs in for, if it has the project, else the application's own, else the instance's. */
export const brandColumn = (organization: string) => `(
      select ${brandValue} from ${brandTables}
      where b.owner in (a.owner, instance_id) or b.owner = ${organization} and exists (
        select from project_grants d where d.project_id = a.project_id and d.granted_organization_id = b.owner offset 0)
      order by b.owner = instance_id, b.owner = a.owner limit 1) as brand, h.name as "organizationName"`;

/** The columns of a client, of a branding, and the name of the client's organization. */
export type BrandedRow = {
  readonly client: ClientRow;
  readonly brand: BrandRow | null;
  readonly organizationName: string;
};

/** A client, the branding of the pages on the way to it, and the organization in which people may register on that way, if any. */
export type BrandedClient = {
  readonly client: Client;
  readonly brand: Brand;
  readonly registersIn?: string | undefined;
};

/** A client by its client id, and the organization that the user signs in for. */
export type ClientOf = { readonly clientId: string; readonly organizationId: string | undefined; readonly now: Date };

/** Reads a client together with the branding of the pages on the way to it. */
export function brandedClientRead(sql: Sql) {
  type Key = { readonly client_id: string; readonly now: string; readonly organization: string | null };
  const read = loadOne<Key, BrandedRow & { readonly registersIn: string | null }>(sql, {
    asked: "client_id text, now timestamptz, organization text",
    select: `select n, ${clientColumn}, ${brandColumn("asked.organization")},
      ${whereRegistrationIsOpen("coalesce(asked.organization, a.owner)")} as "registersIn" from asked join ${clientTables}`,
  });
  return async (of: ClientOf): Promise<BrandedClient | undefined> => {
    const { clientId: client_id, organizationId: organization = null, now } = of;
    const row = await read({ client_id, now: now.toISOString(), organization });
    const { registersIn = null } = row ?? {};
    const brand = row && brandOf(row.brand, row.organizationName);
    return row && brand && { client: clientOf(row.client), brand, registersIn: registersIn ?? undefined };
  };
}
