import { onePixel, pngOf } from "../fixture/images.ts";
import { organization } from "../harness.ts";
import { malformed, type Scene, type Stage, within } from "./stage.ts";

const content = {
  ...{ productName: " Harbour Cloud ", signInText: "Call 555." },
  ...{
    termsUri: "https://example.com/terms",
    privacyUri: "https://example.com/p#1",
    helpUri: "https://example.com/?a=b",
  },
};
const colors = { accentColor: "#00FFAA", darkBackgroundColor: "#000000" };

/** An organization of its own with a branding, or without one. */
async function place({ postern, admin }: Stage, branding?: object) {
  const headers = within(await organization(postern));
  if (branding) await admin.put("/v1/branding", branding, headers);
  const see = async () => {
    const { body } = await admin.get("/v1/branding", headers);
    const [logoPath, faviconPath] = [body.logoPath, body.faviconPath].map((path) =>
      path.replace(/organization=[^&]*/, ""),
    );
    return { ...body, logoPath, faviconPath };
  };
  return { headers, see };
}

const set = "OrganizationService.SetBranding";

const wrong = (name: string, fields: readonly string[], request: Record<string, string | object>): Scene => ({
  ...{ rpc: set, name, says: "VALIDATION_FAILED", fields },
  given: async (stage) => ({ request: request as Record<string, never>, ...(await place(stage)) }),
});

/** Every way in which a call about branding can end. */
export const brandingScenes: readonly Scene[] = [
  {
    ...{ rpc: "OrganizationService.GetBranding", name: "built in", says: "OK" },
    given: async (stage) => ({ request: {}, ...(await place(stage)) }),
  },
  {
    ...{ rpc: "OrganizationService.GetBranding", name: "of another organization", says: "PERMISSION_DENIED" },
    given: ({ stranger, strict }) => ({ request: {}, by: stranger, headers: within(strict) }),
  },
  {
    ...{ rpc: set, name: "sets colours and a logo", says: "OK" },
    given: async (stage) => ({ request: { branding: colors, logo: onePixel }, ...(await place(stage)) }),
  },
  {
    ...{ rpc: set, name: "sets texts, links and a favicon", says: "OK" },
    given: async (stage) => ({ request: { branding: content, favicon: onePixel }, ...(await place(stage)) }),
  },
  {
    ...{ rpc: set, name: "removes texts, links and the favicon", says: "OK" },
    given: async (stage) => ({
      request: { branding: {}, favicon: "" },
      ...(await place(stage, { branding: content, logo: onePixel, favicon: onePixel })),
    }),
  },
  {
    ...{ rpc: set, name: "keeps the logo", says: "OK" },
    given: async (stage) => ({
      request: { branding: {} },
      ...(await place(stage, { branding: colors, logo: onePixel })),
    }),
  },
  {
    ...{ rpc: set, name: "removes the logo", says: "OK" },
    given: async (stage) => ({
      request: { branding: colors, logo: "" },
      ...(await place(stage, { branding: colors, logo: onePixel })),
    }),
  },
  {
    ...{ rpc: set, name: "as it is", says: "OK" },
    given: async (stage) => ({
      request: { branding: colors, logo: onePixel },
      ...(await place(stage, { branding: colors, logo: onePixel })),
    }),
  },
  {
    ...{ rpc: set, name: "by somebody else", says: "PERMISSION_DENIED" },
    given: ({ stranger }) => ({ request: { branding: {} }, by: stranger }),
  },
  wrong("without one", ["branding"], {}),
  wrong("in colours by name", ["branding.accentColor", "branding.darkAccentColor"], {
    branding: { accentColor: "red", darkAccentColor: "#12345" },
  }),
  wrong("with a long name and a text of two lines", ["branding.productName", "branding.signInText"], {
    branding: { productName: "x".repeat(101), signInText: "a\nb" },
  }),
  wrong("with links that are not https", ["branding.termsUri", "branding.privacyUri", "branding.helpUri"], {
    branding: { termsUri: "http://example.com", privacyUri: "javascript:alert(1)", helpUri: "https://a@b.example" },
  }),
  wrong("with a favicon that is no image", ["favicon"], {
    branding: {},
    favicon: Buffer.from("<svg/>").toString("base64"),
  }),
  wrong("with a favicon of too many bytes", ["favicon"], {
    branding: {},
    favicon: pngOf(9, 9, 16_385).toString("base64"),
  }),
  wrong("with a logo that is no image", ["logo"], { branding: {}, logo: Buffer.from("<svg/>").toString("base64") }),
  wrong("with a logo of too many pixels", ["logo"], { branding: {}, logo: pngOf(2001, 1).toString("base64") }),
  {
    ...{ rpc: set, name: "with a logo that is no base64", says: "VALIDATION_FAILED", fields: ["logo"] },
    ...{ malformed: malformed.fields, not: { binary: "bytes of any kind are a value there" } },
    given: async (stage) => ({ request: { branding: {}, logo: "%" }, ...(await place(stage)) }),
  },
  {
    ...{ rpc: "OrganizationService.ResetBranding", name: "removes it", says: "OK" },
    given: async (stage) => ({ request: {}, ...(await place(stage, { branding: colors, logo: onePixel })) }),
  },
  {
    ...{ rpc: "OrganizationService.ResetBranding", name: "without one", says: "OK" },
    given: async (stage) => ({ request: {}, ...(await place(stage)) }),
  },
  {
    ...{ rpc: "OrganizationService.ResetBranding", name: "by somebody else", says: "PERMISSION_DENIED" },
    given: ({ stranger }) => ({ request: {}, by: stranger }),
  },
];
