import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  SignJWT,
} from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../src/messages/page.ts";
import { type Postern, sharedPostern, signedUp } from "../harness.ts";
import {
  type Application,
  application,
  authorizeUrl,
  basic,
  challenge,
  codeFor,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn,
  verifier,
} from "./application.ts";
import { openBrowser, type Shown, textIn } from "./browser.ts";

let postern: Postern;
let issuer: string;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const open = (app: Application, more: Record<string, string | undefined> = {}) =>
  openBrowser(issuer).open(authorizeUrl(issuer, app, more));
const shows = ({ status, text }: Shown) => [status, /<code>([^<]*)/.exec(text)?.[1]];
const errorIn = ({ url }: Shown) => new URLSearchParams(url.replace(/^[^?#]*[?#]/, "")).get("error");

/** The claims of the ID token, of the access token where it is a JWT, and of userinfo. */
async function claimsAt(app: Application, scope = "openid") {
  const { body } = await exchange(issuer, app, (await codeFor(issuer, app, person, { scope })).code);
  const info = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${body.access_token}` } });
  const { access_token: token, id_token: idToken } = body;
  const isJwt = token.split(".").length === 3;
  return { id: decodeJwt(idToken), access: isJwt ? decodeJwt(token) : undefined, token, info: await info.json() };
}

/** Gives the person a role in the project of an application. */
async function withRole(app: Application, roleKey = "editor") {
  await postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key: roleKey });
  const granted = await postern.admin.post(`/v1/users/${person.userId}/grants`, {
    projectId: app.projectId,
    roleKeys: [roleKey],
  });
  expect([granted.status, granted.body]).toEqual([200, expect.anything()]);
  return app;
}

test("name: pages name the application", async () => {
  const app = await application(postern.admin, { name: "Ada & <Co>" });
  expect((await open(app)).text).toContain(pageText("to_application", "en", { application: "Ada &amp; &lt;Co&gt;" }));
});

test("redirectUris: compared exactly, and nothing is sent anywhere else", async () => {
  const app = await application(postern.admin, { redirectUris: ["https://app.example/cb"] });
  const others = [
    ...[
      "https://app.example/cb/../x",
      "https://app.example/CB",
      "https://APP.example/cb",
      "https://app.example:443/cb",
    ],
    ...[
      "https://app.example/cb?x=1",
      "https://u@app.example/cb",
      "https://app.example/%63b",
      "https://app.example/cb#f",
    ],
    ...["https://app.example%2fcb", "https://app.example/cb/", "http://app.example/cb", "https://app.example.evil/cb"],
    ...["javascript:alert(1)", undefined],
  ];
  for (const uri of others)
    expect([uri, shows(await open(app, { redirect_uri: uri }))]).toEqual([uri, [400, "redirect_uri_unknown"]]);
  expect((await open(app)).status).toBe(200);
});

test("redirectUris: a NATIVE application takes any port of a loopback URI, a WEB one does not", async () => {
  const settings = { redirectUris: ["http://127.0.0.1/cb"], authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" };
  const native = await application(postern.admin, { ...settings, appType: "OIDC_APP_TYPE_NATIVE" });
  expect((await open(native, { redirect_uri: "http://127.0.0.1:49152/cb" })).status).toBe(200);
  for (const uri of [
    "http://127.0.0.1:49152/cb2",
    "http://127.0.0.2:1/cb",
    "http://127.0.0.1:1.evil/cb",
    "http://127.0.0.1:x/cb",
  ])
    expect(shows(await open(native, { redirect_uri: uri }))).toEqual([400, "redirect_uri_unknown"]);
  const web = await application(postern.admin, { redirectUris: ["http://127.0.0.1/cb"] });
  expect(shows(await open(web, { redirect_uri: "http://127.0.0.1:49152/cb" }))).toEqual([400, "redirect_uri_unknown"]);
});

test("responseTypes and grantTypes: others are refused", async () => {
  const app = await application(postern.admin);
  expect(errorIn(await open(app, { response_type: "id_token" }))).toBe("unauthorized_client");
  expect(errorIn(await open(app, { response_type: "code token" }))).toBe("unsupported_response_type");
  const refused = await post(issuer, "/oauth/token", { grant_type: "refresh_token", refresh_token: "x" }, basic(app));
  expect([refused.status, refused.body.error]).toEqual([400, "unauthorized_client"]);
  const device = async (of: Application) => (await post(issuer, "/oauth/device", {}, basic(of))).status;
  const grantTypes = ["OIDC_GRANT_TYPE_DEVICE_CODE"];
  const ofDevices = await application(postern.admin, { grantTypes, redirectUris: [] });
  expect([await device(app), await device(ofDevices)]).toEqual([400, 200]);
});

test.each([
  ["id_token", "OIDC_RESPONSE_TYPE_ID_TOKEN"],
  ["id_token token", "OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"],
])("responseTypes: %s comes in the fragment", async (response_type, responseType) => {
  const app = await application(postern.admin, { responseTypes: [responseType] });
  const noPkce = { code_challenge: undefined, code_challenge_method: undefined, response_type, scope: "openid email" };
  const { url } = await signIn(openBrowser(issuer), authorizeUrl(issuer, app, noPkce), person);
  const {
    id_token = "",
    access_token,
    iss,
    state,
  } = Object.fromEntries(new URLSearchParams(new URL(url).hash.slice(1)));
  expect([iss, state, decodeJwt(id_token).nonce]).toEqual([issuer, "st&te =1", "n1"]);
  expect(access_token === undefined).toBe(response_type === "id_token");
  expect("email" in decodeJwt(id_token)).toBe(response_type === "id_token");
  expect("at_hash" in decodeJwt(id_token)).toBe(response_type === "id_token token");
  expect(errorIn(await open(app, { ...noPkce, nonce: undefined }))).toBe("invalid_request");
});

test.each(["OIDC_APP_TYPE_USER_AGENT", "OIDC_APP_TYPE_NATIVE"])("appType: %s needs PKCE by S256", async (appType) => {
  const redirectUris = [appType.endsWith("NATIVE") ? "com.example.app:/cb" : "https://spa.example/cb"];
  const app = await application(postern.admin, { appType, redirectUris, authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" });
  const none = { code_challenge: undefined, code_challenge_method: undefined };
  expect(errorIn(await open(app, none))).toBe("invalid_request");
  expect(errorIn(await open(app, { code_challenge_method: "plain" }))).toBe("invalid_request");
  expect(errorIn(await open(app, { code_challenge_method: undefined }))).toBe("invalid_request");
  expect((await open(app)).status).toBe(200);
});

test("appType: a NATIVE application needs a click also where a session lives", async () => {
  const app = await application(postern.admin, {
    ...{ appType: "OIDC_APP_TYPE_NATIVE", redirectUris: ["com.example.app:/cb"] },
    ...{ authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE", skipNativeAppSuccessPage: true },
  });
  const browser = openBrowser(issuer);
  await signIn(browser, authorizeUrl(issuer, app), person);
  expect(errorIn(await browser.open(authorizeUrl(issuer, app, { prompt: "none" })))).toBe("interaction_required");
  const page = await browser.open(authorizeUrl(issuer, app));
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(`signed in as ${person.username}`)]);
  expect((await browser.submit(page, {}, "continue")).url).toMatch(/^com\.example\.app:\/cb\?code=oc_/);
  expect(errorIn(await browser.submit(page, {}, "cancel"))).toBe("access_denied");
  expect((await browser.submit(page, {}, "other")).text).toContain('name="password"');
});

test("skipNativeAppSuccessPage: without it a page leads to the application", async () => {
  const app = await application(postern.admin, {
    ...{ appType: "OIDC_APP_TYPE_NATIVE", redirectUris: ["com.example.app:/cb"] },
    authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  });
  const page = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);
  const link = textIn(page.text, /class="button" href="([^"]*)"/);
  expect([page.status, link]).toEqual([200, expect.stringMatching(/^com\.example\.app:\/cb\?code=oc_/)]);
});

test("authMethodType: the token endpoint takes the registered method and no other", async () => {
  const methods = ["BASIC", "POST", "NONE"] as const;
  for (const method of methods) {
    const app = await application(postern.admin, { authMethodType: `OIDC_AUTH_METHOD_TYPE_${method}` });
    const { code } = await codeFor(issuer, app, person);
    const { clientId: client_id, clientSecret: client_secret } = app;
    const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: verifier };
    const tries = {
      BASIC: () => post(issuer, "/oauth/token", form, basic(app)),
      POST: () => post(issuer, "/oauth/token", { ...form, client_id, client_secret: client_secret || "x" }),
      NONE: () => post(issuer, "/oauth/token", { ...form, client_id }),
    };
    for (const other of methods.filter((one) => one !== method)) {
      const { status, body } = await tries[other]();
      expect([method, other, status, body.error]).toEqual([method, other, 401, "invalid_client"]);
    }
    expect([method, (await tries[method]()).status]).toEqual([method, 200]);
  }
});

test("authMethodType PRIVATE_KEY_JWT: an assertion by a key of the application counts once", async () => {
  const app = await application(postern.admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" });
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const { kty = "", crv, x, y } = await exportJWK(publicKey);
  const added = await postern.admin.post(`/v1/projects/${app.projectId}/applications/${app.appId}/keys`, {
    publicKey: { kty, crv, x, y, kid: "k1" },
  });
  expect(added.status).toBe(200);
  const assertion = (claims: object = {}, kid = "k1") =>
    new SignJWT({
      iss: app.clientId,
      sub: app.clientId,
      aud: issuer,
      jti: "j1",
      exp: Date.now() / 1000 + 60,
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", kid })
      .sign(privateKey);
  const exchanged = async (client_assertion: string) => {
    const { code } = await codeFor(issuer, app, person);
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: verifier };
    return (await post(issuer, "/oauth/token", { ...form, client_assertion_type, client_assertion })).status;
  };
  const right = await assertion();
  expect(await exchanged(right)).toBe(200);
  // The clock of the client is half a minute ahead, and its library gives an hour, as Authlib does.
  expect(await exchanged(await assertion({ jti: "j0", exp: Date.now() / 1000 + 3_630 }))).toBe(200);
  const wrong = [
    right,
    await assertion({ jti: "j2", aud: "https://other.example" }),
    await assertion({ jti: "j3", exp: 1 }),
  ];
  wrong.push(await assertion({ jti: "j4", exp: Date.now() / 1000 + 9_000 }), await assertion({ jti: "j5" }, "k2"));
  wrong.push(await assertion({ jti: undefined }), await assertion({ jti: "j6", iss: "other" }));
  const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${right.split(".")[1]}.`;
  const symmetric = await new SignJWT({
    iss: app.clientId,
    sub: app.clientId,
    aud: issuer,
    jti: "j7",
    exp: Date.now() / 1000 + 60,
  })
    .setProtectedHeader({ alg: "HS256", kid: "k1" })
    .sign(Buffer.from(x ?? ""));
  for (const one of [...wrong, unsigned, symmetric]) expect(await exchanged(one)).toBe(401);
});

test("devMode: http does not stop the sign-in of a public web application", async () => {
  const settings = { redirectUris: ["http://app.example/cb"], authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" };
  expect(shows(await open(await application(postern.admin, settings)))).toEqual([400, "HTTP_ON_PUBLIC_WEB"]);
  expect((await open(await application(postern.admin, { ...settings, devMode: true }))).status).toBe(200);
});

test("redirectUris: those that are relative, have wildcards, fragments or dangerous schemes stop the sign-in always", async () => {
  const bad = { "/cb": "REDIRECT_URI_RELATIVE", "https://*.example/cb": "REDIRECT_URI_WILDCARD" };
  const worse = { "https://app.example/cb#f": "REDIRECT_URI_FRAGMENT", "javascript:alert(1)": "DANGEROUS_SCHEME" };
  for (const [uri, key] of Object.entries({ ...bad, ...worse })) {
    const app = await application(postern.admin, { redirectUris: [uri, "https://app.example/cb"], devMode: true });
    expect(shows(await open(app))).toEqual([400, key]);
    expect((await open(app, { redirect_uri: "https://app.example/cb" })).status).toBe(200);
  }
});

test("accessTokenType and accessTokenRoleAssertion: a JWT has the roles, an opaque token says nothing", async () => {
  const jwt = { accessTokenType: "OIDC_TOKEN_TYPE_JWT" };
  const plain = await claimsAt(await withRole(await application(postern.admin, jwt)));
  const app = await withRole(await application(postern.admin, { ...jwt, accessTokenRoleAssertion: true }));
  const { access, token } = await claimsAt(app);
  expect(decodeProtectedHeader(token)).toMatchObject({ typ: "at+jwt", alg: "RS256" });
  expect(access).toMatchObject({
    iss: issuer,
    aud: app.projectId,
    client_id: app.clientId,
    sub: person.userId,
    roles: ["editor"],
  });
  expect(plain.access).not.toHaveProperty("roles");
  const opaque = await claimsAt(await application(postern.admin, { accessTokenRoleAssertion: true }));
  expect([opaque.access, opaque.token]).toEqual([undefined, expect.stringMatching(/^oa_/)]);
});

test("idTokenRoleAssertion: ID tokens and userinfo have the roles in the organization signed in for", async () => {
  const app = await withRole(await application(postern.admin, { idTokenRoleAssertion: true }));
  const roles = { roles: ["editor"] };
  const { id, info } = await claimsAt(app);
  expect([id, info]).toEqual([expect.objectContaining(roles), expect.objectContaining(roles)]);
  const none = await claimsAt(await application(postern.admin, { idTokenRoleAssertion: true }));
  expect(none.id).toMatchObject({ roles: [] });
  const without = await claimsAt(await withRole(await application(postern.admin)));
  expect([without.id, without.info]).toEqual([expect.not.objectContaining(roles), expect.not.objectContaining(roles)]);
  const asked = await claimsAt(await withRole(await application(postern.admin)), "openid roles");
  expect([asked.id, asked.info]).toEqual([
    expect.objectContaining({ roles: ["editor"] }),
    expect.objectContaining({ roles: ["editor"] }),
  ]);
  const all = { "urn:postern:project:roles": { [postern.organizationId]: ["editor"] } };
  const everywhere = await claimsAt(app, "openid urn:postern:project:roles");
  expect([everywhere.id, everywhere.info]).toEqual([expect.objectContaining(all), expect.objectContaining(all)]);
  expect([id, info]).toEqual([expect.not.objectContaining(all), expect.not.objectContaining(all)]);
});

test("idTokenUserinfoAssertion: ID tokens have the claims of the scopes", async () => {
  const scope = "openid profile email";
  const asserted = await claimsAt(await application(postern.admin, { idTokenUserinfoAssertion: true }), scope);
  expect(asserted.id).toMatchObject({ given_name: "Ada", email: `${person.username}@example.com` });
  const { id, info } = await claimsAt(await application(postern.admin), scope);
  expect([id, info]).toEqual([
    expect.not.objectContaining({ given_name: "Ada" }),
    expect.objectContaining({ given_name: "Ada" }),
  ]);
});

test("idTokenAlgorithm: RS256 unless the application asks for ES256", async () => {
  const algorithm = async (settings: object) => {
    const app = await application(postern.admin, { ...settings });
    const { body } = await exchange(issuer, app, (await codeFor(issuer, app, person)).code);
    const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/keys`));
    return (await jwtVerify(body.id_token, keys, { issuer, audience: app.clientId })).protectedHeader.alg;
  };
  expect(await algorithm({})).toBe("RS256");
  expect(await algorithm({ idTokenAlgorithm: "OIDC_ID_TOKEN_ALGORITHM_ES256" })).toBe("ES256");
});

test("postLogoutRedirectUris: compared exactly, after sign-out the browser goes there", async () => {
  const app = await application(postern.admin, { postLogoutRedirectUris: ["https://app.example/bye"] });
  const { browser, code } = await codeFor(issuer, app, person);
  const id_token_hint = (await exchange(issuer, app, code)).body.id_token;
  const signOut = (post_logout_redirect_uri: string) =>
    browser.open(`${issuer}/oauth/end-session?${new URLSearchParams({ id_token_hint, post_logout_redirect_uri })}`);
  expect(shows(await signOut("https://app.example/by"))).toEqual([400, "logout_uri_unknown"]);
  expect((await signOut("https://app.example/bye")).url).toBe("https://app.example/bye");
});

test("clockSkew: tokens begin as much earlier and end as much later", async () => {
  const { id, access } = await claimsAt(
    await application(postern.admin, { clockSkew: "5s", accessTokenType: "OIDC_TOKEN_TYPE_JWT" }),
  );
  for (const { iat = 0, exp = 0 } of [id, access ?? {}]) expect(exp - iat).toBe(600 + 2 * 5);
});

test("additionalOrigins: pages of these, and of the redirect URIs, read answers; others do not", async () => {
  const app = await application(postern.admin, { additionalOrigins: ["https://tools.example"] });
  const allowed = async (origin: string) => {
    const asks = { origin, "access-control-request-method": "POST" };
    const preflight = await fetch(`${issuer}/oauth/token`, { method: "OPTIONS", headers: asks });
    const answer = await post(
      issuer,
      "/oauth/token",
      { grant_type: "authorization_code", code: "x" },
      { origin, ...basic(app) },
    );
    expect(answer.headers.get("access-control-allow-credentials")).toBe(null);
    return [preflight, answer].map(({ headers }) => headers.get("access-control-allow-origin"));
  };
  for (const origin of ["https://tools.example", "https://app.example"])
    expect(await allowed(origin)).toEqual([origin, origin]);
  expect(await allowed("https://evil.example")).toEqual([null, null]);
});

test("the client secret: rotated, the old one counts for its overlap", async () => {
  const app = await application(postern.admin);
  const path = `/v1/projects/${app.projectId}/applications/${app.appId}:rotateClientSecret`;
  const kept = await postern.admin.post(path, { overlap: "60s" });
  const next = { ...app, clientSecret: kept.body.clientSecret };
  for (const one of [app, next])
    expect((await exchange(issuer, one, (await codeFor(issuer, app, person)).code)).status).toBe(200);
  await postern.admin.post(path, {});
  expect((await exchange(issuer, next, (await codeFor(issuer, app, person)).code)).status).toBe(401);
});

test("an application that is not there, or out of use, is shown as such", async () => {
  const app = await application(postern.admin);
  expect(shows(await open({ ...app, clientId: "nobody" }))).toEqual([400, "client_unknown"]);
  await postern.admin.post(`/v1/projects/${app.projectId}/applications/${app.appId}:deactivate`);
  expect(shows(await open(app, { code_challenge: challenge }))).toEqual([400, "client_unknown"]);
});
