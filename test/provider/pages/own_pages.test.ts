import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sealRequest } from "../../../src/provider/request/sealed_request.ts";
import { keyring } from "../../../src/security/seal.ts";
import { type Postern, sharedPostern, signedUp, startPostern } from "../../harness.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  codeFor,
  exchange,
  issuerOf,
  type Person,
  signIn,
} from "../application.ts";
import { hiddenIn, openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
let person: Person;
const bye = "https://app.example/bye";
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin, { name: "Shop", postLogoutRedirectUris: [bye] });
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const formAction = ({ headers }: Shown) => /form-action[^;]*/.exec(headers.get("content-security-policy") ?? "")?.[0];
const opener = ({ headers }: Pick<Shown, "headers">) => headers.get("cross-origin-opener-policy");
const problemOf = ({ status, text }: Shown) => [status, /<code>(\w+)<\/code>/.exec(text)?.[1]];
const buttonOf = ({ text }: Shown) => /<a class="button" href="([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");

test("a form is answered by a page that leads on to a web site, without a script, a referrer, or an entry of a cache", async () => {
  const back = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);
  const { headers, text, status, url } = back;
  expect([status, headers.get("location")]).toEqual([200, null]);
  expect([headers.get("referrer-policy"), headers.get("cache-control")]).toEqual(["no-referrer", "no-store"]);
  expect([formAction(back), text]).toEqual(["form-action 'self'", expect.not.stringMatching(/<script|<form|<input/)]);
  expect(buttonOf(back)).toBe(url);
  expect((await exchange(issuer, app, answerIn(back).code ?? "")).status).toBe(200);
});

test("to an app a form leads by a redirect, which its policy allows for that scheme alone", async () => {
  const native = await application(postern.admin, {
    ...{ appType: "OIDC_APP_TYPE_NATIVE", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
    ...{ redirectUris: ["com.example.app:/cb"], skipNativeAppSuccessPage: true },
  });
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, native));
  expect(formAction(page)).toBe("form-action 'self' com.example.app:");
  const back = await browser.submit(page, { login_name: person.username, password: person.password });
  expect([back.status, back.url]).toEqual([303, expect.stringMatching(/^com\.example\.app:\/cb\?code=/)]);
});

test("without a form a browser that is signed in goes on by a redirect", async () => {
  const { browser } = await codeFor(issuer, app, person);
  const silent = await browser.open(authorizeUrl(issuer, app));
  expect([silent.status, answerIn(silent).code]).toEqual([303, expect.stringMatching(/^oc_/)]);
});

test("the page of form_post leaves the way of its form to the application", async () => {
  const page = await signIn(openBrowser(issuer), authorizeUrl(issuer, app, { response_mode: "form_post" }), person);
  expect([formAction(page), page.text]).toEqual([undefined, expect.stringContaining(`action="${app.redirectUri}"`)]);
});

test("pages on the way from an application and back keep the window that opened them, and no others do", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, app));
  const hint = (await exchange(issuer, app, (await codeFor(issuer, app, person)).code)).body.id_token;
  const end = new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: bye });
  const onTheWay = {
    password: page,
    refused: await browser.submit(page, { login_name: person.username, password: "wrong" }),
    forgotten: await browser.submit(page, {}, "forgotten"),
    onward: await browser.submit(page, { login_name: person.username, password: person.password }),
    unknown: await browser.open(`${issuer}/oauth/authorize?client_id=none`),
    expired: await browser.open(`${issuer}/sign-in`),
    forged: await browser.send(`${issuer}/sign-in`, { method: "POST", body: new URLSearchParams({ request: "x" }) }),
    form_post: await browser.open(authorizeUrl(issuer, app, { response_mode: "form_post" })),
    "sign-out": await browser.open(`${issuer}/oauth/end-session?${end}`),
    "an error of the sign-out": await browser.open(`${issuer}/oauth/end-session?client_id=none`),
    "the address of its form": await browser.open(`${issuer}/sign-out`, { accept: "text/html" }),
    "signed out": await openBrowser(issuer).open(`${issuer}/oauth/end-session`),
  };
  const alone = [
    "/account",
    "/account/factors",
    "/account/factors/add",
    "/device",
    "/password",
    "/invitation",
    "/email",
  ];
  const others = await Promise.all([
    ...alone.map((path) => browser.open(issuer + path)),
    ...alone.map((path) => openBrowser(issuer).open(issuer + path)),
  ]);
  expect(Object.entries(onTheWay).map(([name, one]) => [name, opener(one)])).toEqual(
    Object.keys(onTheWay).map((name) => [name, null]),
  );
  expect(others.map((one) => [one.url, opener(one)])).toEqual(others.map(({ url }) => [url, "same-origin"]));
});

