import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { languages } from "../../../src/messages/language.ts";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { pageText } from "../../../src/messages/page.ts";
import { unique } from "../../events/log_of.ts";
import { withTotp } from "../../fixture/factors.ts";
import { latestCode, proveEmail, setMailCodes, signInMails, withMailbox } from "../../fixture/sign_in_mail.ts";
import { organization, type Postern, startPostern } from "../../harness.ts";
import { type Application, answerIn, application, authorizeUrl, exchange, issuerOf } from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
let organizationId: string;
beforeAll(async () => {
  postern = await startPostern({ mailSendsPerUser: 50, mailSendsPerAddress: 50 });
  issuer = issuerOf(postern);
  app = await application(postern.admin);
  organizationId = await granted();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** An organization whose users may use the application. */
async function granted(): Promise<string> {
  const id = await organization(postern);
  const grant = await postern.admin.post(`/v1/projects/${app.projectId}/grants`, { grantedOrganizationId: id });
  expect(grant.status).toBe(200);
  return id;
}

const scopeOf = (id: string) => ({ scope: `openid urn:postern:organization:id:${id}` });
const url = (more = {}) => authorizeUrl(issuer, app, { ...scopeOf(organizationId), ...more });
const hasButton = ({ text }: Shown): boolean => text.includes('name="action" value="mail"');

/** Asks for a mail on the page. */
async function asked(loginName: string, browser: Browser = openBrowser(issuer), at = url()) {
  const page = await browser.submit(await browser.open(at), { login_name: loginName }, "mail");
  return { browser, page };
}

const linkIn = async (email: string, count: number) =>
  /^http\S+$/m.exec((await signInMails(postern, email, count)).at(-1)?.text ?? "")?.[0] ?? "";

/** The ID token of whoever was sent back to the application, after the consent if it is asked for. */
async function idTokenOf(browser: Browser, shown: Shown) {
  const back = shown.text.includes('value="allow"') ? await browser.submit(shown, {}, "allow") : shown;
  const { body } = await exchange(issuer, app, answerIn(back).code ?? "");
  return decodeJwt(body.id_token);
}

test("a code that was typed, or that the link brought in the same browser, signs in as one factor", async () => {
  const ada = await withMailbox(postern, { organizationId });
  const typed = await asked(ada.username);
  expect([typed.page.status, typed.page.text]).toEqual([200, expect.stringContaining("one-time-code")]);
  const wrong = await typed.browser.submit(typed.page, { code: "2222-2222" }, "code");
  expect([wrong.status, wrong.text]).toEqual([401, expect.stringContaining(pageText("code_over", "en"))]);
  const empty = await typed.browser.submit(wrong, { code: " " }, "code");
  expect([empty.status, empty.text]).toEqual([400, expect.stringContaining(pageText("mail_code_missing", "en"))]);
  const back = await typed.browser.submit(empty, { code: await latestCode(postern, ada.email) }, "code");
  expect(await idTokenOf(typed.browser, back)).toMatchObject({
    sub: ada.userId,
    amr: ["otp"],
    acr: "urn:postern:acr:single-factor",
  });
  // The browser is signed in, and what it kept for the link is gone.
  const silent = await typed.browser.open(url({ prompt: "none" }));
  expect(answerIn(silent).code).toEqual(expect.any(String));
  expect(
    [...typed.browser.cookies].filter(([name]) => /challenge|mailed/.test(name)).map(([, value]) => value),
  ).not.toContain(expect.stringMatching(/./));

  const followed = await asked(ada.email);
  const link = await linkIn(ada.email, 2);
  expect(link).toMatch(`${issuer}/sign-in/code?code=`);
  const opened = await followed.browser.open(link);
  expect([opened.status, new URL(opened.url).search]).toEqual([200, ""]);
  expect(opened.text).toContain(await latestCode(postern, ada.email, 2));
  const code = /name="code"[^>]* value="([^"]*)"/.exec(opened.text)?.[1] ?? "";
  const done = await followed.browser.submit(opened, { code }, "code");
  expect(await idTokenOf(followed.browser, done)).toMatchObject({ sub: ada.userId });
});

