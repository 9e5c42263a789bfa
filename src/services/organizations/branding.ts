import { createHash } from "node:crypto";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type Branding,
  type OrganizationService,
  type SetBrandingRequest,
  SetBrandingRequestSchema,
} from "../../../gen/postern/v1/organization_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { messageRule, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { rasterOf } from "../../security/raster.ts";
import {
  type OwnRow,
  ownRow,
  type PolicyTable,
  placeOf,
  refuseOvertakenPolicy,
  rowInForce,
  standing,
} from "../policies/policy.ts";
import { type BrandColors, shownColors } from "./shown_colors.ts";

/** The branding of an organization's pages, or of the instance's. */
export const organizationBranding = ({ log, sql, clock }: Deps) => {
  const brandingInForce = rowInForce<StoredBranding>(sql, brandingTable);
  const brandingOf = ownRow<StoredBranding>(sql, brandingTable);

  return {
    async getBranding(request, call) {
      const row = await brandingInForce({ owner: organizationOf(call) }, call.signal);
      const colors = row ? colorsOf(row) : noColors;
      const logoPath = row && row.logoHash !== "" ? logoPathOf(row.owner, row.logoHash) : "";
      return { branding: colors, logoPath, ...shownColors(colors), ...standing(row, request, call) };
    },

    async setBranding(request, call) {
      const row = await brandingOf(call);
      refuseOvertakenPolicy(row, request);
      const { stored, secret } = brandingAfter(row, request);
      if (row.isSet && isSame(row, stored)) return log.append(call, [], { details: details(row) });
      const at = placeOf(row, { owner: organizationOf(call), stream: brandingStream, now: clock() });
      const { logoHash, logoType, ...branding } = stored;
      const value = { branding, logoHash, logoType };
      const set = factOf("organization", at, { case: "brandingSet", value }, secret);
      return log.append(call, [set], { details: detailsAfter(at) });
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

/** The path of a logo. It changes with the logo, so responses can be cached forever. */
export const logoPathOf = (organizationId: string, hash: string): string =>
  `${logoPath}?${new URLSearchParams({ organization: organizationId, hash })}`;

export const logoPath = "/sign-in/logo";

type StoredBranding = BrandColors & Readonly<Record<"logoHash" | "logoType", string>>;

// No object has an id with a full stop, so this cannot be one.
const brandingStream = "organization.branding";

const brandingTable: PolicyTable = {
  table: "brandings",
  stream: brandingStream,
  columns: `p.accent_color as "accentColor", p.background_color as "backgroundColor",
               p.dark_accent_color as "darkAccentColor", p.dark_background_color as "darkBackgroundColor",
               p.logo_hash as "logoHash", p.logo_type as "logoType"`,
};

const noColors: BrandColors = { accentColor: "", backgroundColor: "", darkAccentColor: "", darkBackgroundColor: "" };

const colorsOf = ({ accentColor, backgroundColor, darkAccentColor, darkBackgroundColor }: BrandColors) => ({
  accentColor: accentColor.toLowerCase(),
  backgroundColor: backgroundColor.toLowerCase(),
  darkAccentColor: darkAccentColor.toLowerCase(),
  darkBackgroundColor: darkBackgroundColor.toLowerCase(),
});

const isSame = (row: StoredBranding, stored: StoredBranding): boolean =>
  (Object.keys(stored) as (keyof StoredBranding)[]).every((key) => row[key] === stored[key]);

/** The branding that a request results in, with the bytes of a new logo. */
function brandingAfter(row: OwnRow<StoredBranding>, { branding, logo }: SetBrandingRequest) {
  const colors = colorsOf(branding ?? noColors);
  if (logo === undefined) {
    const { logoHash = "", logoType = "" } = row.isSet ? row : {};
    return { stored: { ...colors, logoHash, logoType } };
  }
  const type = rasterOf(logo)?.type;
  if (type === undefined) return { stored: { ...colors, logoHash: "", logoType: "" } };
  const logoHash = createHash("sha256").update(logo).digest("hex");
  return { stored: { ...colors, logoHash, logoType: type }, secret: { logo: Buffer.from(logo).toString("base64") } };
}

const mostPixels = 2_000;

export const brandingRules = [messageRule(SetBrandingRequestSchema, wrongLogo)];

/** Refuses a logo that is no image, or that would take a browser too much memory. */
function wrongLogo({ logo }: SetBrandingRequest): Violation[] {
  if (logo === undefined || logo.length === 0) return [];
  const raster = rasterOf(logo);
  const reason = raster ? "LOGO_TOO_LARGE" : "LOGO_TYPE";
  if (raster && Math.min(raster.width, raster.height) > 0 && Math.max(raster.width, raster.height) <= mostPixels)
    return [];
  return [{ field: "logo", text: reason, params: { max: mostPixels }, reason }];
}

const color = (name: keyof Branding) => `coalesce(f.payload->'branding'->>'${String(name)}', '')`;

/** The folds write the branding's row, and a separate one for the bytes of the logo. */
export const brandingFolds = {
  brandingSet: {
    views: [
      `insert into brandings as b (owner, accent_color, background_color, dark_accent_color, dark_background_color,
         logo_hash, logo_type, version, created, changed)
       select f.owner, ${color("accentColor")}, ${color("backgroundColor")}, ${color("darkAccentColor")},
         ${color("darkBackgroundColor")}, coalesce(f.payload->>'logoHash', ''), coalesce(f.payload->>'logoType', ''),
         f.version, f.time, f.time from $facts f
       on conflict (owner) do update set accent_color = excluded.accent_color,
         background_color = excluded.background_color, dark_accent_color = excluded.dark_accent_color,
         dark_background_color = excluded.dark_background_color, logo_hash = excluded.logo_hash,
         logo_type = excluded.logo_type, version = excluded.version, changed = excluded.changed`,
    ],
    credentials: [
      `insert into branding_logos as l (owner, hash, type, bytes)
       select i.owner, i.payload->>'logoHash', i.payload->>'logoType', decode(i.secret->>'logo', 'base64')
       from $input i where i.secret->>'logo' is not null
       on conflict (owner) do update set hash = excluded.hash, type = excluded.type, bytes = excluded.bytes`,
      `delete from branding_logos l using $input i where l.owner = i.owner and coalesce(i.payload->>'logoHash', '') = ''`,
    ],
  },
  brandingReset: {
    views: [`delete from brandings b using $facts f where b.owner = f.owner`],
    credentials: [`delete from branding_logos l using $facts f where l.owner = f.owner`],
  },
} satisfies Pick<NounFolds<"organization">, "brandingSet" | "brandingReset">;
