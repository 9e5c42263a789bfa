import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { pageText } from "../../../src/messages/page.ts";
import { withTotp } from "../../fixture/factors.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { allMails, mailsTo } from "../../notify/mail_log.ts";
import { answerIn, application, authorizeUrl, issuerOf, signIn } from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";
import { alertOf, mailLinks, newAddress, newPassword, titleOf } from "./mail_links.ts";

const languages = ["en", "de", "fr", "es"] as const;

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern({ mailSendsPerUser: 50, mailSendsPerAddress: 50 });
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const { setAddress, person, linkTo, askFor, choose } = mailLinks(() => postern);

const bearsCode = ({ text }: Shown) => /<input type="hidden" name="code"/.test(text);

test("who forgot the password goes from the sign-in page by a mail back to the sign-in that was begun", async () => {
  const [app, { username, email }] = [await application(postern.admin), await person()];
  const browser = openBrowser(issuer);
  const asked = await browser.submit(await browser.open(authorizeUrl(issuer, app)), {}, "forgotten");
  expect([asked.status, titleOf(asked)]).toEqual([200, pageText("forgotten_title", "en")]);
  expect(titleOf(await browser.submit(asked, { account: username }, "send"))).toBe(pageText("mail_title", "en"));
  const page = await browser.open(await linkTo(email));
  expect([page.status, page.url, titleOf(page)]).toEqual([200, `${issuer}/password`, pageText("new_title", "en")]);
  const weak = await browser.submit(page, { new_password: "short" }, "save");
  expect([weak.status, alertOf(weak)]).toEqual([400, expect.stringMatching(/at least 8 characters/)]);
  const done = await browser.submit(weak, { new_password: newPassword }, "save");
  expect([done.status, titleOf(done)]).toEqual([200, pageText("saved_title", "en")]);
  const back = /<a class="button" href="([^"]*)"/.exec(done.text)?.[1]?.replaceAll("&amp;", "&");
  const answer = await signIn(browser, issuer + back, { username, password: newPassword });
  expect(answerIn(answer)).toMatchObject({ code: expect.any(String), state: "st&te =1" });
});

