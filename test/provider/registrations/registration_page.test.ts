import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { text } from "../../../src/messages/catalogue.ts";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { pageText } from "../../../src/messages/page.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { type Postern, startPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { done, linkTo, newAddress } from "../../services/invitations/invited.ts";
import { allow, newcomer, registering } from "../../services/registrations/registering.ts";
import { type Application, application, authorizeUrl, basic, issuerOf, post } from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";
import { beginDevice, deviceSettings, enterCode, poll } from "../device_flow.ts";
import { alertOf, titleOf } from "../mail_pages/mail_links.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern({ devicePollSeconds: 1 });
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const grace = { given_name: newcomer.givenName, family_name: newcomer.familyName, new_password: newcomer.password };
const offers = ({ text }: Shown) => text.includes('value="register"');

/** An application of an organization in which these people may register. */
async function shop(audience?: string) {
  const organizationId = await registering(postern, audience);
  return { organizationId, app: await application(postern.admin, {}, inside(organizationId)) };
}

const signInPage = (browser: Browser, app: Application, more: Readonly<Record<string, string>> = {}) =>
  browser.open(authorizeUrl(issuer, app, more));

/** Asks for the mail, from the sign-in page on. */
async function asked(browser: Browser, app: Application, email: string): Promise<Shown> {
  const page = await browser.submit(await signInPage(browser, app), {}, "register");
  expect([page.url, titleOf(page)]).toEqual([`${issuer}/register`, pageText("register", "en")]);
  return browser.submit(page, { email }, "send");
}

const usersWith = async (organizationId: string, email: string) =>
  done(await postern.admin.get(`/v1/users?filter.email=${email}`, inside(organizationId))).users;

test("the sign-in page offers an account only where the organization signed in for lets people register", async () => {
  const [{ app, organizationId }, closed] = [await shop(), await shop("NOBODY")];
  const of = (id: string) => ({ scope: `openid urn:postern:organization:id:${id}` });
  const shown = async (one: Application, more = {}) => offers(await signInPage(openBrowser(issuer), one, more));
  expect([await shown(app), await shown(closed.app)]).toEqual([true, false]);
  expect([await shown(closed.app, of(organizationId)), await shown(app, of(closed.organizationId))]).toEqual([
    true,
    false,
  ]);
  expect(await shown(app, of("none"))).toBe(false);
  // Neither the page nor its form is there without a sign-in that leads to it.
  const browser = openBrowser(issuer);
  const nowhere = await browser.open(`${issuer}/register`);
  expect([nowhere.status, nowhere.text]).toEqual([400, expect.stringContaining(pageText("register_where", "en"))]);
  const page = await browser.submit(await signInPage(browser, app), {}, "register");
  await allow(postern, organizationId, "NOBODY");
  expect((await browser.submit(page, { email: newAddress() }, "send")).status).toBe(400);
});

test("somebody new registers on the way to an application and arrives there, signed in", async () => {
  const [{ app, organizationId }, email, browser] = [await shop(), newAddress(), openBrowser(issuer)];
  const sent = await asked(browser, app, ` ${email} `);
  expect([sent.status, titleOf(sent)]).toEqual([200, pageText("mail_title", "en")]);
  const form = await browser.open(await linkTo(postern, email));
  expect([form.url, form.status]).toEqual([`${issuer}/register/complete`, 200]);
  expect(form.text).toContain(email);
  expect(form.text).not.toContain('name="username"');
  for (const rule of ["length 8", "upper", "digit"]) expect(form.text).toContain(`data-rule="${rule}"`);
  const weak = await browser.submit(form, { ...grace, new_password: "short" }, "create");
  expect([weak.status, alertOf(weak)]).toEqual([400, expect.stringMatching(/at least 8 characters/)]);
  expect(weak.text).toContain(`value="${grace.family_name}"`);
  expect(weak.text.match(/name="\w+"(?=[^>]*aria-invalid)/g)).toEqual(['name="new_password"']);
  const back = await browser.submit(weak, grace, "create");
  const { origin, searchParams } = new URL(back.url);
  expect([origin, searchParams.get("state")]).toEqual(["https://app.example", "st&te =1"]);
  expect(searchParams.get("code")).toMatch(/./);
  expect(await usersWith(organizationId, email)).toMatchObject([{ username: email, human: { emailVerified: true } }]);
  // The browser is known: no mail warns of a new one.
  const again = await signInPage(browser, app);
  expect(new URL(again.url).searchParams.get("code")).toMatch(/./);
  expect((await mailsTo(postern, email)).map(({ subject }) => subject)).toEqual([mailTexts.registration.en.subject]);
});

