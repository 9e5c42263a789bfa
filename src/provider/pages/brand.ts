import { createHash } from "node:crypto";
import { type BrandTexts, imagePathOf } from "../../services/organizations/branding.ts";
import { type BrandColors, shownColors } from "../../services/organizations/shown_colors.ts";
import { paths } from "../http/paths.ts";

/** The branding of a page: the names, texts and links of an organization, and the paths of its stylesheet and images. */
export type Brand = BrandTexts & {
  readonly organizationName: string;
  readonly stylePath: string | undefined;
  readonly logoPath: string | undefined;
  readonly faviconPath: string | undefined;
};

export type BrandRow = BrandColors &
  BrandTexts & {
    readonly organizationId: string;
    readonly name: string;
    /** Whether the branding is the instance's default. */
    readonly isDefault: boolean;
    readonly logoHash: string | null;
    readonly faviconHash: string | null;
  };

/** The branding `b` of an organization `o` as one JSON value. */
export const brandValue = `json_build_object('organizationId', b.owner, 'name', coalesce(o.name, ''),
        'isDefault', b.owner = instance_id, 'accentColor', b.accent_color,
        'backgroundColor', b.background_color, 'darkAccentColor', b.dark_accent_color,
        'darkBackgroundColor', b.dark_background_color, 'productName', b.product_name, 'signInText', b.sign_in_text,
        'termsUri', b.terms_uri, 'privacyUri', b.privacy_uri, 'helpUri', b.help_uri,
        'logoHash', (select l.hash from branding_logos l where l.owner = b.owner and l.hash = b.logo_hash),
        'faviconHash', (select l.hash from branding_favicons l where l.owner = b.owner and l.hash = b.favicon_hash))`;

/** The tables for the brandings of active organizations, and of the instance. */
export const brandTables = `instance cross join brandings b
      left join organizations o on o.organization_id = b.owner and o.active and not o.deleted`;

/** The branding of pages that belong to no organization. */
export const plainBrand: Brand = {
  organizationName: "",
  productName: "",
  signInText: "",
  termsUri: "",
  privacyUri: "",
  helpUri: "",
  stylePath: undefined,
  logoPath: undefined,
  faviconPath: undefined,
};

/** The branding in force for an organization, by its name. An organization's own branding names its owner. */
export function brandOf(row: BrandRow | null, organizationName: string): Brand {
  if (!row) return { ...plainBrand, organizationName };
  const { organizationId: organization, name, isDefault, logoHash, faviconHash } = row;
  const { productName, signInText, termsUri, privacyUri, helpUri } = row;
  const { hash } = styleOf(row);
  return {
    productName,
    signInText,
    termsUri,
    privacyUri,
    helpUri,
    organizationName: isDefault ? organizationName : name,
    stylePath: `${paths.brandStyle}?${new URLSearchParams({ organization, hash })}`,
    logoPath: logoHash === null ? undefined : imagePathOf("logo", organization, logoHash),
    faviconPath: faviconHash === null ? undefined : imagePathOf("favicon", organization, faviconHash),
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