test("another browser sets the password too, and is led nowhere", async () => {
  const [app, { email }] = [await application(postern.admin), await person()];
  const browser = openBrowser(issuer);
  const asked = await browser.submit(await browser.open(authorizeUrl(issuer, app)), {}, "forgotten");
  await browser.submit(asked, { account: email }, "send");
  const done = await choose(await linkTo(email));
  expect([titleOf(done), /href="\/oauth/.test(done.text)]).toEqual([pageText("saved_title", "en"), false]);
});

test("a request that no cookie can hold is let go, and the password is set all the same", async () => {
  const [app, { email }] = [await application(postern.admin), await person()];
  const browser = openBrowser(issuer);
  const long = authorizeUrl(issuer, app, { id_token_hint: undefined, extra: "x".repeat(4_000) });
  const asked = await browser.submit(await browser.open(long), {}, "forgotten");
  expect(titleOf(await browser.submit(asked, { account: email }, "send"))).toBe(pageText("mail_title", "en"));
  const done = await choose(await linkTo(email), browser);
  expect([titleOf(done), /href="\/oauth/.test(done.text)]).toEqual([pageText("saved_title", "en"), false]);
});

test("the page answers alike whether anybody is known", async () => {
  const { email, username } = await person();
  const shown = await Promise.all(
    [email, username, newAddress(), "nobody-at-all", `<b>"'`].map(async (account) => {
      const { status, text, headers } = await askFor(account);
      return { status, text, headers: [...headers].filter(([name]) => !/date|request-id|set-cookie/.test(name)) };
    }),
  );
  for (const one of shown) expect(one).toEqual(shown[0]);
});

test("a name that is another user's address takes no mail from that user, and gets no code for it", async () => {
  const { email, username } = await person();
  const other = await signedUp(postern);
  const renamed = await postern.admin.put(`/v1/users/${other.userId}/username`, { username: email });
  expect(renamed.status).toBe(200);
  const others = await setAddress(other.userId, { isVerified: true });
  await askFor(email);
  const [mine] = await mailsTo(postern, email);
  const [theirs] = await mailsTo(postern, others);
  expect([mine?.text, theirs?.text]).toEqual([
    expect.stringContaining(`Account: ${username}\n`),
    expect.not.stringContaining(`Account: ${username}\n`),
  ]);
});

test("a user whose login name is the own address gets one mail", async () => {
  const { email, userId } = await person();
  const renamed = await postern.admin.put(`/v1/users/${userId}/username`, { username: email });
  expect(renamed.status).toBe(200);
  await askFor(email.toUpperCase());
  await mailsTo(postern, email);
  const { email: later } = await person();
  await askFor(later);
  await mailsTo(postern, later);
  expect((await allMails(postern)).filter(({ to }) => to === email)).toHaveLength(1);
});

test("links name the issuer, whatever Host a request has", async () => {
  const { email } = await person();
  const headers = { host: "evil.example", "x-forwarded-host": "evil.example", forwarded: "host=evil.example" };
  const refused = await rawly("GET", "/password/forgotten", { headers });
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("<code>wrong_address</code>")]);
  const page = await rawly("GET", "/password/forgotten", { headers: { host: new URL(issuer).host } });
  const token = /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? "";
  const body = new URLSearchParams({ token, account: email, action: "send" }).toString();
  const form = { "content-type": "application/x-www-form-urlencoded", cookie: page.cookie };
  const sent = await rawly("POST", "/password/forgotten", { headers: { ...headers, ...form }, body });
  expect([sent.status, sent.location]).toEqual([303, "/password/forgotten?sent=1"]);
  expect(await linkTo(email)).toMatch(new RegExp(`^${issuer}/password\\?code=[2-9A-Z]{16}$`));
  expect(refused.text + page.text + JSON.stringify(await allMails(postern))).not.toContain("evil.example");
});

test("a code works once, and a link that is opened or scanned uses nothing up", async () => {
  const { email } = await person();
  await askFor(email);
  const link = await linkTo(email);
  for (const method of ["GET", "HEAD"]) expect((await openBrowser(issuer).send(link, { method })).status).toBe(303);
  expect(titleOf(await choose(link))).toBe(pageText("saved_title", "en"));
  const again = await choose(link, openBrowser(issuer), "Blue-Teapot-78");
  expect([again.status, alertOf(again), bearsCode(again)]).toEqual([400, pageText("code_over", "en"), false]);
  expect(again.text).toContain('href="/password/forgotten"');
});

test("the code of a link leaves the URL at once, and no page names it to others", async () => {
  const { email } = await person();
  await askFor(email);
  const browser = openBrowser(issuer);
  const first = await browser.send(await linkTo(email));
  expect([first.status, first.headers.get("location"), first.headers.get("referrer-policy")]).toEqual([
    303,
    "/password",
    "no-referrer",
  ]);
  expect(first.headers.get("set-cookie")).toMatch(
    /^postern-code=[2-9A-Z]{16}; Path=\/; HttpOnly; SameSite=Lax; Expires=/,
  );
  const page = await browser.open(`${issuer}/password`);
  const policy = page.headers.get("content-security-policy");
  expect(policy).toBe(
    "default-src 'none'; style-src 'self'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  );
  expect([page.headers.get("cache-control"), page.headers.get("referrer-policy")]).toEqual(["no-store", "same-origin"]);
  expect([bearsCode(page), /<script(?! src="\/[^"]*" defer><\/script>)|style=|https?:/.test(page.text)]).toEqual([
    true,
    false,
  ]);
});

test("a code dies with a change of the password, however it is typed", async () => {
  const { email, userId } = await person();
  await askFor(email);
  const mails = await mailsTo(postern, email);
  const code = /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/.exec(mails[0]?.text ?? "")?.[0] ?? "";
  const browser = openBrowser(issuer);
  const typed = (values: Record<string, string>) =>
    browser.open(`${issuer}/password`).then((page) => browser.submit(page, values, "save"));
  const missing = await typed({ code, new_password: "" });
  expect([missing.status, alertOf(missing)]).toEqual([400, pageText("code_missing", "en")]);
  const set = await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Other-Kettle-43" });
  expect(set.status).toBe(200);
  const over = await typed({ code: code.toLowerCase(), new_password: newPassword });
  expect([over.status, alertOf(over)]).toEqual([400, pageText("code_over", "en")]);
  await askFor(email);
  const newest = (await mailsTo(postern, email, 3)).filter(({ subject }) => subject === mails[0]?.subject)[1];
  const next = /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/.exec(newest?.text ?? "")?.[0] ?? "";
  expect(titleOf(await typed({ code: ` ${next.toLowerCase()} `, new_password: newPassword }))).toBe(
    pageText("saved_title", "en"),
  );
});

test("a password that was set by mail replaces no factor", async () => {
  const [app, { username, userId, code }] = [await application(postern.admin), await withTotp(postern)];
  const email = await setAddress(userId, { isVerified: true });
  await askFor(email);
  expect(titleOf(await choose(await linkTo(email)))).toBe(pageText("saved_title", "en"));
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, authorizeUrl(issuer, app), { username, password: newPassword });
  expect([asked.status, titleOf(asked)]).toEqual([200, pageText("factor_title", "en")]);
  expect(answerIn(await browser.submit(asked, { code: code(0) }, "factor")).code).toEqual(expect.any(String));
});

test("an invitation leads to a first password", async () => {
  const [app, email] = [await application(postern.admin), newAddress()];
  const username = `new-${randomBytes(6).toString("hex")}`;
  const names = { username, givenName: "Ada", familyName: "Byron", email };
  const { userId } = (await postern.admin.post("/v1/users/human", names)).body;
  expect((await postern.admin.post(`/v1/users/${userId}:invite`, {})).status).toBe(200);
  await mailsTo(postern, email, 2);
  const link =
    (await allMails(postern)).flatMap(({ text }) => /^http\S+invitation\S+$/m.exec(text)?.[0] ?? []).at(-1) ?? "";
  const browser = openBrowser(issuer);
  const page = await browser.open(link);
  expect([page.url, titleOf(page)]).toEqual([`${issuer}/invitation`, pageText("first_title", "en")]);
  expect(titleOf(await browser.submit(page, { new_password: newPassword }, "save"))).toBe(
    pageText("saved_title", "en"),
  );
  const answer = await signIn(browser, authorizeUrl(issuer, app), { username, password: newPassword });
  expect(answerIn(answer).code).toEqual(expect.any(String));
  const again = await choose(link);
  expect([again.status, again.text]).toEqual([400, expect.stringContaining(pageText("invite_again", "en"))]);
});

test("an address is verified by the form of its link, and never by opening it", async () => {
  const user = await signedUp(postern);
  const email = await setAddress(user.userId, { sendCode: {} });
  const isVerified = async () =>
    (await postern.admin.get(`/v1/users/${user.userId}`)).body.user.human.emailVerified as boolean;
  const link = await linkTo(email);
  expect(link).not.toContain(user.userId);
  const browser = openBrowser(issuer);
  const page = await browser.open(link);
  expect([page.url, titleOf(page), await isVerified()]).toEqual([
    `${issuer}/email`,
    pageText("confirm_title", "en"),
    false,
  ]);
  const done = await browser.submit(page, {}, "confirm");
  expect([titleOf(done), await isVerified()]).toEqual([pageText("confirmed_title", "en"), true]);
  expect(titleOf(await browser.submit(page, {}, "confirm"))).toBe(pageText("confirmed_title", "en"));
});

test("a link of an earlier mail, or one that nobody sent, verifies nothing and uses no try up", async () => {
  const user = await signedUp(postern);
  const email = await setAddress(user.userId, { sendCode: {} });
  const first = await linkTo(email);
  expect((await postern.admin.post(`/v1/users/${user.userId}/email:resend`, {})).status).toBe(200);
  const second = await linkTo(email, 2);
  const confirm = async (link: string) => {
    const browser = openBrowser(issuer);
    const page = await browser.open(link);
    return page.status === 200 ? browser.submit(page, {}, "confirm") : page;
  };
  const over = pageText("link_over", "en");
  for (const link of [
    first,
    second.slice(0, -4),
    `${issuer}/email?code=abc`,
    `${issuer}/email`,
    `${issuer}/email?code=%3C`,
  ]) {
    const refused = await confirm(link);
    expect([refused.status, alertOf(refused)]).toEqual([400, over]);
  }
  expect(titleOf(await confirm(second))).toBe(pageText("confirmed_title", "en"));
});

test.each(["/password/forgotten", "/password", "/invitation", "/email", "/email/restore"])(
  "the form of %s counts only in the browser that it was shown in, and from our own page",
  async (path) => {
    const browser = openBrowser(issuer);
    const shown = await browser.open(`${issuer}/password`);
    const token = /name="token" value="([^"]*)"/.exec(shown.text)?.[1] ?? expect.unreachable();
    const body = () => new URLSearchParams({ token, account: "ada", code: "2345", new_password: newPassword });
    const post = (by: Browser, headers: Record<string, string>) =>
      by.send(issuer + path, { method: "POST", body: body(), headers });
    expect((await post(browser, { origin: "https://evil.example" })).status).toBe(403);
    expect((await post(openBrowser(issuer), { origin: issuer })).status).toBe(403);
    expect((await post(browser, { origin: issuer })).status).not.toBe(403);
    const json = await browser.send(issuer + path, { method: "POST", body: "{}", headers: { origin: issuer } });
    expect(json.status).toBe(400);
    const large = await browser.send(issuer + path, { method: "POST", body: "a".repeat(24_577) });
    expect(large.status).toBe(413);
  },
);

