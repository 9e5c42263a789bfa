import { randomBytes } from "node:crypto";
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Language, languages } from "../../../src/messages/language.ts";
import { pageText } from "../../../src/messages/page.ts";
import { foreignApplication, refreshing } from "../../fixture/connection.ts";
import { type Postern, signedUp } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn,
} from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";
import { askForCodes, beginDevice, deviceSettings, poll, untilConfirmation } from "../device_flow.ts";
import { done } from "../holding.ts";

let nodes: TwoNodes;
let postern: Postern;
let issuer: string;
let person: Person;
let world: World;
beforeAll(async () => {
  nodes = await startTwoNodes();
  postern = nodes.one;
  issuer = issuerOf(postern);
  person = await signedUp(postern);
  world = await begun();
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** An API of a project, by its first URI. */
type Api = Application & { readonly uri: string; readonly name: string };

/** A client, and two APIs of its project that both declare the scope `read`. */
type World = { readonly app: Application; readonly a: Api; readonly b: Api };

const unique = () => randomBytes(4).toString("hex");
const texts = { en: "read your invoices", de: "Ihre Rechnungen lesen" };
const jwt = { accessTokenType: "OIDC_TOKEN_TYPE_JWT" };
const scopesOfA = [
  { name: "read", texts },
  { name: "invoices:write", role: "editor", texts: { en: "change your invoices" } },
];
const scopesOfB = [{ name: "read", role: "reader", texts: { en: "read your letters" } }];

async function begun(app?: Application): Promise<World> {
  const at = app ?? (await application(postern.admin, refreshing));
  for (const key of ["editor", "reader"])
    await postern.admin.post(`/v1/projects/${at.projectId}/roles`, { key, displayName: key });
  const a = await api(at.projectId, { ...jwt, scopes: scopesOfA, path: "/mcp" });
  return { app: at, a, b: await api(at.projectId, { scopes: scopesOfB }) };
}

type ApiSettings = Readonly<Record<string, unknown>> & { readonly path?: string; readonly owner?: string };

/** Creates an API; the administrator, an owner of the instance, gives it its URI. */
async function api(projectId: string, { path = "", owner, ...settings }: ApiSettings = {}): Promise<Api> {
  const uri = `https://${unique()}.example${path}`;
  const headers = owner === undefined ? {} : { "x-service-orgid": owner };
  const name = `API ${unique()}`;
  const wanted = { name, resourceUris: [uri], ...settings };
  const made = done(await postern.admin.post(`/v1/projects/${projectId}/applications/api`, wanted, headers));
  const { appId, clientId, clientSecret = "" } = made;
  return { projectId, appId, clientId, clientSecret, redirectUri: "", uri, name };
}

const urlFor = (app: Application, resources: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  [
    authorizeUrl(issuer, app, { scope: "openid offline_access read", ...more }),
    ...resources.map((uri) => `resource=${encodeURIComponent(uri)}`),
  ].join("&");

/** What the application is answered, by a person who signs in anew. */
const asked = async (app: Application, resources: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  answerIn(await signIn(openBrowser(issuer), urlFor(app, resources, more), person));

type Tokens = Readonly<Record<"access_token" | "refresh_token" | "scope" | "id_token", string>>;

async function tokens(app: Application, resources: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const { code = "" } = await asked(app, resources, more);
  return done(await exchange(issuer, app, code)) as Tokens;
}

const refreshed = (app: Application, refresh_token: string, more: Readonly<Record<string, string>> = {}) =>
  post(issuer, "/oauth/token", { grant_type: "refresh_token", refresh_token, ...more }, basic(app));

const introspected = async (token: string, by: Application, node = issuer) =>
  (await post(node, "/oauth/introspect", { token }, basic(by))).body;

const userinfo = async (token: string) =>
  (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;

/** Gives the person a role in a project, until the grant is deleted. */
const granted = async (projectId: string, roleKeys: readonly string[]): Promise<string> =>
  done(await postern.admin.post(`/v1/users/${person.userId}/grants`, { projectId, roleKeys })).userGrantId;

test("openid-client gets a token for the resource that it names, which jose verifies, and refreshes for another", async () => {
  const { app, a, b } = world;
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const secret = oidc.ClientSecretBasic(app.clientSecret);
  const client = await oidc.discovery(new URL(issuer), app.clientId, undefined, secret, insecure);
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const expectedState = oidc.randomState();
  const parameters = new URLSearchParams({
    ...{ redirect_uri: app.redirectUri, scope: "openid offline_access read", state: expectedState },
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  for (const uri of [a.uri, b.uri]) parameters.append("resource", uri);
  const back = await signIn(openBrowser(issuer), oidc.buildAuthorizationUrl(client, parameters).href, person);
  const checks = { pkceCodeVerifier, expectedState };
  const first = await oidc.authorizationCodeGrant(client, new URL(back.url), checks, { resource: a.uri });
  const keys = createRemoteJWKSet(new URL(client.serverMetadata().jwks_uri ?? ""));
  const at = { issuer, typ: "at+jwt", algorithms: ["ES256"] };
  const { payload } = await jwtVerify(first.access_token, keys, { ...at, audience: a.uri });
  expect(payload).toMatchObject({ aud: a.uri, sub: person.userId, client_id: app.clientId });
  expect(payload.scope).toBe("openid offline_access read");
  await expect(jwtVerify(first.access_token, keys, { ...at, audience: b.uri })).rejects.toThrow(/"aud"/);
  const second = await oidc.refreshTokenGrant(client, first.refresh_token ?? "", { resource: b.uri });
  expect(await introspected(second.access_token, b)).toMatchObject({ active: true, aud: b.uri });
  const strange = oidc.refreshTokenGrant(client, second.refresh_token ?? "", { resource: "https://other.example/" });
  await expect(strange).rejects.toMatchObject({ error: "invalid_target" });
});

test("a token is for the first resource unless the request names another, and for no other that was authorized", async () => {
  const { app, a, b } = world;
  const { access_token, refresh_token } = await tokens(app, [a.uri, b.uri]);
  expect(decodeJwt(access_token).aud).toBe(a.uri);
  const forB = done(await refreshed(app, refresh_token, { resource: `${b.uri}/` }));
  expect((await introspected(forB.access_token, b)).aud).toBe(b.uri);
  const again = done(await refreshed(app, forB.refresh_token));
  expect(decodeJwt(again.access_token).aud).toBe(a.uri);
  const alone = await tokens(app, [b.uri]);
  for (const resource of [a.uri, issuer, app.projectId, "https://other.example", `${b.uri}#x`, `${b.uri}/x`])
    expect((await refreshed(app, alone.refresh_token, { resource })).body.error).toBe("invalid_target");
  const { code = "" } = await asked(app, [b.uri]);
  expect((await exchange(issuer, app, code, { resource: a.uri })).body.error).toBe("invalid_target");
  const without = await tokens(app, []);
  expect((await refreshed(app, without.refresh_token, { resource: a.uri })).body.error).toBe("invalid_target");
});

test("without a resource, tokens are for the project, and have no scope of an API", async () => {
  const { app, a } = world;
  const { access_token, scope } = await tokens(app, []);
  expect(scope).toBe("openid offline_access");
  expect([(await introspected(access_token, app)).aud, (await introspected(access_token, a)).aud]).toEqual([
    app.projectId,
    app.projectId,
  ]);
});

test("the API that a token is for may introspect it, and nobody else; userinfo takes it with openid, our API never", async () => {
  const { app, a, b } = world;
  for (const [uri, own, other] of [
    [a.uri, a, b],
    [b.uri, b, a],
  ] as const) {
    const { access_token } = await tokens(app, [uri]);
    expect(await introspected(access_token, own)).toMatchObject({ active: true, aud: uri, sub: person.userId });
    for (const one of [other, app]) expect(await introspected(access_token, one)).toEqual({ active: false });
    expect([await userinfo(access_token), (await postern.as(access_token).get("/v1/users/me")).status]).toEqual([
      200, 401,
    ]);
    expect(await userinfo((await tokens(app, [uri], { scope: "read" })).access_token)).toBe(403);
  }
  const stranger = await api((await application(postern.admin)).projectId);
  expect(await introspected((await tokens(app, [b.uri])).access_token, stranger)).toEqual({ active: false });
});

test("no application names a resource of another project or tenant, one that nobody has, or ours beside it", async () => {
  const { app, a } = world;
  const elsewhere = await foreignApplication(postern, postern.organizationId, refreshing);
  const { details } = done(await postern.admin.get(`/v1/projects/${elsewhere.projectId}`)).project ?? { details: {} };
  const tenants = await api(elsewhere.projectId, { owner: details.resourceOwner });
  const project = await api((await application(postern.admin)).projectId);
  const wrong = [tenants.uri, project.uri, "https://nobody.example/", `${a.uri}/`, a.uri.toUpperCase(), `${a.uri}#`];
  for (const resource of [...wrong, `${issuer}/mcp`, "x"])
    expect([resource, (await asks(app, [a.uri, resource])).error]).toEqual([resource, "invalid_target"]);
  expect((await asks(app, [issuer, a.uri])).error).toBe("invalid_target");
  expect((await asks(elsewhere, [a.uri])).error).toBe("invalid_target");
  const six = Array.from({ length: 6 }, () => `https://${unique()}.example/`);
  expect((await asks(app, six)).error).toBe("invalid_target");
  expect((await asks(app, [`https://a.example/${"x".repeat(1000)}`])).error).toBe("invalid_request");
  const twice = `${urlFor(app, [a.uri])}&scope=openid`;
  expect(answerIn(await openBrowser(issuer).open(twice)).error).toBe("invalid_request");
});

/** The answer to a request that no page follows. */
const asks = async (app: Application, resources: readonly string[]) =>
  answerIn(await openBrowser(issuer).open(urlFor(app, resources)));

test("a scope is granted with its role alone, in the token of its own API", async () => {
  const { app, a, b } = world;
  const scope = "openid offline_access read invoices:write unknown";
  const before = await tokens(app, [a.uri, b.uri], { scope });
  expect(before.scope).toBe("openid offline_access read");
  const forB = done(await refreshed(app, before.refresh_token, { resource: b.uri }));
  expect(forB.scope).toBe("openid offline_access");
  const grant = await granted(app.projectId, ["editor", "reader"]);
  const after = done(await refreshed(app, forB.refresh_token));
  expect(after.scope).toBe("openid offline_access read invoices:write");
  const atB = done(await refreshed(app, after.refresh_token, { resource: b.uri }));
  expect([atB.scope, (await introspected(atB.access_token, b)).scope]).toEqual(
    Array(2).fill("openid offline_access read"),
  );
  done(await postern.admin.delete(`/v1/user-grants/${grant}`));
  expect((await introspected(atB.access_token, b)).scope).toBe("openid offline_access");
});

const linesOf = ({ text }: Shown) => [...text.matchAll(/<li>([^<]*)<\/li>/g)].map(([, line]) => line);

test("consent is for the scopes of one API, in its words, and kept by its URI", async () => {
  const app = await foreignApplication(postern, postern.organizationId, refreshing);
  const { details } = done(await postern.admin.get(`/v1/projects/${app.projectId}`)).project;
  const [a, b] = [
    await api(app.projectId, { owner: details.resourceOwner, scopes: [{ name: "read", texts }] }),
    await api(app.projectId, { owner: details.resourceOwner, scopes: [{ name: "read", texts: { en: "read all" } }] }),
  ];
  const browser = openBrowser(issuer);
  const question = await signIn(browser, urlFor(app, [a.uri]), person);
  expect(linesOf(question).slice(-2)).toEqual([expect.stringMatching(/^use API \w+ \(https:/), "read your invoices"]);
  const german = await browser.open(urlFor(app, [a.uri], { ui_locales: "de" }));
  expect(linesOf(german).at(-1)).toBe("Ihre Rechnungen lesen");
  expect(answerIn(await browser.submit(german, {}, "allow")).code).toEqual(expect.any(String));
  const silent = async (resources: readonly string[]) =>
    answerIn(await browser.open(urlFor(app, resources, { prompt: "none" }))).error;
  expect(await silent([a.uri])).toBe(undefined);
  expect(await silent([b.uri])).toBe("consent_required");
  expect(await silent([a.uri, b.uri])).toBe("consent_required");
  const { applications } = (await person.client.get("/v1/users/me/connected-applications")).body;
  const { scopes } = applications.find(({ appId }: { appId: string }) => appId === app.appId);
  expect(scopes).toEqual(["openid", "offline_access", a.uri, `${a.uri}#read`]);
  const account = async (language: Language) =>
    linesOf(await browser.open(`${issuer}/account/applications`, { "accept-language": language })).slice(-2);
  const use = (application: string, language: Language = "en") =>
    pageText("scope_resource", language, { application, uri: a.uri });
  for (const language of languages) {
    const read = language === "de" ? "Ihre Rechnungen lesen" : "read your invoices";
    expect(await account(language)).toEqual([use(a.name, language), read]);
  }
  const owner = { "x-service-orgid": details.resourceOwner };
  done(await postern.admin.delete(`/v1/projects/${a.projectId}/applications/${a.appId}`, owner));
  expect((await account("en")).at(-1)).toBe(use(new URL(a.uri).host));
});

test("a device gets a token for the resource that it asked for", async () => {
  const settings = { ...deviceSettings, authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" };
  const { app: tool, a, b } = await begun(await application(postern.admin, settings));
  const codes = await beginDevice(issuer, tool, { scope: "openid offline_access read", resource: a.uri });
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  expect(linesOf(page)).toEqual([
    pageText("scope_resource", "en", { application: a.name, uri: a.uri }),
    "read your invoices",
  ]);
  await browser.submit(page, {}, "continue");
  expect((await poll(issuer, tool, codes, { resource: b.uri })).body.error).toBe("invalid_target");
  expect(decodeJwt(done(await poll(issuer, tool, codes)).access_token)).toMatchObject({ aud: a.uri });
  expect((await askForCodes(issuer, tool, { resource: world.a.uri })).body.error).toBe("invalid_target");
});

test("an API that is deactivated or deleted, or loses its URI or domain, ends its tokens on all nodes", async () => {
  const { app } = world;
  const { domainId } = done(await postern.admin.post("/v1/domains", { name: `${unique()}.example`, withoutDns: true }));
  const { name } = done(await postern.admin.get(`/v1/domains/${domainId}`)).domain;
  const place = ({ appId }: Api) => `/v1/projects/${app.projectId}/applications/${appId}`;
  const ends: readonly [string, (one: Api) => Promise<unknown>][] = [
    ["deactivated", (one) => postern.admin.post(`${place(one)}:deactivate`)],
    ["deleted", (one) => postern.admin.delete(place(one))],
    ["without the URI", (one) => postern.admin.call("PATCH", `${place(one)}/api`, { resourceUris: [] })],
    ["without the domain", () => postern.admin.delete(`/v1/domains/${domainId}`)],
  ];
  for (const [how, end] of ends) {
    const uri = `https://${unique()}.${name}/`;
    const one = { ...(await api(app.projectId, { resourceUris: [uri] })), uri };
    const { access_token, refresh_token } = await tokens(app, [uri]);
    expect(await introspected(access_token, one, nodes.two.url)).toMatchObject({ active: true });
    done((await end(one)) as Parameters<typeof done>[0]);
    const after = await introspected(access_token, one, nodes.two.url);
    expect([how, after.active ?? after.error]).toEqual([how, /^de/.test(how) ? "invalid_client" : false]);
    expect([how, await userinfo(access_token)]).toEqual([how, 401]);
    expect([how, (await refreshed(app, refresh_token)).body.error]).toEqual([how, "invalid_target"]);
    expect([how, (await asks(app, [uri])).error]).toEqual([how, "invalid_target"]);
    // What is created anew under the same URI is another API, whose tokens these are not.
    if (how === "deleted") await api(app.projectId, { resourceUris: [uri] });
    expect([how, await userinfo(access_token)]).toEqual([how, 401]);
    expect([how, (await refreshed(app, refresh_token)).body.error]).toEqual([how, "invalid_target"]);
  }
});

test("an API's JWTs are signed by RS256 where it says so, and the key set has a key of each kind", async () => {
  const one = await api(world.app.projectId, { ...jwt, accessTokenAlgorithm: "ACCESS_TOKEN_ALGORITHM_RS256" });
  const { access_token } = await tokens(world.app, [one.uri]);
  const { alg, kid } = decodeProtectedHeader(access_token);
  const { keys } = (await (await fetch(`${issuer}/oauth/keys`)).json()) as { keys: { alg: string; kid: string }[] };
  expect([alg, keys.find((key) => key.kid === kid)?.alg]).toEqual(["RS256", "RS256"]);
  expect(keys.map((key) => key.alg).sort()).toEqual(["ES256", "RS256"]);
});