test("in another browser the link only shows the code, and whatever a scanner sends uses up nothing", async () => {
  const ada = await withMailbox(postern, { organizationId });
  const { browser, page } = await asked(ada.username);
  const [link, code] = [await linkIn(ada.email, 1), await latestCode(postern, ada.email)];
  for (let n = 0; n < 7; n++) {
    const scanner = openBrowser(issuer);
    const shown = await scanner.open(link);
    expect([shown.status, shown.text]).toEqual([200, expect.stringContaining(pageText("mailed_elsewhere", "en"))]);
    expect(shown.text).toContain(code);
    expect(shown.text).not.toContain('<form method="post" action="/sign-in"');
    for (const method of ["HEAD", "POST"]) {
      const { status } = await fetch(link, { method, redirect: "manual" });
      expect([method, status]).toEqual([method, method === "HEAD" ? 303 : 405]);
    }
  }
  // Somebody else who asked for a code of their own does not get in by the link of this one.
  const eve = await withMailbox(postern, { organizationId });
  const other = await asked(eve.username);
  const opened = await other.browser.open(link);
  const refused = await other.browser.submit(opened, { code }, "code");
  expect(refused.status).toBe(401);
  // Nor does a form of another site, or of another browser, sign anybody in.
  const hidden = Object.fromEntries(
    [...page.text.matchAll(/name="(request|token|challenge)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  const body = new URLSearchParams({ ...hidden, action: "code", code });
  const post = (headers: Record<string, string>) => fetch(`${issuer}/sign-in`, { method: "POST", body, headers });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  expect((await post({ origin: "https://evil.example", cookie })).status).toBe(403);
  expect((await post({ origin: issuer })).status).toBe(403);
  const back = await browser.submit(page, { code }, "code");
  expect(await idTokenOf(browser, back)).toMatchObject({ sub: ada.userId });
  // A link that was used, and a page without one, lead nowhere.
  expect((await openBrowser(issuer).open(`${issuer}/sign-in/code`)).status).toBe(400);
});

test("a second factor, a required enrolment and a password that must be changed come next as usual", async () => {
  const ben = await withTotp(postern, { organizationId });
  const email = `${ben.username}@example.com`;
  await proveEmail(postern, ben.userId, email);
  const first = await asked(ben.username);
  const code = await latestCode(postern, email);
  const factor = await first.browser.submit(first.page, { code }, "code");
  expect([factor.status, factor.text]).toEqual([200, expect.stringContaining('name="action" value="factor"')]);
  const back = await first.browser.submit(factor, { code: ben.code() }, "factor");
  expect(await idTokenOf(first.browser, back)).toMatchObject({ sub: ben.userId, amr: ["otp", "mfa"] });

  const strict = await granted();
  const header = { "x-service-orgid": strict };
  const dora = await withMailbox(postern, { organizationId: strict });
  const policy = { minimumLength: 8, changeAtNextSignIn: true };
  expect((await postern.admin.put("/v1/policies/password", { policy }, header)).status).toBe(200);
  const late = await asked(dora.username, openBrowser(issuer), url(scopeOf(strict)));
  const change = await late.browser.submit(late.page, { code: await latestCode(postern, dora.email) }, "code");
  expect(change.text).toContain('name="new_password"');
  const kept = /name="code"[^>]* value="([^"]*)"/.exec(change.text)?.[1] ?? "";
  const short = await late.browser.submit(change, { code: kept, new_password: "short" }, "code");
  expect(short.status).toBe(400);
  const changed = await late.browser.submit(short, { code: kept, new_password: "Green-Teapot-77" }, "code");
  expect(await idTokenOf(late.browser, changed)).toMatchObject({ sub: dora.userId });

  const required = { policy: { requirement: "FACTOR_REQUIREMENT_REQUIRED" } };
  expect((await postern.admin.put("/v1/policies/factor", required, header)).status).toBe(200);
  const enrolling = await asked(dora.username, openBrowser(issuer), url(scopeOf(strict)));
  const enrol = await enrolling.browser.submit(
    enrolling.page,
    { code: await latestCode(postern, dora.email, 2) },
    "code",
  );
  expect([enrol.status, enrol.text]).toEqual([200, expect.not.stringContaining('value="code"')]);
  expect(answerIn(enrol).code).toBe(undefined);
});

/** An organization whose users may use the application, with a policy, and by default with login names of its own. */
async function withPolicy(mailCodes: boolean, ownLoginNames = true): Promise<string> {
  const id = await granted();
  await setMailCodes(postern, id, mailCodes);
  expect((await postern.admin.call("PATCH", `/v1/organizations/${id}`, { ownLoginNames })).status).toBe(200);
  return id;
}

const open = (more = {}) => openBrowser(issuer).open(authorizeUrl(issuer, app, more));

test("a code is offered to a visitor by where the name is looked up, not by whom the visitor signs in for", async () => {
  const [home, host] = [await withPolicy(true, false), await withPolicy(false, false)];
  const ada = await withMailbox(postern, { organizationId: home });
  // A name of the directory may be that of a user of any organization.
  expect(hasButton(await open(scopeOf(host)))).toBe(true);
  const { browser, page } = await asked(ada.username, openBrowser(issuer), url(scopeOf(host)));
  const entered = await browser.submit(page, { code: await latestCode(postern, ada.email, 1) }, "code");
  expect(entered.text).not.toContain('name="code"');
  // One with the domain of somebody is looked up in the organization of the request alone.
  const domain = `${unique("firm")}.example`;
  await postern.admin.post("/v1/domains", { name: domain, withoutDns: true }, { "x-service-orgid": home });
  expect(hasButton(await open({ ...scopeOf(host), login_hint: `nobody@${domain}` }))).toBe(false);
  expect(hasButton(await open({ ...scopeOf(home), login_hint: `nobody@${domain}` }))).toBe(true);
});

test("the button is there by the organization of the request or of the name, whoever has it", async () => {
  const [on, off] = [await withPolicy(true), await withPolicy(false)];
  expect(hasButton(await open(scopeOf(on)))).toBe(true);
  expect(hasButton(await open(scopeOf(off)))).toBe(false);
  // Without an organization, there is one that allows it.
  expect(hasButton(await open())).toBe(true);
  const [yes, no] = [`${unique("firm")}.example`, `${unique("firm")}.example`];
  for (const [id, name] of [
    [on, yes],
    [off, no],
  ] as const)
    await postern.admin.post("/v1/domains", { name, withoutDns: true }, { "x-service-orgid": id });
  expect(hasButton(await open({ login_hint: `nobody@${yes}` }))).toBe(true);
  expect(hasButton(await open({ login_hint: `nobody@${no}` }))).toBe(false);
  const refused = await asked(`nobody@${no}`, openBrowser(issuer), authorizeUrl(issuer, app));
  expect([refused.page.status, refused.page.text]).toEqual([400, expect.stringContaining(pageText("mail_off", "en"))]);
  expect(hasButton(refused.page)).toBe(false);

  // Known and unknown get the same page but for what differs from page to page.
  const ada = await withMailbox(postern, { organizationId });
  const plain = (page: Shown, name: string) =>
    page.text.replaceAll(name, "<name>").replace(/value="[\w-]{40,}"/g, 'value="…"');
  const [known, unknown] = [await asked(ada.username), await asked("nobody")];
  expect(plain(known.page, ada.username)).toBe(plain(unknown.page, "nobody"));
  expect([...known.browser.cookies.keys()]).toEqual([...unknown.browser.cookies.keys()]);
  const nameless = await asked(" ");
  expect([nameless.page.status, nameless.page.text]).toEqual([
    400,
    expect.stringContaining(pageText("name_missing", "en")),
  ]);
  for (const name of ["a\u0000b", "x".repeat(201)]) expect((await asked(name)).page.status, name).toBeLessThan(500);
});

test("after five wrong codes another mail is asked for, and the other way to sign in keeps the name", async () => {
  const ada = await withMailbox(postern, { organizationId });
  const { browser, page } = await asked(ada.username);
  let shown = page;
  for (let n = 0; n < 5; n++) shown = await browser.submit(shown, { code: `2222-222${n + 2}` }, "code");
  expect(shown.status).toBe(401);
  const over = await browser.submit(shown, { code: await latestCode(postern, ada.email) }, "code");
  expect([over.status, over.text]).toEqual([401, expect.stringContaining(pageText("mail_over", "en"))]);
  expect(over.text).toContain(`value="${ada.username}"`);
  const byPassword = await browser.submit(over, { login_name: ada.username, password: ada.password });
  expect(await idTokenOf(browser, byPassword)).toMatchObject({ sub: ada.userId, amr: ["pwd"] });
  const again = await asked(ada.username);
  expect((await again.browser.submit(again.page, {}, "other")).text).toContain(`value="${ada.username}"`);
});

test.each(languages)("page and mail are in the language of the browser: %s", async (language) => {
  const ada = await withMailbox(postern, { organizationId });
  const browser = openBrowser(issuer, { "accept-language": language });
  const { page } = await asked(ada.username, browser);
  const text = (key: Parameters<typeof pageText>[0]) => pageText(key, language).replaceAll("’", "’");
  expect(page.text).toContain(text("mail_code_text"));
  expect((await signInMails(postern, ada.email)).at(-1)?.subject).toBe(mailTexts.sign_in[language].subject);
});
