import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { codeOf } from "../../fixture/authenticator.ts";
import { connected } from "../../fixture/connection.ts";
import { enrolPasskey, enrolTotp, keyFor, withTotp } from "../../fixture/factors.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openProbe } from "../../probe.ts";
import { answerIn, application, authorizeUrl, basic, issuerOf, type Person, post, signIn } from "../application.ts";
import { type Browser, hiddenIn, openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** A browser in which a person signed in to the page of its account. */
async function atHome(person: Person, browser = openBrowser(issuer)) {
  const page = await signIn(browser, `${issuer}/account`, person);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(`<h1>${pageText("account", "en")}</h1>`)]);
  return { browser, page };
}

const paths = [
  ...[
    "",
    "/profile",
    "/email",
    "/phone",
    "/password",
    "/factors",
    "/sessions",
    "/applications",
    "/invitations",
    "/delete",
  ],
].map((section) => `/account${section}`);
const withScript = ["/account/password", "/account/sessions"];

/** Sends the form of an account page by the button of this name and value. */
async function click(browser: Browser, page: Shown, button: Readonly<Record<string, string>>): Promise<Shown> {
  const path = /<form method="post" action="(\/account[^"]*)"/.exec(page.text)?.[1] ?? expect.unreachable();
  const body = new URLSearchParams({ ...hiddenIn(page.text), ...button });
  const sent = await browser.send(issuer + path, { method: "POST", body, headers: { origin: issuer } });
  return sent.status === 303 ? browser.open(issuer + sent.headers.get("location")) : sent;
}

const valuesOf = ({ text }: Shown, name: string) =>
  [...text.matchAll(new RegExp(`<button name="${name}" value="([^"]*)"`, "g"))].map(([, value]) => value ?? "");

