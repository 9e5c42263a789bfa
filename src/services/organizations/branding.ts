import type { ServiceImpl } from "@connectrpc/connect";
import {
  type OrganizationService,
  type SetBrandingRequest,
  SetBrandingRequestSchema,
} from "../../../gen/postern/v1/organization_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import type { Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { messageRule } from "../../rules.ts";
import {
  type OwnRow,
  ownRow,
  type PolicyTable,
  placeOf,
  refuseOvertakenPolicy,
  rowInForce,
  standing,
} from "../policies/policy.ts";
import { type BrandImage, dropImages, imageAfter, keepImage, secretOf, wrongImage } from "./brand_image.ts";
import { type BrandColors, shownColors } from "./shown_colors.ts";

/** The branding of an organization's pages, or of the instance's. */
export const organizationBranding = ({ log, sql, clock }: Deps) => {
  const brandingInForce = rowInForce<StoredBranding>(sql, brandingTable);
  const brandingOf = ownRow<StoredBranding>(sql, brandingTable);

  return {
    async getBranding(request, call) {
      const row = await brandingInForce({ owner: organizationOf(call) }, call.signal);
      const branding = row ? brandingIn(row) : noBranding;
      return { branding, ...pathsIn(row), ...shownColors(branding), ...standing(row, request, call) };
    },

    async setBranding(request, call) {
      const row = await brandingOf(call);
      refuseOvertakenPolicy(row, request);
      const { stored, secret } = brandingAfter(row, request);
      const shown = shownColors(stored);
      if (request.validateOnly || (row.isSet && isSame(row, stored)))
        return log.append(call, [], { ...(row.isSet && { details: details(row) }), ...shown });
      const at = placeOf(row, { owner: organizationOf(call), stream: brandingStream, now: clock() });
      const { logoHash, logoType, faviconHash, faviconType, ...branding } = stored;
      const value = { branding, logoHash, logoType, faviconHash, faviconType };
      const set = factOf("organization", at, { case: "brandingSet", value }, secret);
      return log.append(call, [set], { details: detailsAfter(at), ...shown });
    },

    async resetBranding(_request, call) {
      const row = await brandingOf(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("organization", at, { case: "brandingReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof OrganizationService>>;
};

/** The path of an image. It changes with the image, so responses can be cached forever. */
export const imagePathOf = (image: BrandImage, organization: string, hash: string): string =>
  `${imagePaths[image]}?${new URLSearchParams({ organization, hash })}`;

export const imagePaths = { logo: "/sign-in/logo", favicon: "/sign-in/favicon" } as const;

/** The paths of the images of the branding in force, as a response shows them. */
const pathsIn = (row: (StoredBranding & Versioned) | undefined) => ({
  logoPath: row?.logoHash ? imagePathOf("logo", row.owner, row.logoHash) : "",
  faviconPath: row?.faviconHash ? imagePathOf("favicon", row.owner, row.faviconHash) : "",
});

/** The texts and links of a branding; empty if it has none. */
export type BrandTexts = Readonly<Record<"productName" | "signInText" | "termsUri" | "privacyUri" | "helpUri", string>>;

type StoredBranding = BrandColors &
  BrandTexts &
  Readonly<Record<"logoHash" | "logoType" | "faviconHash" | "faviconType", string>>;

// No object has an id with a full stop, so this cannot be one.
const brandingStream = "organization.branding";

const brandingTable: PolicyTable = {
  table: "brandings",
  stream: brandingStream,
  columns: `p.accent_color as "accentColor", p.background_color as "backgroundColor",
               p.dark_accent_color as "darkAccentColor", p.dark_background_color as "darkBackgroundColor",
               p.product_name as "productName", p.sign_in_text as "signInText", p.terms_uri as "termsUri",
               p.privacy_uri as "privacyUri", p.help_uri as "helpUri", p.logo_hash as "logoHash", p.logo_type as "logoType",
               p.favicon_hash as "faviconHash", p.favicon_type as "faviconType"`,
};

type Content = BrandColors & BrandTexts;

const noBranding: Content = {
  accentColor: "",
  backgroundColor: "",
  darkAccentColor: "",
  darkBackgroundColor: "",
  productName: "",
  signInText: "",
  termsUri: "",
  privacyUri: "",
  helpUri: "",
};

const brandingIn = ({ accentColor, backgroundColor, darkAccentColor, darkBackgroundColor, ...rest }: Content) => ({
  accentColor: accentColor.toLowerCase(),
  backgroundColor: backgroundColor.toLowerCase(),
  darkAccentColor: darkAccentColor.toLowerCase(),
  darkBackgroundColor: darkBackgroundColor.toLowerCase(),
  productName: rest.productName,
  signInText: rest.signInText,
  termsUri: rest.termsUri,
  privacyUri: rest.privacyUri,
  helpUri: rest.helpUri,
});

const isSame = (row: StoredBranding, stored: StoredBranding): boolean =>
  (Object.keys(stored) as (keyof StoredBranding)[]).every((key) => row[key] === stored[key]);

/** The branding that results from a request, with the bytes of new images. */
function brandingAfter(row: OwnRow<StoredBranding>, { branding, logo, favicon }: SetBrandingRequest) {
  const before = row.isSet ? row : { logoHash: "", logoType: "", faviconHash: "", faviconType: "" };
  const logoAfter = imageAfter({ hash: before.logoHash, type: before.logoType }, logo);
  const faviconAfter = imageAfter({ hash: before.faviconHash, type: before.faviconType }, favicon);
  const stored: StoredBranding = {
    ...brandingIn(branding ?? noBranding),
    logoHash: logoAfter.hash,
    logoType: logoAfter.type,
    faviconHash: faviconAfter.hash,
    faviconType: faviconAfter.type,
  };
  return { stored, secret: secretOf({ ...(logo && { logo }), ...(favicon && { favicon }) }) };
}

export const brandingRules = [
  messageRule(SetBrandingRequestSchema, (request) => [
    ...wrongImage("logo", request.logo),
    ...wrongImage("favicon", request.favicon),
    ...wrongLinks(request),
  ]),
];

const links = ["termsUri", "privacyUri", "helpUri"] as const;

/** Refuses links that a browser would not open over TLS, or that look like another site's. */
function wrongLinks({ branding }: SetBrandingRequest): Violation[] {
  return links
    .filter((name) => branding && branding[name] !== "" && !isLink(branding[name]))
    .map((name) => ({ field: `branding.${name}`, text: "LINK_URI", reason: "LINK_URI" }));
}

function isLink(text: string): boolean {
  if (!/^https:\/\/[^\s\p{Cc}\p{Cf}\\<>"/?#][^\s\p{Cc}\p{Cf}\\<>"]*$/iu.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}

const columns: Readonly<Record<keyof Content, string>> = {
  accentColor: "accent_color",
  backgroundColor: "background_color",
  darkAccentColor: "dark_accent_color",
  darkBackgroundColor: "dark_background_color",
  productName: "product_name",
  signInText: "sign_in_text",
  termsUri: "terms_uri",
  privacyUri: "privacy_uri",
  helpUri: "help_uri",
};
const images = ["logo_hash", "logo_type", "favicon_hash", "favicon_type"] as const;

const contents = Object.keys(columns).map((name) => `coalesce(f.payload->'branding'->>'${name}', '')`);
const imagesIn = ["logoHash", "logoType", "faviconHash", "faviconType"].map(
  (name) => `coalesce(f.payload->>'${name}', '')`,
);
const named = [...Object.values(columns), ...images];

/** The folds write the branding's row, and separate ones for the bytes of its images. */
export const brandingFolds = {
  brandingSet: {
    views: [
      `insert into brandings as b (owner, ${named.join(", ")}, version, created, changed)
       select f.owner, ${[...contents, ...imagesIn].join(", ")}, f.version, f.time, f.time from $facts f
       on conflict (owner) do update set ${named.map((column) => `${column} = excluded.${column}`).join(", ")},
         version = excluded.version, changed = excluded.changed`,
    ],
    credentials: [...keepImage("logo"), ...keepImage("favicon")],
  },
  brandingReset: {
    views: [`delete from brandings b using $facts f where b.owner = f.owner`],
    credentials: [...dropImages("owner")],
  },
} satisfies Pick<NounFolds<"organization">, "brandingSet" | "brandingReset">;
