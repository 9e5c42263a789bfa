import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { withTotp } from "../../fixture/factors.ts";
import { onePixel, pngOf } from "../../fixture/images.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { allMails, mailsTo } from "../../notify/mail_log.ts";
import { application, authorizeUrl, issuerOf, signIn } from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";

const links = {
  termsUri: "https://example.com/terms#all",
  privacyUri: "https://example.com/@us/privacy?a=1&b=2",
  helpUri: "https://help.example.com/",
};
const branding = { productName: "Harbour Cloud", signInText: "Call 555 <b>now</b>.", ...links };

let postern: Postern;
let issuer: string;
let ours: Record<string, string>;
let name: string;
beforeAll(async () => {
  postern = await startPostern();
  issuer = issuerOf(postern);
  ours = { "x-service-orgid": postern.organizationId };
  name = (await postern.admin.get(`/v1/organizations/${postern.organizationId}`)).body.organization.name;
  const instance = await postern.admin.put("/v1/branding", {
    ...{ instance: true, branding: { productName: "The Instance", helpUri: "https://instance.example/help" } },
  });
  const own = await postern.admin.put("/v1/branding", { branding, logo: onePixel, favicon: onePixel }, ours);
  expect([instance.status, own.status]).toEqual([200, 200]);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const unescaped = (text: string) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** What a page says about whose it is. */
function whoseIs({ text, headers }: Shown) {
  const head = /<header>(.*?)<\/header>/s.exec(text)?.[1] ?? "";
  return {
    names: [...head.matchAll(/<(b|span)>([^<]*)</g)].map(([, , said = ""]) => said),
    title: /<title>[^<]* · ([^<]*)<\/title>/.exec(text)?.[1],
    images: [/<img class="logo"/.test(head), /<link rel="icon" href="\/sign-in\/favicon\?/.test(text)],
    allowed: /img-src[^;]*/.exec(headers.get("content-security-policy") ?? "")?.[0],
    links: [...text.matchAll(/<a href="([^"]*)" target="_blank" rel="noopener noreferrer">/g)].map(([, uri = ""]) =>
      unescaped(uri),
    ),
  };
}

const organizations = () => ({
  names: ["Harbour Cloud", name],
  title: "Harbour Cloud",
  images: [true, true],
  allowed: "img-src 'self'",
  links: Object.values(links),
});
const instances = {
  names: ["The Instance"],
  title: "The Instance",
  images: [false, false],
  allowed: undefined,
  links: ["https://instance.example/help"],
};

test("every page on the way to an application says whose it is: forms, questions, errors, and the way back", async () => {
  const [app, ben] = [await application(postern.admin), await withTotp(postern)];
  const browser = openBrowser(issuer);
  const url = authorizeUrl(issuer, app, { prompt: "consent" });
  const form = await browser.open(url);
  const wrong = await signIn(browser, url, { ...ben, password: "wrong" });
  const factor = await signIn(browser, url, ben);
  const consent = await browser.submit(factor, { code: ben.code() }, "factor");
  const accounts = await browser.open(authorizeUrl(issuer, app, { prompt: "select_account" }));
  const back = await browser.submit(consent, {}, "cancel");
  const expired = await openBrowser(issuer).submit(form, { login_name: "x", password: "x" });
  const left = await browser.open(`${issuer}/oauth/end-session?client_id=${app.clientId}`);
  const stayed = await browser.submit(left, {}, "cancel");
  const pages = { form, wrong, factor, consent, accounts, back, expired, left, stayed };
  for (const [page, shown] of Object.entries(pages)) expect([page, whoseIs(shown)]).toEqual([page, organizations()]);
  expect(expired.status).toBe(403);
  expect(form.text).toContain(`<p class="note">Call 555 &lt;b&gt;now&lt;/b&gt;.</p>`);
  expect(factor.text).not.toContain("Call 555");
});

test("the account pages are those of the user's organization, the sign-in that they ask for again too", async () => {
  const ben = await withTotp(postern);
  const browser = openBrowser(issuer);
  const form = await browser.open(`${issuer}/account`);
  expect(whoseIs(form)).toEqual(instances);
  expect(form.text).toContain(pageText("to_account", "en"));
  const home = await browser.submit(await signIn(browser, `${issuer}/account`, ben), { code: ben.code() }, "factor");
  const open = (path: string) => browser.open(issuer + path);
  const factors = await open("/account/factors");
  const asked = await browser.submit(factors, {}, "ask_remove");
  const pages = [home, await open("/account/email"), await open("/account/sessions"), factors, asked];
  for (const page of [...pages, await open("/account/applications"), await open("/account/factors/add")])
    expect([page.status, whoseIs(page)]).toEqual([200, organizations()]);
  const out = await browser.submit(home, {}, "sign_out");
  expect(whoseIs(out)).toEqual(organizations());
});

test("a device's page is the instance's until the code tells whose application waits", async () => {
  const app = await application(postern.admin, { grantTypes: ["OIDC_GRANT_TYPE_DEVICE_CODE"] });
  const ada = await signedUp(postern);
  const begun = await fetch(`${issuer}/oauth/device`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${app.clientId}:${app.clientSecret}`).toString("base64")}` },
    body: new URLSearchParams({ scope: "openid" }),
  });
  const { user_code } = (await begun.json()) as { user_code: string };
  const browser = openBrowser(issuer);
  const ask = await browser.open(`${issuer}/device`);
  const wrong = await browser.submit(ask, { user_code: "AAAA-AAAA" }, "code");
  for (const page of [ask, wrong]) expect(whoseIs(page)).toEqual(instances);
  const form = await browser.submit(ask, { user_code }, "code");
  const confirm = await browser.submit(form, { login_name: ada.username, password: ada.password });
  const done = await browser.submit(confirm, {}, "continue");
  for (const page of [form, confirm, done]) expect([page.status, whoseIs(page)]).toEqual([200, organizations()]);
});