test("each page asks for a sign-in, leads back, names its user, and is shown in no frame, to no cache and without inline script", async () => {
  const person = await signedUp(postern);
  for (const path of paths) {
    const browser = openBrowser(issuer);
    const page = await signIn(browser, issuer + path, person);
    expect([page.status, page.url]).toEqual([200, issuer + path]);
    expect(page.text).toContain(`<b>${person.username}</b>`);
    expect(
      page.text.match(/<div class="pages">[\s\S]*?<\/div>/)?.[0].match(/href="[^"]*"(?: aria-current="page")?/g),
    ).toEqual(paths.map((one) => `href="${one}"${one === path ? ' aria-current="page"' : ""}`));
    const script = withScript.includes(path)
      ? "script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "
      : "";
    expect(page.headers.get("content-security-policy")).toBe(
      `default-src 'none'; style-src 'self'; ${script}form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(page.headers.get("cache-control")).toBe("no-store");
    const scripts = script === "" ? null : ['<script src="/sign-in/page.js" defer></script>'];
    expect(page.text.match(/<script.*?<\/script>/g)).toEqual(scripts);
  }
});

test("whoever cancels the sign-in is told that nobody is signed in", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(`${issuer}/account`);
  const closed = await browser.submit(page, {}, "cancel");
  expect([closed.status, closed.text]).toEqual([200, expect.stringContaining(pageText("account_closed", "en"))]);
});

test("no application has the client id of our pages, and they give out no code", async () => {
  const person = await signedUp(postern);
  const browser = openBrowser(issuer);
  const query = { client_id: "account pages", redirect_uri: "/account", response_type: "code", scope: "openid" };
  const back = await signIn(browser, `${issuer}/oauth/authorize?${new URLSearchParams(query)}`, person);
  expect([back.url, back.status]).toEqual([`${issuer}/account`, 200]);
  for (const redirect_uri of ["https://evil.example", "//evil.example", "/account/../x", "/oauth/authorize"]) {
    const refused = await browser.open(`${issuer}/oauth/authorize?${new URLSearchParams({ ...query, redirect_uri })}`);
    expect([redirect_uri, refused.status]).toEqual([redirect_uri, 400]);
  }
  const token = await post(issuer, "/oauth/token", {
    ...{ grant_type: "authorization_code", code: "x", client_id: "account pages" },
  });
  expect(token.body.error).toBe("invalid_client");
  const taken = await postern.admin.post("/v1/projects", { name: `P ${person.userId}` });
  const named = { name: "App", clientId: "account pages" };
  const refused = await postern.admin.post(`/v1/projects/${taken.body.projectId}/applications/oidc`, named);
  expect(refused.status).toBe(400);
});

test("sessions are listed, one is ended, and then all others", async () => {
  const person = await signedUp(postern);
  const { browser } = await atHome(person);
  const phone = await atHome(person);
  const userAgent = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };
  await postern.as().post("/v1/sessions", { loginName: person.username, password: person.password }, userAgent);
  const page = await browser.open(`${issuer}/account/sessions`);
  expect(page.text.match(/Firefox · Linux · 127\.0\.0\.1/g)).toHaveLength(1);
  expect(page.text.split(pageText("this_session", "en"))).toHaveLength(2);
  const [last = "", ...others] = valuesOf(page, "ask_session");
  expect(others).toHaveLength(2);
  const one = await click(browser, page, { ask_session: last });
  expect(one.text).toContain(`<h1>${pageText("end_title", "en")}</h1>`);
  expect(valuesOf(await browser.open(`${issuer}/account/sessions`), "ask_session")).toEqual([last, ...others]);
  const fewer = await click(browser, one, { session: valuesOf(one, "session")[0] ?? "" });
  expect(valuesOf(fewer, "ask_session")).toEqual(others);
  const all = await click(browser, fewer, { action: "ask_others" });
  expect(all.text).toContain(`<h1>${pageText("others_title", "en")}</h1>`);
  expect(valuesOf(await browser.open(`${issuer}/account/sessions`), "ask_session")).toEqual(others);
  const alone = await browser.submit(all, {}, "others");
  expect([valuesOf(alone, "ask_session"), alone.text.split(pageText("this_session", "en")).length]).toEqual([[], 2]);
  expect((await person.client.get("/v1/users/me")).status).toBe(401);
  expect((await phone.browser.open(`${issuer}/account`)).text).toContain('name="password"');
});

test("the page of the address says what it is worth, mails a code in its language, and takes it", async () => {
  const person = await signedUp(postern);
  const email = `${person.username}@example.com`;
  const isVerified = async () =>
    (await postern.admin.get(`/v1/users/${person.userId}`)).body.user.human.emailVerified as boolean;
  const { browser } = await atHome(person);
  const page = await browser.open(`${issuer}/account/email`);
  expect(page.text).toContain(pageText("email_unconfirmed", "en", { email }));
  const early = await click(browser, page, { action: "confirm", code: "234567" });
  expect([early.status, early.text]).toEqual([400, expect.stringContaining('role="alert"')]);
  const sent = await click(browser, page, { action: "send" });
  expect(sent.text).toContain(pageText("email_sent", "en", { email }));
  const [mail] = await mailsTo(postern, email);
  const code = /^[2-9B-Z]{6}$/m.exec(mail?.text ?? "")?.[0] ?? "";
  const wrong = await click(browser, sent, { action: "confirm", code: "<wrong>" });
  expect([wrong.status, await isVerified()]).toEqual([400, false]);
  const done = await click(browser, wrong, { action: "confirm", code: ` ${code.toLowerCase()} ` });
  expect([done.status, done.text, await isVerified()]).toEqual([
    200,
    expect.stringContaining(pageText("email_confirmed", "en", { email })),
    true,
  ]);
  expect(done.text).not.toContain('name="code"');
});

test("nobody ends the session of somebody else", async () => {
  const [person, other] = [await signedUp(postern), await signedUp(postern)];
  const [{ browser }, victim] = [await atHome(person), await atHome(other)];
  await victim.browser.open(`${issuer}/account`);
  const { sessions } = (await other.client.get("/v1/sessions")).body;
  for (const { id } of sessions) {
    const asked = await click(browser, await browser.open(`${issuer}/account/sessions`), { ask_session: id });
    expect(asked.text).toContain(`<h1>${pageText("account_sessions", "en")}</h1>`);
    await click(browser, asked, { session: id });
  }
  expect(sessions).toHaveLength(2);
  expect((await other.client.get("/v1/users/me")).status).toBe(200);
});

test("a connected application is shown in plain words, and disconnected with its tokens", async () => {
  const one = await connected(postern, { scope: "openid email offline_access", name: "Shop" });
  const page = await one.browser.open(`${issuer}/account/applications`);
  const lines = ["<h2>Shop</h2>", pageText("scope_email", "en"), pageText("application_offline", "en")];
  for (const line of lines) expect(page.text).toContain(line);
  const [appId = ""] = valuesOf(page, "ask_application");
  expect(appId).toBe(one.app.appId);
  const asked = await click(one.browser, page, { ask_application: appId });
  expect(asked.text).toContain(`<h1>${pageText("disconnect_title", "en", { application: "Shop" })}</h1>`);
  expect((await one.browser.open(`${issuer}/account/applications`)).text).toContain("<h2>Shop</h2>");
  expect(valuesOf(asked, "application")).toEqual([appId]);
  expect((await click(one.browser, asked, { application: appId })).text).toContain(pageText("no_entries", "en"));
  const introspected = await post(issuer, "/oauth/introspect", { token: one.accessToken }, basic(one.app));
  expect(introspected.body.active).toBe(false);
  for (const again of [{ application: appId }, { ask_application: appId }])
    expect((await click(one.browser, page, again)).text).toContain(pageText("no_entries", "en"));
});

/** A browser of somebody with an app who signed in with both factors. */
async function withApp() {
  const person = await withTotp(postern);
  const browser = openBrowser(issuer);
  const asked = await signIn(browser, `${issuer}/account/factors`, person);
  const page = await browser.submit(asked, { code: person.code() }, "factor");
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(pageText("factor_totp", "en"))]);
  return { person, browser, page };
}

test("a factor is renamed and removed, and recovery codes are made anew", async () => {
  const { person, browser, page } = await withApp();
  const renamed = await click(browser, page, { action: "rename", name: " Old <phone> " });
  expect(renamed.text).toContain('value="Old &lt;phone&gt;"');
  const shown = await click(browser, renamed, { action: "codes" });
  const codes = [...shown.text.matchAll(/<li><code>([^<]*)<\/code><\/li>/g)];
  expect([codes.length, shown.text]).toEqual([10, expect.stringContaining(pageText("codes_title", "en"))]);
  expect(shown.text).toContain(`<b>${person.username}</b>`);
  const list = await browser.open(`${issuer}/account/factors`);
  expect(list.text).toContain(pageText("factor_recovery", "en", { count: "10" }));
  expect((await click(browser, list, { action: "remove", factor: person.factorId })).text).toContain(
    pageText("no_entries", "en"),
  );
  expect((await person.client.get("/v1/users/me/factors")).body.factors).toEqual([]);
});

test("before a factor is removed the page asks, and says what goes with it", async () => {
  const { person, browser } = await withApp();
  await click(browser, await browser.open(`${issuer}/account/factors`), { action: "codes" });
  const kinds = async () =>
    (await person.client.get("/v1/users/me/factors")).body.factors.map(({ kind }: { kind: string }) => kind);
  const passkey = await enrolPasskey(person.client, keyFor(postern));
  const list = () => browser.open(`${issuer}/account/factors`);
  const ask = async (factor: string) => click(browser, await list(), { action: "ask_remove", factor });
  const other = await ask(passkey);
  expect(other.text).toContain(`<h1>${pageText("remove_title", "en")}</h1>`);
  expect(other.text).toContain(pageText("remove_text", "en"));
  expect(await kinds()).toEqual(["FACTOR_KIND_TOTP", "FACTOR_KIND_RECOVERY_CODES", "FACTOR_KIND_PASSKEY"]);
  // The recovery codes stay while another factor does.
  expect((await browser.submit(other, {}, "remove")).status).toBe(200);
  expect(await kinds()).toEqual(["FACTOR_KIND_TOTP", "FACTOR_KIND_RECOVERY_CODES"]);
  const last = await ask(person.factorId);
  expect(last.text).toContain(pageText("remove_last", "en"));
  expect((await browser.open(issuer + /class="button plain" href="([^"]*)"/.exec(last.text)?.[1])).status).toBe(200);
  expect(await kinds()).toHaveLength(2);
  expect((await browser.submit(last, {}, "remove")).text).toContain(pageText("no_entries", "en"));
  const gone = { action: "ask_remove", factor: person.factorId };
  expect((await click(browser, last, gone)).text).toContain(pageText("no_entries", "en"));
});

test("what changes factors needs a sign-in that is fresh, and the page asks for it", async () => {
  const { person, browser, page } = await withApp();
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update browser_sessions set auth_time = auth_time - interval '11 minutes' where user_id = ${person.userId}`;
  for (const action of ["codes", "ask_remove", "remove"]) {
    const asked = await click(browser, page, { action });
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('name="password"')]);
    expect(asked.text).toContain(`value="${person.username}"`);
  }
  expect((await click(browser, page, { action: "rename", name: "Phone" })).text).toContain('value="Phone"');
  expect((await person.client.get("/v1/users/me/factors")).body.factors).toHaveLength(1);
});

