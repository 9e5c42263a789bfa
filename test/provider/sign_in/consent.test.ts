import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { connected, foreignApplication } from "../../fixture/connection.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { startTwoNodes } from "../../two_nodes.ts";
import { answerIn, application, authorizeUrl, basic, exchange, issuerOf, post, signIn } from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** A person, and an application of another organization that it may use. */
async function foreigners(settings: Readonly<Record<string, unknown>> = {}) {
  const app = await foreignApplication(postern, postern.organizationId, settings);
  return { app, person: await signedUp(postern), browser: openBrowser(issuer) };
}

const isConsent = ({ status, text }: Shown) => [status, text.includes('value="allow"')];
const errorOf = (shown: Shown) => answerIn(shown).error;
const silent = { prompt: "none" };

test("the page names application, organization and scopes, and the user is asked once", async () => {
  const { app, person, browser } = await foreigners();
  const url = authorizeUrl(issuer, app, { scope: "openid email roles" });
  const asked = await signIn(browser, url, person);
  expect(isConsent(asked)).toEqual([200, true]);
  const named = (text: string) => patternOf(text).exec(asked.text)?.slice(1);
  const [application, of] = [/^App \d+ \w+$/, /^Organization \d+ \w+$/].map((name) => expect.stringMatching(name));
  expect(named(`<h1>${pageText("consent_title", "en")}</h1>`)).toEqual([application]);
  expect(named(pageText("consent_text", "en"))).toEqual([application, of]);
  const lines = [...asked.text.matchAll(/<li>([^<]*)<\/li>/g)].map(([, line]) => line);
  const scopes = ["scope_openid", "scope_email", "scope_roles"] as const;
  expect(lines).toEqual(scopes.map((scope) => pageText(scope, "en")));
  expect(asked.headers.get("content-security-policy")).toContain("form-action 'self';");
  expect(errorOf(await browser.open(authorizeUrl(issuer, app, silent)))).toBe("consent_required");
  const { code = "" } = answerIn(await browser.submit(asked, {}, "allow"));
  expect((await exchange(issuer, app, code)).status).toBe(200);
  expect(answerIn(await browser.open(url)).code).toEqual(expect.any(String));
  expect(answerIn(await browser.open(authorizeUrl(issuer, app, silent))).code).toEqual(expect.any(String));
});

test("a first-party application asks nothing, unless it wants the question", async () => {
  const { app, person, browser } = await foreigners({ firstParty: true });
  const scope = { scope: "openid address" };
  expect(answerIn(await signIn(browser, authorizeUrl(issuer, app, scope), person)).code).toEqual(expect.any(String));
  const asked = await browser.open(authorizeUrl(issuer, app, { ...scope, prompt: "consent" }));
  expect([isConsent(asked), asked.text.includes(pageText("scope_address", "en"))]).toEqual([[200, true], true]);
});

test("scopes that grow are asked for again, and what was allowed before stays allowed", async () => {
  const { app, person, browser } = await foreigners();
  const first = await signIn(browser, authorizeUrl(issuer, app, { scope: "openid email" }), person);
  await browser.submit(first, {}, "allow");
  const more = authorizeUrl(issuer, app, { scope: "openid phone" });
  expect(errorOf(await browser.open(`${more}&prompt=none`))).toBe("consent_required");
  const second = await browser.open(more);
  expect(isConsent(second)).toEqual([200, true]);
  expect(answerIn(await browser.submit(second, {}, "allow")).code).toEqual(expect.any(String));
  const both = await browser.open(authorizeUrl(issuer, app, { scope: "openid email phone", ...silent }));
  expect(answerIn(both).code).toEqual(expect.any(String));
});

test("a user who denies it is sent back with access_denied, and is asked again", async () => {
  const { app, person, browser } = await foreigners();
  const asked = await signIn(browser, authorizeUrl(issuer, app), person);
  const { error, state } = answerIn(await browser.submit(asked, {}, "cancel"));
  expect([error, state]).toEqual(["access_denied", "st&te =1"]);
  expect(isConsent(await browser.open(authorizeUrl(issuer, app)))).toEqual([200, true]);
});

test("an application of the user's own organization asks nothing, but for the prompt consent", async () => {
  const [app, person, browser] = [await application(postern.admin), await signedUp(postern), openBrowser(issuer)];
  expect(answerIn(await signIn(browser, authorizeUrl(issuer, app), person)).code).toEqual(expect.any(String));
  const asking = authorizeUrl(issuer, app, { prompt: "consent" });
  for (const asked of [await browser.open(asking), await browser.open(asking)]) {
    expect(isConsent(asked)).toEqual([200, true]);
    expect(answerIn(await browser.submit(asked, {}, "allow")).code).toEqual(expect.any(String));
  }
});

test("a user who may not use the application is not asked", async () => {
  const elsewhere = { "x-service-orgid": await organization(postern) };
  const [app, person] = [await application(postern.admin, {}, elsewhere), await signedUp(postern)];
  expect(errorOf(await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person))).toBe("access_denied");
});

test("with the prompt login the question follows the password, which is not asked for twice", async () => {
  const { app, person, browser } = await foreigners();
  const asked = await signIn(browser, authorizeUrl(issuer, app, { prompt: "login", max_age: "0" }), person);
  expect(isConsent(asked)).toEqual([200, true]);
  expect(answerIn(await browser.submit(asked, {}, "allow")).code).toEqual(expect.any(String));
});