test("prompt=create leads straight to the registration, and says so in the description of the provider", async () => {
  const { app } = await shop();
  const [browser, email] = [openBrowser(issuer), newAddress()];
  const described = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  expect(described).toMatchObject({ prompt_values_supported: expect.arrayContaining(["create"]) });
  const page = await signInPage(browser, app, { prompt: "create", login_hint: email });
  expect([page.url, page.text]).toEqual([`${issuer}/register`, expect.stringContaining(`value="${email}"`)]);
  // Whoever has an account goes on to the usual page.
  const have = /href="(\/oauth\/authorize[^"]*)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  expect(titleOf(await browser.open(issuer + have))).toBe(pageText("sign_in", "en"));
  await browser.submit(page, { email }, "send");
  const form = await browser.open(await linkTo(postern, email));
  const back = await browser.submit(form, grace, "create");
  expect(new URL(back.url).searchParams.get("code")).toMatch(/./);
  // Where nobody may register, it is like any other request.
  const closed = await shop("NOBODY");
  expect(titleOf(await signInPage(openBrowser(issuer), closed.app, { prompt: "create" }))).toBe(
    pageText("sign_in", "en"),
  );
  const silent = await signInPage(openBrowser(issuer), app, { prompt: "none create" });
  expect(new URL(silent.url).searchParams.get("error")).toBe("invalid_request");
});

test("a pushed request for a new account leads whoever has one to the usual page, in the browser that opened it", async () => {
  const { app } = await shop();
  const form = { redirect_uri: app.redirectUri, response_type: "code", scope: "openid", prompt: "create" };
  const { request_uri } = (await post(issuer, "/oauth/par", form, basic(app))).body;
  const browser = openBrowser(issuer);
  const page = await browser.open(
    `${issuer}/oauth/authorize?${new URLSearchParams({ client_id: app.clientId, request_uri })}`,
  );
  expect(page.url).toBe(`${issuer}/register`);
  const have = issuer + (/href="(\/oauth\/authorize[^"]*)"/.exec(page.text)?.[1] ?? "").replaceAll("&amp;", "&");
  expect(titleOf(await browser.open(have))).toBe(pageText("sign_in", "en"));
  expect((await openBrowser(issuer).open(have)).status).toBe(400);
  expect((await browser.open(have.replace("scope=openid", "scope=openid+roles"))).status).toBe(400);
});

test("on the way to a device, too, which is signed in only after the page that names it", async () => {
  const organizationId = await registering(postern);
  const app = await application(postern.admin, deviceSettings, inside(organizationId));
  const codes = await beginDevice(issuer, app);
  const { browser, page } = await enterCode(issuer, codes.user_code);
  const [ask, email] = [await browser.submit(page, {}, "register"), newAddress()];
  expect([titleOf(ask), ask.text]).toEqual([pageText("register", "en"), expect.stringContaining(`/device?user_code=`)]);
  expect(ask.text).not.toContain("urn:postern:device");
  await browser.submit(ask, { email }, "send");
  const confirmation = await browser.submit(await browser.open(await linkTo(postern, email)), grace, "create");
  expect(titleOf(confirmation)).toMatch(patternOf(pageText("device_confirm_title", "en")));
  expect((await poll(issuer, app, codes)).body.error).toBe("authorization_pending");
  await browser.submit(confirmation, {}, "continue");
  await vi.waitFor(async () => expect((await poll(issuer, app, codes)).status).toBe(200), {
    timeout: 60_000,
    interval: 500,
  });
});

test("a browser that did not begin creates the account, but is told to go back", async () => {
  const [{ app, organizationId }, email] = [await shop(), newAddress()];
  const [began, elsewhere] = [openBrowser(issuer), openBrowser(issuer)];
  await asked(began, app, email);
  const link = await linkTo(postern, email);
  // One that has a sign-in of its own waiting, too.
  await elsewhere.submit(await signInPage(elsewhere, app), {}, "register");
  const form = await elsewhere.open(link);
  const ready = await elsewhere.submit(form, grace, "create");
  expect([ready.url, titleOf(ready)]).toEqual([`${issuer}/register/complete?done=1`, pageText("joined_title", "en")]);
  expect([...elsewhere.cookies.keys()].filter((name) => name === "postern-session")).toEqual([]);
  expect(await usersWith(organizationId, email)).toHaveLength(1);
  const over = await began.open(link);
  expect([over.status, alertOf(over)]).toEqual([400, expect.stringContaining(pageText("register_over", "en"))]);
  const signedIn = await began.submit(await signInPage(began, app), {
    login_name: email,
    password: grace.new_password,
  });
  expect(new URL(signedIn.url).searchParams.get("code")).toMatch(/./);
});