/** Asks the node by another host, as browsers do that opened it there. */
function askedAt(headers: Readonly<Record<string, string>>, path: string) {
  const asked = Promise.withResolvers<{ status: number; location: string | undefined; text: string }>();
  const sent = request(postern.url + path, { headers }, async (answer) => {
    const text = Buffer.concat(await answer.toArray()).toString();
    asked.resolve({ status: answer.statusCode ?? 0, location: answer.headers.location, text });
  });
  sent.once("error", asked.reject).end();
  return asked.promise;
}

const pagePaths = [
  ...["/account", "/account/sessions", "/account/factors/add", "/device", "/password/forgotten", "/password"],
  ...["/invitation", "/email", "/oauth/authorize", "/oauth/end-session"],
];

test.each(pagePaths)("%s leads from another name of the machine to the issuer before a form is shown", async (path) => {
  const { port } = new URL(issuer);
  for (const host of [`127.0.0.1:${port}`, `[::1]:${port}`, `127.9.9.9:${port}`]) {
    const { status, location } = await askedAt({ host }, `${path}?x=%20&y`);
    expect([host, status, location]).toEqual([host, 303, `${issuer}${path}?x=%20&y`]);
  }
});

test.each(pagePaths)("%s names PUBLIC_URL at any other host, and behind a proxy that tells of itself", async (path) => {
  const { port, host: own } = new URL(issuer);
  const here = { host: `127.0.0.1:${port}` };
  const elsewhere: readonly Readonly<Record<string, string>>[] = [
    ...["id.example", `id.example:${port}`, "127.0.0.1:1", `localhost.evil.example:${port}`].map((host) => ({ host })),
    ...[
      { ...here, "x-forwarded-for": "192.0.2.1" },
      { ...here, forwarded: "for=192.0.2.1" },
    ],
    ...["id.example", "id.example, proxy.example", "a b", ""].map((name) => ({ host: own, "x-forwarded-host": name })),
  ];
  for (const headers of elsewhere) {
    const { status, location, text } = await askedAt({ ...headers, "accept-language": "de" }, path);
    expect([headers, status, location]).toEqual([headers, 403, undefined]);
    expect(text).toContain(`Diese Seiten funktionieren nur unter ${issuer}.`);
    expect(text).toContain("PUBLIC_URL");
    expect(text).not.toMatch(/<form|id\.example|evil/);
  }
});

test("a form that was opened at another address is told which one is right; one of another site is not", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, app));
  const values = { ...hiddenIn(page.text), login_name: person.username, password: person.password, action: "password" };
  const sent = async (headers: Readonly<Record<string, string>>) =>
    problemOf(
      await browser.send(`${postern.url}/sign-in`, { method: "POST", headers, body: new URLSearchParams(values) }),
    );
  expect(await sent({ origin: postern.url })).toEqual([403, "wrong_address"]);
  expect(await sent({ origin: "https://id.example", "sec-fetch-site": "same-origin" })).toEqual([403, "wrong_address"]);
  expect(await sent({ origin: "https://id.example", "sec-fetch-site": "cross-site" })).toEqual([403, "expired"]);
  expect(await sent({ origin: "https://id.example" })).toEqual([403, "expired"]);
});

test("where PUBLIC_URL is set, a proxy may send a host of its own, and every answer asks for TLS from then on", async () => {
  await using secure = await startPostern({ publicUrl: "https://id.example" });
  const paths = ["/account", "/device", "/oauth/authorize", "/sign-in", "/.well-known/openid-configuration", "/docs"];
  for (const path of [...paths, "/v1/users/me", "/nowhere", "/sign-in/style.css"]) {
    const { status, headers } = await fetch(secure.url + path, { redirect: "manual" });
    expect([path, status === 303, headers.get("strict-transport-security")]).toEqual([path, false, "max-age=31536000"]);
  }
  expect((await fetch(`${secure.url}/account`)).status).toBe(200);
  expect((await fetch(`${issuer}/account`)).headers.get("strict-transport-security")).toBe(null);
});