test("who signed in before the factor came is asked for it, and comes back", async () => {
  const person = await signedUp(postern);
  const { browser } = await atHome(person);
  const { secret, factorId } = await enrolTotp(person.client);
  const page = await browser.open(`${issuer}/account/factors`);
  const asked = await click(browser, page, { action: "remove", factor: factorId });
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('value="factor"')]);
  const back = await browser.submit(asked, { code: codeOf(secret, 1) }, "factor");
  expect([back.url, back.text]).toEqual([
    `${issuer}/account/factors`,
    expect.stringContaining(pageText("factor_totp", "en")),
  ]);
  expect((await click(browser, back, { action: "remove", factor: factorId })).text).toContain(
    pageText("no_entries", "en"),
  );
});

test("an enrolment is of one session: another one is not shown its secret, and does not confirm it", async () => {
  const person = await signedUp(postern);
  const [{ browser }, thief] = [await atHome(person), await atHome(person)];
  const add = async (at: Browser) => at.submit(await at.open(`${issuer}/account/factors/add`), {}, "app");
  const theirs = await add(thief.browser);
  const shown = await add(browser);
  const secret = /<code>([A-Z2-7 ]{16,})</.exec(shown.text)?.[1]?.replaceAll(" ", "") ?? expect.unreachable();
  const looked = await thief.browser.submit(theirs, { code: "000000" }, "confirm_app");
  expect([looked.status, looked.text.replaceAll(" ", "").includes(secret)]).toEqual([400, false]);
  const took = await thief.browser.submit(theirs, { code: codeOf(secret) }, "confirm_app");
  expect(took.status).toBe(400);
  expect((await browser.submit(shown, { code: codeOf(secret) }, "confirm_app")).status).toBe(200);
});

