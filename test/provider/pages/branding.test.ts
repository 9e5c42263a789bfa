import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { onePixel, pngOf } from "../../fixture/images.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
import { type Application, application, authorizeUrl, issuerOf, signIn } from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await postern.admin.delete("/v1/branding");
});

const ours = () => ({ "x-service-orgid": postern.organizationId });

async function set(body: object, headers: Record<string, string> = ours()) {
  const answer = await postern.admin.put("/v1/branding", body, headers);
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
}

const stylesIn = ({ text }: Shown) =>
  [...text.matchAll(/<link rel="stylesheet" href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));
const logoIn = ({ text }: Shown) => /<img class="logo" src="([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
const pageOf = (app: Application, more = {}) => openBrowser(issuer).open(authorizeUrl(issuer, app, more));

test("the pages on the way to an application have the colours and the logo of its organization", async () => {
  const app = await application(postern.admin);
  const plain = await pageOf(app);
  expect([stylesIn(plain), logoIn(plain)]).toEqual([["/sign-in/style.css"], undefined]);
  expect(plain.headers.get("content-security-policy")).not.toContain("img-src");
  await set({ branding: { accentColor: "#00C8FF", backgroundColor: "#eef6f3" }, logo: onePixel });
  const page = await pageOf(app);
  const [, style = ""] = stylesIn(page);
  const css = await fetch(issuer + style);
  expect(await css.text()).toMatch(/^:root \{--accent:#00[0-9a-f]{4};--on-accent:#ffffff;--ground:#eef6f3\}\n@media/);
  expect(css.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  const logo = await fetch(issuer + logoIn(page));
  expect(Buffer.from(await logo.arrayBuffer()).toString("base64")).toBe(onePixel);
  const headers = ["content-type", "x-content-type-options", "content-security-policy", "cache-control"];
  expect(headers.map((name) => logo.headers.get(name))).toEqual([
    "image/png",
    "nosniff",
    "default-src 'none'; sandbox",
    "public, max-age=31536000, immutable",
  ]);
  const policy = page.headers.get("content-security-policy");
  expect(policy).toMatch(/^default-src 'none'; style-src 'self'; script-src 'self';.* img-src 'self'; form-action/);
  expect(page.text).not.toMatch(/<style|style=|<script(?! src)/);
});

test("what the pages would make of colours is said without changing anything, and said again of what is set", async () => {
  const body = { branding: { accentColor: "#ffff00" } };
  const shown = { light: { accentColor: "#7a7a00" }, dark: { accentColor: "#ffff00" } };
  const asked = await postern.admin.put("/v1/branding", { ...body, validateOnly: true }, ours());
  expect([asked.status, asked.body]).toMatchObject([200, shown]);
  expect(asked.body.details).toBeUndefined();
  expect((await postern.admin.get("/v1/branding", ours())).body.isDefault).toBe(true);
  const wrong = { branding: { ...body.branding, termsUri: "http://example.com" }, validateOnly: true };
  expect((await postern.admin.put("/v1/branding", wrong, ours())).status).toBe(400);
  const done = await postern.admin.put("/v1/branding", body, ours());
  expect(done.body).toMatchObject({ ...shown, details: { sequence: expect.any(String) } });
});

test("the form after a wrong password has the look, too", async () => {
  await set({ branding: { accentColor: "#00527a" }, logo: onePixel });
  const [app, person] = [await application(postern.admin), await signedUp(postern)];
  const wrong = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), { ...person, password: "wrong" });
  expect([wrong.status, stylesIn(wrong).length, logoIn(wrong)]).toEqual([401, 2, expect.any(String)]);
});

test("a forgotten password keeps the look of the sign-in that it interrupted", async () => {
  await set({ branding: { accentColor: "#00527a" }, logo: onePixel });
  const [app, browser] = [await application(postern.admin), openBrowser(issuer)];
  const plain = await browser.open(`${issuer}/password/forgotten`);
  const asked = await browser.submit(await browser.open(authorizeUrl(issuer, app)), {}, "forgotten");
  expect([stylesIn(plain).length, stylesIn(asked).length, logoIn(asked)]).toEqual([1, 2, expect.any(String)]);
  expect(asked.headers.get("content-security-policy")).toContain("img-src 'self'");
  await postern.admin.post(`/v1/projects/${app.projectId}/applications/${app.appId}:deactivate`);
  const left = await browser.open(`${issuer}/password`);
  expect([left.status, stylesIn(left).length]).toEqual([200, 1]);
});

test("the organization that is signed in for lends its look only where it has the project", async () => {
  const app = await application(postern.admin);
  const [partner, other] = [await organization(postern), await organization(postern)];
  await set({ branding: { accentColor: "#111111" } });
  for (const one of [partner, other]) await set({ branding: { accentColor: "#222222" } }, { "x-service-orgid": one });
  const grant = { grantedOrganizationId: partner, roleKeys: [] };
  const granted = await postern.admin.post(`/v1/projects/${app.projectId}/grants`, grant);
  expect(granted.status).toBe(200);
  const accentFor = async (id: string | undefined) => {
    const scope = id === undefined ? "openid" : `openid urn:postern:organization:id:${id}`;
    const [, style = ""] = stylesIn(await pageOf(app, { scope }));
    return /--accent:(#\w+)/.exec(await (await fetch(issuer + style)).text())?.[1];
  };
  expect(await Promise.all([undefined, partner, other, "nobody", "'\\"].map(accentFor))).toEqual([
    "#111111",
    "#222222",
    "#111111",
    "#111111",
    "#111111",
  ]);
});

test("the instance's default is in force where an organization has none of its own", async () => {
  const app = await application(postern.admin);
  await set({ instance: true, branding: { accentColor: "#333333" }, logo: onePixel });
  const read = async () => (await postern.admin.get("/v1/branding", ours())).body;
  expect(await read()).toMatchObject({ isDefault: true, branding: { accentColor: "#333333" } });
  expect(logoIn(await pageOf(app))).toBe((await read()).logoPath);
  await set({ branding: { accentColor: "#444444" } });
  expect(await read()).toMatchObject({ isDefault: false, branding: { accentColor: "#444444" }, logoPath: "" });
  expect(logoIn(await pageOf(app))).toBe(undefined);
  await postern.admin.delete("/v1/branding?instance=true");
});

test("colours are read back as they were set and as they are shown, and a logo stays until another comes", async () => {
  const here = { "x-service-orgid": await organization(postern) };
  const read = async () => (await postern.admin.get("/v1/branding", here)).body;
  expect(await read()).toMatchObject({ isDefault: true, logoPath: "", light: { accentColor: "#1a4fba" } });
  await set({ branding: { accentColor: "#FFEE00" }, logo: onePixel }, here);
  const first = await read();
  expect(first).toMatchObject({ branding: { accentColor: "#ffee00" }, dark: { accentColor: "#ffee00" } });
  expect(first.light.accentColor).not.toBe("#ffee00");
  await set({ branding: {} }, here);
  expect(await read()).toMatchObject({ branding: { accentColor: "" }, logoPath: first.logoPath });
  await set({ branding: {}, logo: pngOf(10, 10).toString("base64") }, here);
  const next = await read();
  expect(next.logoPath).not.toBe(first.logoPath);
  expect([(await fetch(issuer + first.logoPath)).status, (await fetch(issuer + next.logoPath)).status]).toEqual([
    404, 200,
  ]);
  await set({ branding: {}, logo: "" }, here);
  expect([(await read()).logoPath, (await fetch(issuer + next.logoPath)).status]).toEqual(["", 404]);
});

test("the log has the hash of a logo, and not its bytes", async () => {
  const organizationId = await organization(postern);
  await set({ branding: {}, logo: onePixel }, { "x-service-orgid": organizationId });
  await using probe = openProbe(postern.databaseUrl);
  const rows = await probe.sql`select type, payload from events where owner = ${organizationId} order by time`;
  expect(rows.at(-1)).toMatchObject({
    type: "organization.branding_set",
    payload: { logoHash: expect.stringMatching(/^[0-9a-f]{64}$/), logoType: "image/png" },
  });
  expect(JSON.stringify(rows)).not.toContain(onePixel.slice(0, 20));
});

test.each([
  ["an image that is not one", Buffer.from("<svg onload=alert(1)>").toString("base64")],
  ["an image of too many pixels", pngOf(65_535, 65_535).toString("base64")],
  ["an image without pixels", pngOf(0, 5).toString("base64")],
  ["an image of more than 64 KiB", pngOf(10, 10, 65_537).toString("base64")],
])("%s is refused as the logo", async (_, logo) => {
  const { status, body } = await postern.admin.put("/v1/branding", { branding: {}, logo }, ours());
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('"field":"logo"')]);
});

test("a logo of 64 KiB fits", async () => {
  await set({ branding: {}, logo: pngOf(10, 10, 65_536).toString("base64") });
});

test.each(["", "?organization=x&hash=y", `?organization=${"x".repeat(7_000)}`, "?organization=%00&hash=%00"])(
  "a file that nobody has is not found: %s",
  async (query) => {
    for (const path of ["/sign-in/logo", "/sign-in/brand.css"])
      expect((await fetch(issuer + path + query)).status).toBe(404);
  },
);

test("an earlier stylesheet is answered by the present one, which nobody keeps", async () => {
  await set({ branding: { accentColor: "#00527a" } });
  const stale = `/sign-in/brand.css?organization=${postern.organizationId}&hash=${randomBytes(8).toString("hex")}`;
  const answer = await fetch(issuer + stale);
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(await answer.text()).toContain("--accent:#00527a");
});