const hours = (count: number) => new Date(Date.now() + count * 3_600_000);

/** The form of a page with a request that was sealed some time ago, by our own keys or by others. */
function agedForm(page: Shown, query: string, keys = postern.config.masterKeys ?? []) {
  const request = sealRequest(keyring(keys), query, hours(-2));
  return new URLSearchParams({ ...hiddenIn(page.text), request, login_name: "x", password: "x", action: "password" });
}

test("a form that is too old, or whose browser lost its cookie, begins again by one button, with its request", async () => {
  const browser = openBrowser(issuer);
  const url = authorizeUrl(issuer, app, { login_hint: person.username });
  const page = await browser.open(url);
  const query = new URL(url).search.slice(1);
  const sent = (from: typeof browser, body: URLSearchParams) =>
    from.send(`${issuer}/sign-in`, { method: "POST", headers: { origin: issuer }, body });
  const old = await sent(browser, agedForm(page, query));
  const lost = await sent(openBrowser(issuer), new URLSearchParams({ ...hiddenIn(page.text), action: "password" }));
  expect([old, lost].map(problemOf)).toEqual([
    [400, "expired"],
    [403, "expired"],
  ]);
  for (const one of [old, lost]) {
    expect([buttonOf(one), one.text.match(/<a |<form/g)?.length]).toEqual([`/oauth/authorize?${query}`, 1]);
    const again = await signIn(browser, issuer + buttonOf(one), person);
    expect(answerIn(again)).toMatchObject({ code: expect.stringMatching(/^oc_/), state: "st&te =1" });
    browser.cookies.clear();
  }
  const forged = await sent(browser, agedForm(page, query, [Buffer.alloc(32, 9)]));
  const foreign = await browser.send(`${issuer}/sign-in`, {
    ...{ method: "POST", body: agedForm(page, query), headers: { origin: "https://evil.example" } },
  });
  expect([forged, foreign].map((one) => [...problemOf(one), buttonOf(one)])).toEqual([
    [400, "expired", undefined],
    [403, "expired", undefined],
  ]);
});

test("the other forms begin again too: sign-out, device, forgotten password, mails, account and factors", async () => {
  const { browser } = await codeFor(issuer, app, person);
  const end = new URLSearchParams({ client_id: app.clientId, post_logout_redirect_uri: bye }).toString();
  const asked = await browser.open(`${issuer}/oauth/end-session?${end}`);
  const sent = async (path: string, body: URLSearchParams) => {
    const one = await browser.send(issuer + path, { method: "POST", headers: { origin: issuer }, body });
    return [...problemOf(one), buttonOf(one)];
  };
  expect(await sent("/sign-out", agedForm(asked, end))).toEqual([400, "expired", `/oauth/end-session?${end}`]);
  const unknown = (more: Readonly<Record<string, string>> = {}) => new URLSearchParams({ token: "AAAA", ...more });
  const lost = [403, "expired"];
  const { request = "" } = hiddenIn(asked.text);
  expect(await sent("/sign-out", unknown({ request }))).toEqual([...lost, `/oauth/end-session?${end}`]);
  expect(await sent("/device", unknown({ user_code: "BCDF-GHJK" }))).toEqual([...lost, "/device?user_code=BCDF-GHJK"]);
  for (const path of ["/password/forgotten", "/password", "/invitation", "/email", "/account", "/account/factors/add"])
    expect([path, await sent(path, unknown())]).toEqual([path, [...lost, path]]);
  const device = sealRequest(
    keyring(postern.config.masterKeys ?? []),
    "urn%3Apostern%3Adevice=x&user_code=BCDF-GHJK",
    hours(-2),
  );
  expect(await sent("/sign-in", unknown({ request: device }))).toEqual([400, "expired", "/device?user_code=BCDF-GHJK"]);
});
