import { createHash } from "node:crypto";
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from "jose";
import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import {
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  issuerOf,
  post,
  signIn,
} from "../application.ts";
import { openBrowser } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

test("openid-client signs a user in, reads its claims, refreshes, asks about a token and revokes it", async () => {
  const person = await signedUp(postern);
  const app = await application(postern.admin, {
    grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  });
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const client = await oidc.discovery(
    new URL(issuer),
    app.clientId,
    app.clientSecret,
    oidc.ClientSecretBasic(app.clientSecret),
    insecure,
  );
  const verifier = oidc.randomPKCECodeVerifier();
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  const url = oidc.buildAuthorizationUrl(client, {
    ...{ redirect_uri: app.redirectUri, scope: "openid profile email offline_access", state, nonce },
    ...{ code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" },
  });
  const back = await signIn(openBrowser(issuer), url.href, person);
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
  const tokens = await oidc.authorizationCodeGrant(client, new URL(back.url), checks);
  expect(tokens.claims()).toMatchObject({
    sub: person.userId,
    aud: app.clientId,
    amr: ["pwd"],
    acr: "urn:postern:acr:single-factor",
  });
  const info = await oidc.fetchUserInfo(client, tokens.access_token, person.userId);
  expect(info).toMatchObject({
    given_name: "Ada",
    name: "Ada Byron",
    preferred_username: person.username,
    email_verified: false,
  });
  const fresh = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? "");
  expect(fresh.claims()?.sub).toBe(person.userId);
  expect((await oidc.tokenIntrospection(client, fresh.access_token)).active).toBe(true);
  await oidc.tokenRevocation(client, fresh.refresh_token ?? "");
  for (const { access_token } of [tokens, fresh])
    expect((await oidc.tokenIntrospection(client, access_token)).active).toBe(false);
});

test("state, nonce and issuer come back as they were sent, and the code comes by a page that leads on", async () => {
  const [app, person] = [await application(postern.admin), await signedUp(postern)];
  const back = await signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);
  const { code, state, iss, ...others } = answerIn(back);
  expect([back.status, state, iss, others]).toEqual([200, "st&te =1", issuer, {}]);
  const { body } = await exchange(issuer, app, code ?? "");
  const keys = createLocalJWKSet((await (await fetch(`${issuer}/oauth/keys`)).json()) as JSONWebKeySet);
  const { payload, protectedHeader } = await jwtVerify(body.id_token, keys, { issuer, audience: app.clientId });
  expect([payload.nonce, payload.sub, protectedHeader.typ]).toEqual(["n1", person.userId, "JWT"]);
});

test.each(["BEARER", "JWT"])("an ID token names the access token that comes with it: %s", async (type) => {
  const accessTokenType = `OIDC_TOKEN_TYPE_${type}`;
  const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
  const app = await application(postern.admin, { accessTokenType, grantTypes });
  const { code } = await codeFor(issuer, app, await signedUp(postern), { scope: "openid offline_access" });
  const first = (await exchange(issuer, app, code)).body;
  const refresh = { grant_type: "refresh_token", refresh_token: first.refresh_token };
  for (const { id_token, access_token } of [first, (await post(issuer, "/oauth/token", refresh, basic(app))).body]) {
    const half = createHash("sha256").update(access_token).digest().subarray(0, 16);
    expect(decodeJwt(id_token).at_hash).toBe(half.toString("base64url"));
  }
});

test("a browser that is signed in signs in to the next application without a page", async () => {
  const [one, other, person] = [
    await application(postern.admin),
    await application(postern.admin),
    await signedUp(postern),
  ];
  const browser = openBrowser(issuer);
  await signIn(browser, authorizeUrl(issuer, one), person);
  const back = await browser.open(authorizeUrl(issuer, other, { prompt: "none" }));
  expect((await exchange(issuer, other, answerIn(back).code ?? "")).status).toBe(200);
});

test("a page takes no password that a call would not take", async () => {
  const [app, person] = [await application(postern.admin), await signedUp(postern)];
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, app));
  for (const field of ["password", "new_password"]) {
    const form = { login_name: person.username, password: person.password, [field]: `Aa1!${"x".repeat(1000)}` };
    const refused = await browser.submit(page, form);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("longer than 1000 characters")]);
  }
  expect(answerIn(await browser.submit(page, { login_name: person.username, password: person.password })).code).toEqual(
    expect.any(String),
  );
});