test("the question of one browser or user is worth nothing in another, nor from another site", async () => {
  const { app, person, browser } = await foreigners();
  const asked = await signIn(browser, authorizeUrl(issuer, app), person);
  const other = openBrowser(issuer);
  await signIn(other, authorizeUrl(issuer, app), await signedUp(postern));
  expect((await other.submit(asked, {}, "allow")).status).toBe(403);
  const page = await openBrowser(issuer).open(authorizeUrl(issuer, app));
  const allowed = await browser.submit({ ...asked, text: page.text }, {}, "allow");
  expect(allowed.status).toBe(403);
  expect(errorOf(await browser.open(authorizeUrl(issuer, app, silent)))).toBe("consent_required");
});

test("a form that was shown before anybody signed in allows nothing", async () => {
  const { app, person, browser } = await foreigners();
  const page = await browser.open(authorizeUrl(issuer, app));
  await browser.submit(page, { login_name: person.username, password: person.password });
  for (const action of ["allow", "continue"]) expect((await browser.submit(page, {}, action)).status).toBe(403);
});

const tokens = async (browser: Browser, one: Awaited<ReturnType<typeof connected>>, at = postern) => ({
  silent: errorOf(await browser.open(authorizeUrl(at.url, one.app, silent))) ?? "code",
  introspection: (await post(at.url, "/oauth/introspect", { token: one.accessToken }, basic(one.app))).body.active,
  refresh: (
    await post(at.url, "/oauth/token", { grant_type: "refresh_token", refresh_token: one.refreshToken }, basic(one.app))
  ).status,
});

test("who disconnects an application ends its tokens, and is asked for consent the next time", async () => {
  const one = await connected(postern);
  const path = "/v1/users/me/connected-applications";
  const { body } = await one.person.client.get(path);
  expect(body.applications).toEqual([
    {
      ...{ appId: one.app.appId, name: expect.any(String), organizationId: expect.any(String) },
      ...{ organizationName: expect.stringMatching(/^Organization/), scopes: ["openid", "offline_access"] },
      ...{ consentDate: expect.any(String), lastSignInDate: expect.any(String), isOffline: true },
      ...{ offlineSinceDate: expect.any(String), actingMachines: [] },
    },
  ]);
  expect((await one.person.client.delete(`${path}/${one.app.appId}`)).status).toBe(200);
  expect(await tokens(one.browser, one)).toEqual({ silent: "consent_required", introspection: false, refresh: 400 });
  expect((await one.person.client.get(path)).body.applications).toEqual([]);
  expect((await one.person.client.delete(`${path}/${one.app.appId}`)).status).toBe(404);
  const { body: log } = await postern.admin.get(`/v1/events?actorId=${one.person.userId}`);
  const types = log.events.map(({ type }: { type: string }) => type);
  expect(types).toEqual(expect.arrayContaining(["consent.given", "consent.withdrawn", "sign_on.ended"]));
});

test("applications of the user's own organization are listed while they hold tokens, and disconnected", async () => {
  const [app, person, browser] = [await application(postern.admin), await signedUp(postern), openBrowser(issuer)];
  const { code = "" } = answerIn(await signIn(browser, authorizeUrl(issuer, app), person));
  const { body } = await exchange(issuer, app, code);
  const path = `/v1/users/${person.userId}/connected-applications`;
  const { applications } = (await postern.admin.get(path)).body;
  expect(applications).toMatchObject([{ appId: app.appId, scopes: [], isOffline: false }]);
  expect((await postern.admin.delete(`${path}/${app.appId}`)).status).toBe(200);
  const active = (await post(issuer, "/oauth/introspect", { token: body.access_token }, basic(app))).body;
  expect(active).toEqual({ active: false });
  const session = await browser.open(authorizeUrl(issuer, app, silent));
  expect(answerIn(session).code).toEqual(expect.any(String));
});

test("a consent goes with its user and with its application", async () => {
  const [one, other] = [await connected(postern), await connected(postern)];
  const header = { "x-service-orgid": (await one.person.client.get(listPath)).body.applications[0].organizationId };
  const appPath = `/v1/projects/${one.app.projectId}/applications/${one.app.appId}`;
  const gone = await postern.admin.delete(appPath, header);
  expect([gone.status, (await one.person.client.get(listPath)).body.applications]).toEqual([200, []]);
  expect((await postern.admin.delete(`/v1/users/${other.person.userId}`)).status).toBe(200);
});

const listPath = "/v1/users/me/connected-applications";

test("of eight consents at once through two nodes each counts, and one is stored", async () => {
  await using nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  const [app, person] = [await foreignApplication(nodes.one, nodes.one.organizationId), await signedUp(nodes.one)];
  const browsers = [openBrowser(nodes.one.url), openBrowser(nodes.two.url)] as const;
  const scopes = ["email", "phone", "profile", "roles"].map((scope) => `openid ${scope}`);
  const first = await signIn(browsers[0], authorizeUrl(nodes.one.url, app, { scope: scopes[0] ?? "" }), person);
  for (const [name, value] of browsers[0].cookies) browsers[1].cookies.set(name, value);
  const others = await Promise.all(
    scopes.slice(1).map((scope) => browsers[1].open(authorizeUrl(nodes.two.url, app, { scope }))),
  );
  const clicks = [first, ...others].flatMap((page) => browsers.map((browser) => browser.submit(page, {}, "allow")));
  expect((await Promise.all(clicks)).map((shown) => typeof answerIn(shown).code)).toEqual(Array(8).fill("string"));
  const { applications } = (await person.client.get(listPath)).body;
  const all = ["email", "openid", "phone", "profile", "roles"];
  expect(applications.map((one: { scopes: string[] }) => one.scopes.toSorted())).toEqual([all]);
});