/** A browser that opened the link of the newest mail to an address. */
async function opened(browser: Browser, email: string): Promise<Shown> {
  const mails = await mailsTo(postern, email, 1);
  return browser.open(/^http\S+$/m.exec(mails.at(-1)?.text ?? "")?.[0] ?? expect.unreachable());
}

test("the pages of mails are those of the organization of whoever got the mail, and nobody else's", async () => {
  const ada = await signedUp(postern);
  const email = `ada.${randomBytes(6).toString("hex")}@example.com`;
  await postern.admin.post(`/v1/users/${ada.userId}/email`, { email });
  const confirm = await opened(openBrowser(issuer), email);
  expect([confirm.url, whoseIs(confirm)]).toEqual([`${issuer}/email`, organizations()]);
  const username = `eva.${randomBytes(6).toString("hex")}`;
  const human = { username, givenName: "Eva", familyName: "Vann", email: `${username}@example.com` };
  const { userId } = (await postern.admin.post("/v1/users/human", human)).body;
  expect((await postern.admin.post(`/v1/users/${userId}:invite`, {})).status).toBe(200);
  const link = async () =>
    (await allMails(postern)).flatMap(({ text }) => /^http\S+invitation\S+$/m.exec(text)?.[0] ?? []).at(-1);
  await expect.poll(link).toBeDefined();
  const invitation = await openBrowser(issuer).open((await link()) ?? "");
  expect([invitation.url, whoseIs(invitation)]).toEqual([`${issuer}/invitation`, organizations()]);
  for (const path of [
    "/password",
    "/password?code=AAAA",
    "/invitation",
    "/email",
    "/email/restore",
    "/password/forgotten",
  ])
    expect([path, whoseIs(await openBrowser(issuer).open(issuer + path))]).toEqual([path, instances]);
});

test("what names no application is the instance's, and an organization without a branding stays unnamed to strangers", async () => {
  const plain = await organization(postern);
  const query = { client_id: "account pages", redirect_uri: "/account", response_type: "code" };
  const named = (id: string) =>
    openBrowser(issuer).open(
      `${issuer}/oauth/authorize?${new URLSearchParams({ ...query, scope: `urn:postern:organization:id:${id}` })}`,
    );
  const [error, out, none, own] = await Promise.all([
    openBrowser(issuer).open(`${issuer}/oauth/authorize?client_id=none`),
    openBrowser(issuer).open(`${issuer}/oauth/end-session`),
    named(plain),
    named(postern.organizationId),
  ]);
  for (const page of [error, out, none]) expect(whoseIs(page)).toEqual(instances);
  expect(whoseIs(own)).toEqual(organizations());
});

