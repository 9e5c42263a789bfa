import { afterAll, beforeAll, expect, test } from "vitest";
import { withTotp } from "../fixture/factors.ts";
import { holdStatement } from "../fixture/held_row.ts";
import { signedUp } from "../harness.ts";
import { ask, until } from "../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  type Person,
  post,
  signIn,
} from "./application.ts";
import { openBrowser } from "./browser.ts";

let nodes: TwoNodes;
let app: Application;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example", databaseConnections: 16 });
  app = await application(nodes.one.admin);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const ten = Array.from({ length: 10 }, (_, n) => n);

/** Ten browsers at the two nodes in turn, each with the page that it was shown first. */
const browsers = (show: (browser: ReturnType<typeof openBrowser>, url: string) => ReturnType<typeof signIn>) =>
  Promise.all(
    ten.map(async (n) => {
      const { url } = nodes.through(n);
      const browser = openBrowser(url);
      return { browser, page: await show(browser, authorizeUrl(url, app)), nth: n };
    }),
  );

test("of ten new passwords at once, at the pages of two nodes, one counts, and the others are wrong", async () => {
  const { username, password }: Person = await signedUp(nodes.one);
  const all = await browsers((browser, url) => browser.open(url));
  const values = { login_name: username, password };
  const shown = await Promise.all(
    all.map(({ browser, page, nth }) => browser.submit(page, { ...values, new_password: `Green-Teapot-${nth}` })),
  );
  expect(shown.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
  const won = shown.findIndex(({ status }) => status === 200);
  const again = await signIn(openBrowser(nodes.two.url), authorizeUrl(nodes.two.url, app), {
    username,
    password: `Green-Teapot-${won}`,
  });
  expect(answerIn(again).code).toEqual(expect.any(String));
});

test("of ten sign-ins at once with one code of an app, at the pages of two nodes, one ends well", async () => {
  const person = await withTotp(nodes.one);
  const all = await browsers((browser, url) => signIn(browser, url, person));
  const code = person.code(0);
  const shown = await Promise.all(all.map(({ browser, page }) => browser.submit(page, { code }, "factor")));
  const statuses = shown.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toEqual([200]);
  // The others are wrong, or too many.
  expect(statuses.filter((status) => ![200, 401, 429].includes(status))).toEqual([]);
});

test("three recovery codes at once sign in three times", async () => {
  const person = await withTotp(nodes.one);
  const { codes } = (await person.client.post("/v1/users/me/factors:generateRecoveryCodes")).body;
  const all = await browsers((browser, url) => signIn(browser, url, person));
  const shown = await Promise.all(
    all.slice(0, 3).map(({ browser, page, nth }) => browser.submit(page, { code: codes[nth] }, "factor")),
  );
  expect(shown.map(({ status }) => status)).toEqual([200, 200, 200]);
  for (const [n, one] of shown.entries())
    expect((await exchange(nodes.through(n + 1).url, app, answerIn(one).code ?? "")).status).toBe(200);
});

test("of ten answers at once to one sign-in that waits for a factor, one begins a session", async () => {
  const person = await withTotp(nodes.one);
  const { codes } = (await person.client.post("/v1/users/me/factors:generateRecoveryCodes")).body;
  const { url } = nodes.one;
  const browser = openBrowser(url);
  const page = await signIn(browser, authorizeUrl(url, app), person);
  const shown = await Promise.all(
    codes.slice(0, 4).map((code: string) => openBrowserWith(browser.cookies).submit(page, { code }, "factor")),
  );
  const statuses = shown.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toEqual([200]);
  expect(statuses.filter((status) => ![200, 401, 429].includes(status))).toEqual([]);
});

function openBrowserWith(cookies: ReadonlyMap<string, string>) {
  const browser = openBrowser(nodes.two.url);
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  return browser;
}

const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
const offline = { scope: "openid offline_access" };

/** The ways to end all that a user has. */
const ends: Readonly<Record<string, (userId: string) => Promise<{ status: number }>>> = {
  "is deactivated": (userId) => nodes.one.admin.post(`/v1/users/${userId}:deactivate`),
  "gets another password": (userId) =>
    nodes.one.admin.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-77" }),
  "is deleted": (userId) => nodes.one.admin.delete(`/v1/users/${userId}`),
};

const waitsForSignOn = `select 1 from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%sign_ons o%'`;

/** Sends a request that waits at the database while the sign-ins of an application end. */
async function whileEnding<T>({ appId }: Application, send: () => Promise<T>): Promise<T> {
  const ending = await holdStatement(nodes.databaseUrl, `delete from sign_ons where app_id = '${appId}'`);
  const sent = send();
  await until(async () => (await ask(nodes.databaseUrl, waitsForSignOn)).length > 0);
  await ending[Symbol.asyncDispose]();
  return sent;
}

const endings = async () => (await ask(nodes.databaseUrl, "select 1 from events where type = 'sign_on.ended'")).length;

test("a token whose sign-in ends while it is written is refused, and nothing says that it came twice", async () => {
  const refreshing = await application(nodes.one.admin, { grantTypes });
  const person = await signedUp(nodes.one);
  const { code, browser } = await codeFor(nodes.one.url, refreshing, person, offline);
  const { refresh_token } = (await exchange(nodes.one.url, refreshing, code)).body;
  const refresh = () =>
    post(nodes.two.url, "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(refreshing));
  const refused = { status: 400, body: { error: "invalid_grant" } };
  const before = await endings();
  expect((await refresh()).status).toBe(200);
  expect(await whileEnding(refreshing, refresh)).toMatchObject(refused);
  const next = answerIn(await browser.open(authorizeUrl(nodes.one.url, refreshing, offline))).code ?? "";
  expect(await whileEnding(refreshing, () => exchange(nodes.two.url, refreshing, next))).toMatchObject(refused);
  expect(await endings()).toBe(before);
});

test("codes of an application whose sign-ins are being deleted keep no other code waiting", async () => {
  const [ending, other] = [await application(nodes.one.admin), await application(nodes.one.admin)];
  const codeOf = async (app: Application) => (await codeFor(nodes.one.url, app, await signedUp(nodes.one))).code;
  // More than one network of unknown callers may hold: they count for the organization of the application.
  const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(ending)));
  const free = await codeOf(other);
  const deletion = await holdStatement(nodes.databaseUrl, `delete from sign_ons where app_id = '${ending.appId}'`);
  const late = codes.map((code) => exchange(nodes.two.url, ending, code));
  await until(async () => (await ask(nodes.databaseUrl, waitsForSignOn)).length >= codes.length);
  expect((await exchange(nodes.two.url, other, free)).status).toBe(200);
  await deletion[Symbol.asyncDispose]();
  for (const { status, body } of await Promise.all(late)) expect([status, body.error]).toEqual([400, "invalid_grant"]);
});

