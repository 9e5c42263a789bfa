import { createHash } from "node:crypto";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { logoPathOf } from "../services/organizations/branding.ts";
import { type BrandColors, shownColors } from "../services/organizations/shown_colors.ts";
import { type Client, type ClientRow, clientColumn, clientOf, clientTables } from "./client.ts";
import { paths } from "./discovery.ts";

/** The look that an organization gave its pages: the paths of its stylesheet and of its logo. */
export type Brand = {
  readonly organizationName: string;
  readonly stylePath: string;
  readonly logoPath: string | undefined;
};

/** A branding as a row holds it. */
export type BrandRow = BrandColors & {
  readonly organizationId: string;
  readonly name: string;
  readonly logoHash: string | null;
};

const brandValue = `json_build_object('organizationId', b.owner, 'name', coalesce(o.name, ''), 'accentColor', b.accent_color,
        'backgroundColor', b.background_color, 'darkAccentColor', b.dark_accent_color,
        'darkBackgroundColor', b.dark_background_color,
        'logoHash', (select l.hash from branding_logos l where l.owner = b.owner and l.hash = b.logo_hash))`;

const brandTables = `instance cross join brandings b
      left join organizations o on o.organization_id = b.owner and o.active and not o.deleted`;

// The organization that is signed in for comes first, where it has the project; then the one of the application, and the instance.
const brandColumn = `(
      select ${brandValue} from ${brandTables}
      where b.owner in (a.owner, instance_id) or b.owner = asked.organization and exists (
        select from project_grants d where d.project_id = a.project_id and d.granted_organization_id = b.owner offset 0)
      order by b.owner = instance_id, b.owner = a.owner limit 1) as brand`;

/** A client by its client id, and the organization that the user is to be signed in for. */
export type ClientOf = { readonly clientId: string; readonly organizationId: string | undefined; readonly now: Date };

/** Reads a client together with the look of the pages on the way to it. */
export function brandedClientRead(sql: Sql) {
  type Key = { readonly client_id: string; readonly now: string; readonly organization: string | null };
  const read = loadOne<Key, { client: ClientRow; brand: BrandRow | null }>(sql, {
    asked: "client_id text, now timestamptz, organization text",
    select: `select n, ${clientColumn}, ${brandColumn} from asked join ${clientTables}`,
  });
  return async (of: ClientOf): Promise<{ client: Client; brand: Brand | undefined } | undefined> => {
    const { clientId: client_id, organizationId: organization = null, now } = of;
    const row = await read({ client_id, now: now.toISOString(), organization });
    return row && { client: clientOf(row.client), brand: row.brand ? brandOf(row.brand) : undefined };
  };
}

/** Reads the branding of an organization. */
export const brandRead = (sql: Sql) =>
  loadOne<{ organization: string }, { brand: BrandRow }>(sql, {
    asked: "organization text",
    select: `select n, ${brandValue} as brand from asked cross join ${brandTables}
             where b.owner = asked.organization and (b.owner = instance_id or o.organization_id is not null)`,
  });

function brandOf(row: BrandRow): Brand {
  const { organizationId: organization, name: organizationName, logoHash } = row;
  const { hash } = styleOf(row);
  return {
    organizationName,
    stylePath: `${paths.brandStyle}?${new URLSearchParams({ organization, hash })}`,
    logoPath: logoHash === null ? undefined : logoPathOf(organization, logoHash),
  };
}

/** Writes the stylesheet of a branding; its hash changes with the colours, and with how they are computed. */
export function styleOf(colors: BrandColors): { readonly css: string; readonly hash: string } {
  const { light, dark } = shownColors(colors);
  const css = `:root {${variablesOf(light)}}\n@media (prefers-color-scheme: dark) {\n:root {${variablesOf(dark)}}\n}\n`;
  return { css, hash: createHash("sha256").update(css).digest("base64url") };
}

const variablesOf = ({ accentColor, textColor, backgroundColor }: ReturnType<typeof shownColors>["light"]): string =>
  `--accent:${accentColor};--on-accent:${textColor};--ground:${backgroundColor}`;