test("a password that has to be changed is changed at the sign-in, by one that the policy takes", async () => {
  const organizationId = await organization(postern);
  const here = { "x-service-orgid": organizationId };
  const project = await postern.admin.post("/v1/projects", { name: "Desk" }, here);
  const made = await postern.admin.post(
    `/v1/projects/${project.body.projectId}/applications/oidc`,
    { name: "Desk", redirectUris: ["https://app.example/cb"] },
    here,
  );
  const user = await signedUp(postern, { organizationId });
  const rules = { minimumLength: 12, changeAtNextSignIn: true, historyDepth: 2 };
  expect((await postern.admin.put("/v1/policies/password", { policy: rules }, here)).status).toBe(200);
  const browser = openBrowser(issuer);
  const app = { ...made.body, redirectUri: "https://app.example/cb" };
  const asked = await signIn(browser, authorizeUrl(issuer, app), user);
  expect([asked.status, alertOf(asked)]).toEqual([200, expect.stringContaining(pageText("must_change", "en"))]);
  const change = (page: Shown, text: string) =>
    browser.submit(page, { login_name: user.username, password: user.password, new_password: text });
  const short = await change(asked, "Tea-77");
  expect([short.status, alertOf(short)]).toEqual([400, expect.stringContaining("at least 12 characters")]);
  const same = await change(short, user.password);
  expect([same.status, alertOf(same)]).toEqual([400, expect.any(String)]);
  expect(answerIn(await change(same, newPassword)).code).toEqual(expect.any(String));
});

