import type { BrandingJson, GetBrandingResponseJson } from "../../gen/postern/v1/organization_pb.ts";
import { call } from "../calls/client.ts";
import { useCall } from "../calls/use_call.ts";
import type { Version } from "../parts/conflict.tsx";
import { EditCard } from "../parts/edit_card.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import { Read } from "../parts/page.tsx";
import type { Save } from "../parts/version_form.tsx";
import { Back, type Owner, ownerOf, Whose } from "../policies/standing.tsx";
import { may } from "../sign_in/me.ts";
import { brandingTexts } from "../texts/branding.ts";
import { t } from "../texts/text.ts";
import { isColor, plain } from "./colors.ts";
import { colorControl, ImageControl, shownColor, shownImage } from "./controls.tsx";
import { type ColorsQuestion, Preview } from "./preview.tsx";

type BrandingCardProps = {
  readonly of: Owner;
  /** The name of the organization, which the pages show. */
  readonly name: string;
};

/** The look of the pages on which people sign in. */
export function BrandingCard({ of, name }: BrandingCardProps) {
  const { organizationId } = of;
  const about = organizationId ? {} : { instance: true };
  const reading = useCall("OrganizationService/GetBranding", about, { organizationId });
  const versionOf = (now: GetBrandingResponseJson): Version => ({
    values: valuesOf(now),
    sequence: ownerOf(now, of) === "own" ? (now.details?.sequence ?? "0") : "0",
  });
  const read = async () => versionOf(await call("OrganizationService/GetBranding", about, { organizationId }));
  const mayEdit = may("OrganizationService/SetBranding", of);
  return (
    <Read of={reading}>
      {(now) => {
        const save = async ({ draft, expectedSequence, key }: Save) => {
          const isOwn = ownerOf(now, of) === "own";
          const [logo, favicon] = await Promise.all([imageOf(draft.logo, isOwn), imageOf(draft.favicon, isOwn)]);
          const request = { ...about, branding: brandingOf(draft), ...named({ logo, favicon }), expectedSequence };
          await call("OrganizationService/SetBranding", request, { organizationId, key });
        };
        const reset = (key: string) => call("OrganizationService/ResetBranding", about, { organizationId, key });
        return (
          <EditCard
            title={t(brandingTexts.branding)}
            beside={<Whose standing={now} of={of} />}
            about={t(brandingTexts.about)}
            fields={fields()}
            version={versionOf(now)}
            mayEdit={mayEdit}
            read={read}
            save={save}
            onSaved={reading.reload}
            actions={mayEdit && <Back standing={now} of={of} reset={reset} onDone={reading.reload} />}
            preview={(draft) => (
              <Preview draft={draft} organization={name} shown={now} question={questionOf(draft, now, of)} />
            )}
          />
        );
      }}
    </Read>
  );
}

/** Asks how the pages would adjust the colours in the draft, if it changed any; an incomplete colour counts as none. */
function questionOf(draft: Draft, now: GetBrandingResponseJson, { organizationId }: Owner): ColorsQuestion | undefined {
  const colorsIn = (values: Draft) =>
    Object.fromEntries(colorNames.map((name) => [name, isColor(values[name]) ? values[name] : ""]));
  const about = colorsIn(draft);
  if (JSON.stringify(about) === JSON.stringify(colorsIn(valuesOf(now)))) return undefined;
  const request = { ...(organizationId ? {} : { instance: true }), branding: about, validateOnly: true as const };
  return {
    about,
    ask: (signal) => call("OrganizationService/SetBranding", request, { organizationId, signal }),
  };
}

const texts = ["productName", "signInText", "termsUri", "privacyUri", "helpUri"] as const;
const colors = {
  accentColor: plain.light.accent,
  backgroundColor: plain.light.ground,
  darkAccentColor: plain.dark.accent,
  darkBackgroundColor: plain.dark.ground,
} as const;
type Color = keyof typeof colors;
const colorNames = Object.keys(colors) as Color[];
const images = ["logo", "favicon"] as const;

function fields(): readonly Field[] {
  const helps: Partial<Record<string, string>> = {
    darkAccentColor: t(brandingTexts.darkAccentAbout),
    signInText: t(brandingTexts.signInTextAbout),
    logo: t(brandingTexts.imageAbout),
    favicon: t(brandingTexts.imageAbout),
  };
  const field = (name: Color | (typeof texts)[number] | (typeof images)[number]): Field => ({
    name,
    label: t(brandingTexts[name]),
    isOptional: true,
    ...(helps[name] ? { help: helps[name] } : {}),
  });
  return [
    field("productName"),
    ...images.map((name): Field => ({ ...field(name), control: ImageControl, shown: shownImage })),
    ...colorNames.map((name): Field => ({ ...field(name), control: colorControl(colors[name]), shown: shownColor })),
    ...texts.slice(1).map(field),
  ];
}

const valuesOf = ({ branding = {}, logoPath = "", faviconPath = "" }: GetBrandingResponseJson): Draft => ({
  ...Object.fromEntries([...texts, ...colorNames].map((name) => [name, branding[name] ?? ""])),
  logo: logoPath,
  favicon: faviconPath,
});

const brandingOf = (draft: Draft): BrandingJson =>
  Object.fromEntries([...texts, ...colorNames].map((name) => [name, String(draft[name] ?? "")]));

/** The image in the form of a call: absent if it stays. The instance's is not the organization's yet, so it is sent. */
async function imageOf(value: Draft[string] | undefined, isOwn: boolean): Promise<string | undefined> {
  const text = String(value ?? "");
  if (text.startsWith("data:")) return text.slice(text.indexOf(",") + 1);
  if (text === "") return "";
  return isOwn ? undefined : base64Of(await (await fetch(text)).arrayBuffer());
}

const base64Of = (bytes: ArrayBuffer): string =>
  btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(""));

/** The values that are present. */
const named = (values: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