test("each code is that of the browser that asked for it, whoever else asks with the same address", async () => {
  const before = await shop();
  const [email, another] = [newAddress(), newAddress()];
  const [owner, stranger] = [openBrowser(issuer), openBrowser(issuer)];
  await asked(owner, before.app, email);
  const link = await linkTo(postern, email);
  await asked(stranger, before.app, email);
  await linkTo(postern, email, 2);
  const arrived = await owner.submit(await owner.open(link), grace, "create");
  expect(new URL(arrived.url).searchParams.get("code")).toMatch(/./);

  // The link of the stranger's mail signs in nobody where the owner asked, too.
  const late = openBrowser(issuer);
  await asked(stranger, before.app, another);
  await asked(late, before.app, another);
  const mails = await mailsTo(postern, another, 2, /^http\S+$/m);
  const theirs = /^http\S+$/m.exec(mails[0]?.text ?? "")?.[0] ?? "";
  const told = await late.submit(await late.open(theirs), grace, "create");
  expect(told.url).toBe(`${issuer}/register/complete?done=1`);
});

test("a form completes the registration that it was shown for, whatever link the browser has opened since", async () => {
  const browser = openBrowser(issuer);
  const [shown, since] = [
    { ...(await shop()), email: newAddress() },
    { ...(await shop()), email: newAddress() },
  ];
  for (const { app, email } of [shown, since]) await asked(browser, app, email);
  const page = await browser.open(await linkTo(postern, shown.email));
  await browser.open(await linkTo(postern, since.email));
  const answered = await browser.submit(page, grace, "create");
  expect([answered.url, titleOf(answered)]).toEqual([`${issuer}/register/complete`, pageText("register", "en")]);
  expect(answered.text).toContain(since.email);
  for (const { organizationId, email } of [shown, since]) expect(await usersWith(organizationId, email)).toEqual([]);
});

test("an address that a user has leads to the same pages, and its owner is told", async () => {
  const { app, organizationId } = await shop();
  const known = newAddress();
  const person = { username: known, givenName: "Ada", familyName: "Byron", email: known, isEmailVerified: true };
  done(await postern.admin.post("/v1/users/human", person, inside(organizationId)));
  const plain = ({ status, url, text }: Shown) => [status, url, text];
  const pages = [await asked(openBrowser(issuer), app, known), await asked(openBrowser(issuer), app, newAddress())];
  expect(plain(pages[0] as Shown)).toEqual(plain(pages[1] as Shown));
  expect((await mailsTo(postern, known))[0]?.subject).toBe(mailTexts.registration_known.en.subject);
});

test("a required factor is asked for next, and a name that is taken is asked for again", async () => {
  const { app, organizationId } = await shop();
  const requirement = "FACTOR_REQUIREMENT_REQUIRED";
  done(await postern.admin.put("/v1/policies/factor", { policy: { requirement } }, inside(organizationId)));
  const [email, browser] = [newAddress(), openBrowser(issuer)];
  const person = { username: email, givenName: "Ada", familyName: "Byron", email: newAddress() };
  done(await postern.admin.post("/v1/users/human", person));
  await asked(browser, app, email);
  const form = await browser.open(await linkTo(postern, email));
  const taken = await browser.submit(form, grace, "create");
  expect([taken.status, alertOf(taken)]).toEqual([
    400,
    `${pageText("invited_name", "en")} – ${text("LOGIN_NAME_TAKEN", "en", { name: email })}`,
  ]);
  const next = await browser.submit(taken, { ...grace, username: `grace-${email.split("@")[0]}` }, "create");
  expect([next.status, titleOf(next)]).toEqual([200, pageText("enrol_title", "en")]);
});

test("what is typed wrong, asked for too often, or posted from elsewhere is refused on the page", async () => {
  await using bounded = await startPostern({
    passwordResetsPerAddressPerMinute: 2,
    signInFailuresPerAddressPerMinute: 2,
  });
  const own = issuerOf(bounded);
  const organizationId = await registering(bounded);
  const app = await application(bounded.admin, {}, inside(organizationId));
  const browser = openBrowser(own);
  const page = await browser.submit(await browser.open(authorizeUrl(own, app)), {}, "register");
  for (const email of ["nobody", `${"x".repeat(65)}@example.com`, ""]) {
    const wrong = await browser.submit(page, { email }, "send");
    expect([wrong.status, alertOf(wrong)]).toEqual([400, pageText("email_wrong", "en")]);
  }
  for (const email of ["a@b\u0000.example", `${"x".repeat(300)}@example.com`])
    expect((await browser.submit(page, { email }, "send")).status).toBe(400);
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await browser.submit(page, { email: newAddress() }, "send")).status);
  expect(statuses).toEqual([200, 200, 429]);
  const guesses = [];
  for (let n = 0; n < 3; n++)
    guesses.push((await openBrowser(own).open(`${own}/register/complete?code=2222${n + 2}`)).status);
  expect(guesses).toEqual([400, 400, 429]);
  const form = new URLSearchParams({ email: newAddress(), organization: organizationId, action: "send" });
  const forged = await browser.send(`${own}/register`, { method: "POST", body: form, headers: { origin: own } });
  expect(forged.status).toBe(403);
});