test.each(languages)("every page is there in %s", async (language) => {
  const headers = { "accept-language": language };
  const browser = openBrowser(issuer);
  const paths = ["/password/forgotten", "/password/forgotten?sent=1", "/password", "/password?done=1"];
  for (const path of [...paths, "/invitation", "/email", "/email?done=1", "/sign-in"]) {
    const page = await browser.open(issuer + path, headers);
    expect(page.text).toContain(`<html lang="${language}">`);
    const english = await browser.open(issuer + path, { "accept-language": "en" });
    expect(titleOf(page) === titleOf(english)).toBe(language === "en");
  }
});

test("a mail is in the language of the page that asked for it", async () => {
  const { email } = await person();
  const browser = openBrowser(issuer);
  const page = await browser.open(`${issuer}/password/forgotten`);
  const [, token = ""] = /name="token" value="([^"]*)"/.exec(page.text) ?? [];
  const body = new URLSearchParams({ token, account: email });
  const sent = await browser.send(`${issuer}/password/forgotten`, {
    ...{ method: "POST", body },
    headers: { origin: issuer, "accept-language": "de" },
  });
  expect(sent.status).toBe(303);
  expect((await mailsTo(postern, email))[0]?.subject).toBe(mailTexts.reset_password.de.subject);
});

test("requests and wrong codes are bounded by address, on the pages and in calls together", async () => {
  await using bounded = await startPostern({
    passwordResetsPerAddressPerMinute: 2,
    signInFailuresPerAddressPerMinute: 2,
  });
  const own = issuerOf(bounded);
  const browser = openBrowser(own);
  const page = await browser.open(`${own}/password/forgotten`);
  expect((await browser.submit(page, { account: "ada" }, "send")).status).toBe(200);
  expect((await bounded.as().post("/v1/password-resets", { loginName: "ada" })).status).toBe(200);
  const refused = await browser.submit(page, { account: "ada" }, "send");
  expect([refused.status, alertOf(refused)]).toEqual([
    429,
    expect.stringMatching(patternOf(pageText("attempts", "en"))),
  ]);
  const form = await browser.open(`${own}/password`);
  const guess = () => browser.submit(form, { code: "2222-2222-2222-2222", new_password: newPassword }, "save");
  expect([(await guess()).status, (await guess()).status, (await guess()).status]).toEqual([400, 400, 429]);
  const call = { verificationCode: "2222", newPassword };
  expect((await bounded.as().post("/v1/password-resets:complete", call)).status).toBe(429);
});