test("where nothing is set, the pages name the application's organization", async () => {
  await using plain = await startPostern();
  const app = await application(plain.admin);
  const { body } = await plain.admin.get(`/v1/organizations/${plain.organizationId}`);
  const { name: title } = body.organization;
  const page = await openBrowser(issuerOf(plain)).open(authorizeUrl(issuerOf(plain), app));
  expect(whoseIs(page)).toEqual({ names: [title], title, images: [false, false], allowed: undefined, links: [] });
});

test("a favicon is a file that browsers keep, and goes by itself", async () => {
  const here = { "x-service-orgid": await organization(postern) };
  const put = async (body: object) =>
    expect((await postern.admin.put("/v1/branding", { branding: {}, ...body }, here)).status).toBe(200);
  const read = async () => (await postern.admin.get("/v1/branding", here)).body;
  await put({ logo: onePixel, favicon: pngOf(16, 16).toString("base64") });
  const { logoPath, faviconPath } = await read();
  const file = await fetch(issuer + faviconPath);
  expect(["content-type", "cache-control", "content-security-policy"].map((one) => file.headers.get(one))).toEqual([
    "image/png",
    "public, max-age=31536000, immutable",
    "default-src 'none'; sandbox",
  ]);
  await put({ favicon: "" });
  expect(await read()).toMatchObject({ logoPath, faviconPath: "" });
  expect([(await fetch(issuer + faviconPath)).status, (await fetch(issuer + logoPath)).status]).toEqual([404, 200]);
  await put({ favicon: onePixel });
  const again = (await read()).faviconPath;
  await postern.admin.delete("/v1/branding", here);
  expect((await fetch(issuer + again)).status).toBe(404);
});

test.each([
  ["a link that is not https", { branding: { termsUri: "http://example.com/" } }, "branding.termsUri"],
  ["a link that runs a script", { branding: { privacyUri: "javascript:alert(1)" } }, "branding.privacyUri"],
  ["a link without a host", { branding: { helpUri: "https:///help" } }, "branding.helpUri"],
  [
    "a link that shows another host",
    { branding: { helpUri: "https://bank.example@evil.example/" } },
    "branding.helpUri",
  ],
  ["a link with a space", { branding: { helpUri: "https://example.com/a b" } }, "branding.helpUri"],
  ["a link that turns its text", { branding: { helpUri: "https://example.com/\u202egro" } }, "branding.helpUri"],
  ["a long link", { branding: { termsUri: `https://example.com/${"x".repeat(481)}` } }, "branding.termsUri"],
  ["a long name", { branding: { productName: "x".repeat(101) } }, "branding.productName"],
  ["a name of two lines", { branding: { productName: "a\nb" } }, "branding.productName"],
  ["a long text", { branding: { signInText: "x".repeat(501) } }, "branding.signInText"],
  ["a text that turns", { branding: { signInText: "a\u202eb" } }, "branding.signInText"],
  ["a favicon that is no image", { branding: {}, favicon: Buffer.from("<svg/>").toString("base64") }, "favicon"],
  ["a favicon of too many pixels", { branding: {}, favicon: pngOf(2001, 1).toString("base64") }, "favicon"],
  ["a favicon of more than 16 KiB", { branding: {}, favicon: pngOf(9, 9, 16_385).toString("base64") }, "favicon"],
])("%s is refused", async (_, request, field) => {
  const { status, body } = await postern.admin.put("/v1/branding", request, ours);
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(`"field":"${field}"`)]);
});

test("the largest images and the longest texts fit into one call", async () => {
  const long = (length: number) => "\u{1f6a2}".repeat(length);
  const uri = `https://example.com/${"x".repeat(480)}`;
  const all = { productName: long(100), signInText: long(500), termsUri: uri, privacyUri: uri, helpUri: uri };
  const [logo, favicon] = [pngOf(9, 9, 65_536).toString("base64"), pngOf(9, 9, 16_384).toString("base64")];
  const here = { "x-service-orgid": await organization(postern) };
  expect((await postern.admin.put("/v1/branding", { branding: all, logo, favicon }, here)).status).toBe(200);
  expect((await postern.admin.get("/v1/branding", here)).body.branding).toMatchObject(all);
});
