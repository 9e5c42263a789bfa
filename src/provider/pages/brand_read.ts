import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type Brand, type BrandRow, brandOf, brandTables, brandValue, plainBrand } from "./brand.ts";

type Row = { readonly name: string; readonly brand: BrandRow | null };

export type Brands = ReturnType<typeof brandsRead>;

/** Reads the branding of pages that belong to no application. */
export function brandsRead(sql: Sql) {
  const read = loadOne<{ organization: string | null }, Row>(sql, {
    asked: "organization text",
    select: `select n, coalesce(h.name, '') as name, (
        select ${brandValue} from ${brandTables} where b.owner in (asked.organization, instance_id)
        order by b.owner = instance_id limit 1) as brand
      from asked cross join instance
      left join organizations h on h.organization_id = asked.organization and not h.deleted`,
  });
  return {
    /** For pages shown before it is known who asks. */
    ofInstance: () => ofNamed(undefined),
    /** For pages of a user of this organization. */
    async ofOrganization(organization: string): Promise<Brand> {
      const row = await read({ organization });
      return row ? brandOf(row.brand, row.name) : plainBrand;
    },
    ofNamed,
  };

  /** For pages of an organization that anybody may have named: only its own branding reveals that it exists. */
  async function ofNamed(organization: string | undefined): Promise<Brand> {
    const row = await read({ organization: organization ?? null });
    return row ? brandOf(row.brand, "") : plainBrand;
  }
}
