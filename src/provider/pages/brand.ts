import { createHash } from "node:crypto";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { logoPathOf } from "../../services/organizations/branding.ts";
import { type BrandColors, shownColors } from "../../services/organizations/shown_colors.ts";
import { paths } from "../http/paths.ts";

/** The branding of an organization's pages: the paths of its stylesheet and logo. */
export type Brand = {
  readonly organizationName: string;
  readonly stylePath: string;
  readonly logoPath: string | undefined;
};

export type BrandRow = BrandColors & {
  readonly organizationId: string;
  readonly name: string;
  readonly logoHash: string | null;
};

/** The branding `b` of an organization `o` as one JSON value. */
export const brandValue = `json_build_object('organizationId', b.owner, 'name', coalesce(o.name, ''), 'accentColor', b.accent_color,
        'backgroundColor', b.background_color, 'darkAccentColor', b.dark_accent_color,
        'darkBackgroundColor', b.dark_background_color,
        'logoHash', (select l.hash from branding_logos l where l.owner = b.owner and l.hash = b.logo_hash))`;

/** The tables for the brandings of active organizations, and of the instance. */
export const brandTables = `instance cross join brandings b
      left join organizations o on o.organization_id = b.owner and o.active and not o.deleted`;

export const brandRead = (sql: Sql) =>
  loadOne<{ organization: string }, { brand: BrandRow }>(sql, {
    asked: "organization text",
    select: `select n, ${brandValue} as brand from asked cross join ${brandTables}
             where b.owner = asked.organization and (b.owner = instance_id or o.organization_id is not null)`,
  });

export function brandOf(row: BrandRow): Brand {
  const { organizationId: organization, name: organizationName, logoHash } = row;
  const { hash } = styleOf(row);
  return {
    organizationName,
    stylePath: `${paths.brandStyle}?${new URLSearchParams({ organization, hash })}`,
    logoPath: logoHash === null ? undefined : logoPathOf(organization, logoHash),
  };
}

/** Writes a branding's stylesheet; the hash changes with the colours and with the way they are computed. */
export function styleOf(colors: BrandColors): { readonly css: string; readonly hash: string } {
  const { light, dark } = shownColors(colors);
  const css = `:root {${variablesOf(light)}}\n@media (prefers-color-scheme: dark) {\n:root {${variablesOf(dark)}}\n}\n`;
  return { css, hash: createHash("sha256").update(css).digest("base64url") };
}

const variablesOf = ({ accentColor, textColor, backgroundColor }: ReturnType<typeof shownColors>["light"]): string =>
  `--accent:${accentColor};--on-accent:${textColor};--ground:${backgroundColor}`;
