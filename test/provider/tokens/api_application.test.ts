import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import {
  type Application,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  issuerOf,
  type Person,
  post,
} from "../application.ts";
import { openBrowser } from "../browser.ts";

let postern: Postern;
let issuer: string;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** An API application of a project, with a secret unless the settings say otherwise. */
async function resourceServer(projectId: string, settings: object = {}): Promise<Application> {
  const made = await postern.admin.post(`/v1/projects/${projectId}/applications/api`, { name: "API", ...settings });
  expect([made.status, made.body]).toEqual([200, expect.anything()]);
  const { appId, clientId, clientSecret = "" } = made.body;
  return { projectId, appId, clientId, clientSecret, redirectUri: "https://app.example/cb" };
}

async function tokenOf(app: Application): Promise<string> {
  const { body } = await exchange(issuer, app, (await codeFor(issuer, app, person)).code);
  return body.access_token;
}

const introspected = async (token: string, by: Application, form = {}, headers: object = basic(by)) =>
  post(issuer, "/oauth/introspect", { token, ...form }, { ...headers });

test.each(["OIDC_TOKEN_TYPE_BEARER", "OIDC_TOKEN_TYPE_JWT"])(
  "an API application of the project sees a token of %s, one of another project does not",
  async (accessTokenType) => {
    const app = await application(postern.admin, { accessTokenType });
    const [own, other] = [
      await resourceServer(app.projectId),
      await resourceServer((await application(postern.admin)).projectId),
    ];
    const token = await tokenOf(app);
    expect((await introspected(token, own)).body).toMatchObject({
      active: true,
      aud: app.projectId,
      client_id: app.clientId,
      sub: person.userId,
    });
    expect((await introspected(token, other)).body).toEqual({ active: false });
    expect((await introspected("nothing", own)).body).toEqual({ active: false });
    const wrong = await introspected(token, { ...own, clientSecret: "wrong" });
    expect([wrong.status, wrong.body.error]).toEqual([401, "invalid_client"]);
  },
);

test("an API application authenticates by the one method that it is registered for", async () => {
  const app = await application(postern.admin);
  const token = await tokenOf(app);
  const inForm = await resourceServer(app.projectId, { authMethodType: "API_AUTH_METHOD_TYPE_POST" });
  const secret = { client_id: inForm.clientId, client_secret: inForm.clientSecret };
  expect((await introspected(token, inForm, secret, {})).body.active).toBe(true);
  expect((await introspected(token, inForm)).status).toBe(401);
});

test("an API application authenticates by a key, with assertions that count once", async () => {
  const app = await application(postern.admin);
  const token = await tokenOf(app);
  const server = await resourceServer(app.projectId, { authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" });
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const { kty = "", crv, x, y } = await exportJWK(publicKey);
  const path = `/v1/projects/${app.projectId}/applications/${server.appId}/keys`;
  expect((await postern.admin.post(path, { publicKey: { kty, crv, x, y, kid: "k1" } })).status).toBe(200);
  const client_assertion = await new SignJWT({ jti: "j1" })
    .setProtectedHeader({ alg: "ES256", kid: "k1" })
    .setIssuer(server.clientId)
    .setSubject(server.clientId)
    .setAudience(issuer)
    .setExpirationTime("1m")
    .sign(privateKey);
  const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  const form = { client_assertion, client_assertion_type };
  expect((await introspected(token, server, form, {})).body.active).toBe(true);
  expect((await introspected(token, server, form, {})).status).toBe(401);
});

test("an API application signs nobody in, and gets no tokens", async () => {
  const server = await resourceServer((await application(postern.admin)).projectId);
  expect((await openBrowser(issuer).open(authorizeUrl(issuer, server))).status).toBe(400);
  for (const grant_type of ["authorization_code", "refresh_token"]) {
    const form = { grant_type, code: "x", refresh_token: "x", redirect_uri: server.redirectUri };
    const { status, body } = await post(issuer, "/oauth/token", form, basic(server));
    expect([status, body.error]).toEqual([400, "unauthorized_client"]);
  }
});

test("the secret of an API application is rotated, and an inactive one asks nothing", async () => {
  const app = await application(postern.admin);
  const token = await tokenOf(app);
  const server = await resourceServer(app.projectId);
  const path = `/v1/projects/${app.projectId}/applications/${server.appId}`;
  const { body } = await postern.admin.post(`${path}:rotateClientSecret`);
  expect((await introspected(token, server)).status).toBe(401);
  const next = { ...server, clientSecret: body.clientSecret };
  expect((await introspected(token, next)).body.active).toBe(true);
  expect((await postern.admin.post(`${path}:deactivate`)).status).toBe(200);
  expect((await introspected(token, next)).status).toBe(401);
});
