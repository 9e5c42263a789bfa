import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { connected, foreignApplication } from "../../fixture/connection.ts";
import { openClient } from "../../fixture/database_client.ts";
import { holdStatement } from "../../fixture/held_row.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { ask, until } from "../../postgres/embedded/holder.ts";
import { answerIn, authorizeUrl, basic, exchange, issuerOf, post, signIn } from "../application.ts";
import { hiddenIn, openBrowser, type Shown } from "../browser.ts";
import { beginDevice, deviceSettings, poll, untilConfirmation } from "../device_flow.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern({ devicePollSeconds: 1, databaseConnections: 16 });
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const isConsent = ({ status, text }: Shown) => [status, text.includes('value="allow"')];
const foreign = (settings: Readonly<Record<string, unknown>> = {}) =>
  foreignApplication(postern, postern.organizationId, settings);

test("an application of another organization that asks for no scope is asked about like any other", async () => {
  const [app, person, browser] = [await foreign(), await signedUp(postern), openBrowser(issuer)];
  const url = authorizeUrl(issuer, app, { scope: undefined });
  const asked = await signIn(browser, url, person);
  expect(isConsent(asked)).toEqual([200, true]);
  expect(answerIn(await browser.open(`${url}&prompt=none`)).error).toBe("consent_required");
  expect(answerIn(await browser.submit(asked, {}, "allow")).code).toEqual(expect.any(String));
  expect(answerIn(await browser.open(`${url}&prompt=none`)).code).toEqual(expect.any(String));
  expect((await browser.open(`${issuer}/account/applications`)).text).toContain("<li>know who you are and");
  expect(answerIn(await browser.open(authorizeUrl(issuer, app, { prompt: "none" }))).error).toBe("consent_required");
});

test("so is one on a device", async () => {
  const [app, person] = [await foreign(deviceSettings), await signedUp(postern)];
  const codes = await beginDevice(issuer, app, { scope: "" });
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  const asked = await browser.submit(page, {}, "continue");
  expect(isConsent(asked)).toEqual([200, true]);
  await browser.submit(asked, {}, "allow");
  expect((await poll(issuer, app, codes)).body).toMatchObject({ scope: "", access_token: expect.any(String) });
});

test("whoever signed in for a request goes on as no other account of the browser without its password", async () => {
  const [app, ada, ben] = [await foreign(), await signedUp(postern), await signedUp(postern)];
  const browser = openBrowser(issuer);
  await signIn(browser, `${issuer}/account`, ada);
  const chooser = await browser.open(authorizeUrl(issuer, app, { prompt: "select_account" }));
  const [, account = ""] = /name="account" value="([^"]*)"/.exec(chooser.text) ?? [];
  const asked = await signIn(browser, authorizeUrl(issuer, app, { prompt: "login consent" }), ben);
  expect(isConsent(asked)).toEqual([200, true]);
  const page = await browser.submit(asked, { account }, "choose");
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('name="password"')]);
});

/** Waits until so many statements wait for a lock. */
async function untilHeldUp(least = 1): Promise<void> {
  const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await ask(postern.databaseUrl, waits)).length >= least);
}

const silent = { prompt: "none" };

test("a sign-in that is written while its user disconnects the application is worth nothing", async () => {
  const { app, person, browser } = await connected(postern);
  const theirs = `consents where app_id = '${app.appId}'`;
  const held = await holdStatement(postern.databaseUrl, `select from ${theirs} for no key update`);
  const disconnected = person.client.delete(`/v1/users/me/connected-applications/${app.appId}`);
  await untilHeldUp();
  const { code = "" } = answerIn(await browser.open(authorizeUrl(issuer, app, silent)));
  await held[Symbol.asyncDispose]();
  expect((await disconnected).status).toBe(200);
  expect((await exchange(issuer, app, code)).body.error).toBe("invalid_grant");
});

test("a sign-in that waits for the end of its consent is refused", async () => {
  const { app, browser } = await connected(postern);
  const held = await holdStatement(postern.databaseUrl, `delete from consents where app_id = '${app.appId}'`);
  const answered = browser.open(authorizeUrl(issuer, app, silent));
  await untilHeldUp();
  await held[Symbol.asyncDispose]();
  expect(answerIn(await answered).error).toBe("access_denied");
});