test("who signs out ends the session, and the next account takes its place", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const { browser } = await atHome(ada);
  const app = await application(postern.admin);
  await signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), ben);
  const out = await click(browser, await browser.open(`${issuer}/account`), { action: "sign_out" });
  expect(out.text).toContain(`<h1>${pageText("signed_out_here", "en")}</h1>`);
  const next = await browser.open(`${issuer}/account`);
  expect(next.text).toContain(`<b>${ada.username}</b>`);
  await click(browser, next, { action: "sign_out" });
  expect((await browser.open(`${issuer}/account`)).text).toContain('name="password"');
  expect(answerIn(await browser.open(authorizeUrl(issuer, app, { prompt: "none" }))).error).toBe("login_required");
});

test("a sign-out leaves what stays connected, which is shown with its time, and a sign-out everywhere ends it", async () => {
  const one = await connected(postern, { name: "Command line" });
  const { browser, person, app } = one;
  const refresh = async (refresh_token: string) =>
    post(issuer, "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(app));
  const out = await click(browser, await browser.open(`${issuer}/account`), { action: "sign_out" });
  expect(out.text).toContain(pageText("stays_connected", "en"));
  const next = await refresh(one.refreshToken);
  expect(next.status).toBe(200);
  await atHome(person, browser);
  const list = await browser.open(`${issuer}/account/applications`);
  const year = new Date().getUTCFullYear();
  expect(list.text).toContain("<h2>Command line</h2>");
  expect(list.text).toMatch(patternOf(pageText("offline_since", "en", { date: `…${year}…` })));
  const asked = await click(browser, await browser.open(`${issuer}/account`), { action: "ask_everywhere" });
  expect(asked.text).toContain(`<h1>${pageText("everywhere_title", "en")}</h1>`);
  expect((await browser.open(`${issuer}/account`)).text).toContain(`<h1>${pageText("account", "en")}</h1>`);
  const everywhere = await browser.submit(asked, {}, "sign_out_everywhere");
  expect(everywhere.text).toContain(pageText("signed_out_everywhere", "en"));
  expect((await refresh(next.body.refresh_token)).body.error).toBe("invalid_grant");
  expect((await person.client.get("/v1/users/me")).status).toBe(401);
  expect((await browser.open(`${issuer}/account`)).text).toContain('name="password"');
});

test("the account is switched without a password", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const { browser } = await atHome(ada);
  await signIn(browser, authorizeUrl(issuer, await application(postern.admin), { prompt: "login" }), ben);
  const chooser = await click(browser, await browser.open(`${issuer}/account`), { action: "switch" });
  const [, second = ""] = valuesOf(chooser, "account");
  const back = await browser.submit(chooser, { account: second }, "choose");
  expect([back.url, back.text]).toEqual([`${issuer}/account`, expect.stringContaining(`<b>${ada.username}</b>`)]);
});

test("a form of another browser, session, page or site changes nothing", async () => {
  const { browser, page } = await withApp();
  const other = await atHome(await signedUp(postern));
  const codes = { action: "codes" };
  expect((await click(other.browser, page, codes)).status).toBe(403);
  const home = await browser.open(`${issuer}/account`);
  const body = new URLSearchParams({ ...hiddenIn(home.text), ...codes });
  const factors = `${issuer}/account/factors`;
  expect((await browser.send(factors, { method: "POST", body, headers: { origin: issuer } })).status).toBe(403);
  const right = new URLSearchParams({ ...hiddenIn(page.text), ...codes });
  const foreign = { origin: "https://evil.example" };
  expect((await browser.send(factors, { method: "POST", body: right, headers: foreign })).status).toBe(403);
  const bare = await browser.send(factors, { method: "POST", body: new URLSearchParams(codes) });
  expect(bare.status).toBe(403);
});

test("the pages speak the language of the browser", async () => {
  const { browser } = await atHome(await signedUp(postern));
  for (const language of ["de", "fr", "es"] as const) {
    const { text } = await browser.open(`${issuer}/account`, { "accept-language": language });
    expect(text).toContain(`<html lang="${language}">`);
    expect(text).toContain(`<h1>${pageText("account", language)}</h1>`);
  }
});