const soon = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 20));

test.each(Object.keys(ends))("no sign-in at a page outlives its user, who %s meanwhile", async (name) => {
  const end = ends[name] ?? expect.unreachable();
  for (let round = 0; round < 4; round++) {
    const person = await signedUp(nodes.one);
    const browser = openBrowser(nodes.one.url);
    const page = await browser.open(authorizeUrl(nodes.one.url, app));
    const values = { login_name: person.username, password: person.password };
    const [shown, { status }] = await Promise.all([
      browser.submit(page, values),
      soon().then(() => end(person.userId)),
    ]);
    expect([status, [200, 401].includes(shown.status)]).toEqual([200, true]);
    const { code = "x" } = shown.status === 200 ? answerIn(shown) : {};
    expect((await exchange(nodes.two.url, app, code)).body.error).toBe("invalid_grant");
    const silent = await browser.open(authorizeUrl(nodes.two.url, app, { prompt: "none" }));
    expect(answerIn(silent).error).toBe("login_required");
  }
});

/** The same at one application. */
const endsAt: Readonly<Record<string, (userId: string, app: Application) => Promise<{ status: number }>>> = {
  ...ends,
  "is disconnected": (userId, { appId }) =>
    nodes.one.admin.delete(`/v1/users/${userId}/connected-applications/${appId}`),
};

test.each(Object.keys(endsAt))("no token outlives its user, who %s while two nodes make it", async (name) => {
  const end = endsAt[name] ?? expect.unreachable();
  const refreshing = await application(nodes.one.admin, { grantTypes });
  const refresh = ({ url }: { readonly url: string }, refresh_token: string) =>
    post(url, "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(refreshing));
  for (let round = 0; round < 4; round++) {
    const person = await signedUp(nodes.one);
    const { code, browser } = await codeFor(nodes.one.url, refreshing, person, offline);
    const { refresh_token } = (await exchange(nodes.one.url, refreshing, code)).body;
    const next = answerIn(await browser.open(authorizeUrl(nodes.one.url, refreshing, offline))).code ?? "";
    const [one, two, third, { status }] = await Promise.all([
      refresh(nodes.one, refresh_token),
      refresh(nodes.two, refresh_token),
      exchange(nodes.two.url, refreshing, next),
      soon().then(() => end(person.userId, refreshing)),
    ]);
    expect(status).toBe(200);
    for (const made of [one, two, third].filter(({ status }) => status === 200)) {
      const asked = await post(
        nodes.two.url,
        "/oauth/introspect",
        { token: made.body.access_token },
        basic(refreshing),
      );
      expect(asked.body).toEqual({ active: false });
      expect((await refresh(nodes.one, made.body.refresh_token)).body.error).toBe("invalid_grant");
    }
    const others = [one, two, third].filter(({ status }) => status !== 200 && status !== 400);
    expect(others.map(({ status, body }) => [status, body])).toEqual([]);
  }
});