test.each(["consents", "browser_sessions"])(
  "sign-ins that wait for the end of their %s keep no other waiting",
  async (table) => {
    const all = await Promise.all(Array.from({ length: 6 }, () => connected(postern)));
    const [free, ...ending] = all;
    if (!free) expect.unreachable();
    const users = ending.map(({ person }) => `'${person.userId}'`).join();
    const held = await holdStatement(postern.databaseUrl, `delete from ${table} where user_id in (${users})`);
    const answered = ending.map(({ app, browser }) => browser.open(authorizeUrl(issuer, app, silent)));
    await untilHeldUp(ending.length);
    expect(answerIn(await free.browser.open(authorizeUrl(issuer, free.app, silent))).code).toEqual(expect.any(String));
    await held[Symbol.asyncDispose]();
    for (const shown of await Promise.all(answered))
      expect(answerIn(shown).error).toBe(table === "consents" ? "access_denied" : "login_required");
  },
);

test("the name of an application or organization turns no other words of a page around", async () => {
  const [app, person] = [await foreign(), await signedUp(postern)];
  // A name that was stored before such characters were refused.
  await using database = openClient(postern.databaseUrl);
  await database.client`update applications set name = ${"Shop\u202e\u2067 <b>\r\n"} where app_id = ${app.appId}`;
  const asked = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);
  expect(asked.text).toContain("<p>The application Shop &lt;b&gt; of Organization");
  expect(asked.text).not.toMatch(/\p{Bidi_Control}/u);
});

test("the form of one step is not that of another", async () => {
  const [app, person, browser] = [await foreign(), await signedUp(postern), openBrowser(issuer)];
  await signIn(browser, `${issuer}/account`, person);
  const asked = await browser.open(authorizeUrl(issuer, app));
  const body = new URLSearchParams({ ...hiddenIn(asked.text), action: "done" });
  const sent = await browser.send(`${issuer}/account/factors/add`, {
    method: "POST",
    body,
    headers: { origin: issuer },
  });
  expect(sent.status).toBe(403);
});

test("introspection tells the username of a user of another organization only with the scope profile", async () => {
  const names: Record<string, unknown> = {};
  for (const scope of ["openid", "openid profile"]) {
    const { app, person, accessToken } = await connected(postern, { scope });
    const { body } = await post(issuer, "/oauth/introspect", { token: accessToken }, basic(app));
    expect(body).toMatchObject({ active: true, sub: person.userId });
    names[scope] = body.username === person.username ? "shown" : body.username;
  }
  expect(names).toEqual({ openid: undefined, "openid profile": "shown" });
});

test("the question names the roles where the application gets them without their scope", async () => {
  const lines: number[] = [];
  for (const settings of [{}, { idTokenRoleAssertion: true }, { accessTokenRoleAssertion: true }]) {
    const [app, person] = [await foreign(settings), await signedUp(postern)];
    const { text } = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);
    lines.push(text.split(pageText("scope_roles", "en")).length - 1);
  }
  expect(lines).toEqual([0, 1, 1]);
});

test("a page of one account does nothing once another account of the browser is chosen", async () => {
  const [ada, ben] = [await signedUp(postern), await signedUp(postern)];
  const browser = openBrowser(issuer);
  await signIn(browser, `${issuer}/account`, ada);
  const pages = [await browser.open(`${issuer}/account`), await browser.open(`${issuer}/account/sessions`)];
  const other = await browser.submit(pages[0] ?? expect.unreachable(), {}, "switch");
  await browser.submit(await browser.submit(other, {}, "other"), { login_name: ben.username, password: ben.password });
  expect((await browser.open(`${issuer}/account`)).text).toContain(`<b>${ben.username}</b>`);
  for (const [nth, action] of ["sign_out", "others"].entries())
    expect((await browser.submit(pages[nth] ?? expect.unreachable(), {}, action)).status).toBe(403);
  for (const { client } of [ada, ben]) expect((await client.get("/v1/sessions")).body.sessions).toHaveLength(2);
});

test("no page says that its user is signed in when the application gets an error", async () => {
  const app = await foreign();
  const more = { response_mode: "form_post", prompt: "none" };
  const { text } = await openBrowser(issuer).open(authorizeUrl(issuer, app, more));
  expect([text.includes("login_required"), /<h1>([^<]*)/.exec(text)?.[1]]).toEqual([true, pageText("error", "en")]);
});

test("an application that is first-party no more asks at the next sign-in", async () => {
  const owner = await organization(postern);
  const app = await foreign({ firstParty: true, owner });
  const [person, browser] = [await signedUp(postern), openBrowser(issuer)];
  expect(answerIn(await signIn(browser, authorizeUrl(issuer, app), person)).code).toEqual(expect.any(String));
  const path = `/v1/projects/${app.projectId}/applications/${app.appId}/oidc`;
  const headers = { "x-service-orgid": owner };
  expect((await postern.admin.call("PATCH", path, { firstParty: false }, headers)).status).toBe(200);
  expect(answerIn(await browser.open(authorizeUrl(issuer, app, silent))).error).toBe("consent_required");
});