test("a browser that makes too many calls gets a page that says so, and other clients the refusal", async () => {
  await using bounded = await startPostern({ callsPerAddressPerMinute: 10 });
  const path = `${issuerOf(bounded)}/password`;
  const refusedTo = async (accept: string): Promise<Response> => {
    const answer = await fetch(path, { headers: { accept, "accept-language": "fr" } });
    return answer.status === 429 ? answer : refusedTo(accept);
  };
  const page = await refusedTo("text/html,application/xhtml+xml");
  expect(page.headers.get("retry-after")).toMatch(/^\d+$/);
  const text = await page.text();
  expect(text).toContain(pageText("busy", "fr"));
  expect(text).toContain(`<a class="button" href="/password">${pageText("try_again", "fr")}</a>`);
  expect(await (await refusedTo("*/*")).text()).toContain('"RATE_LIMIT"');
});

type Raw = { readonly headers: Readonly<Record<string, string>>; readonly body?: string };

/** Sends a request with a Host of its own. */
function rawly(method: string, path: string, { headers, body = "" }: Raw) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    location: string | undefined;
    cookie: string;
    text: string;
  }>();
  const sent = request(`${issuer}${path}`, { method, headers }, async (response) => {
    let text = "";
    for await (const chunk of response) text += chunk;
    const cookie = (response.headers["set-cookie"] ?? []).map((one) => one.split(";")[0]).join("; ");
    resolve({ status: response.statusCode, location: response.headers.location, cookie, text });
  });
  sent.on("error", reject);
  sent.end(body);
  return promise;
}
