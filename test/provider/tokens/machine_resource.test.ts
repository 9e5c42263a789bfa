import { randomBytes } from "node:crypto";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, organization, type Postern, sharedPostern } from "../../harness.ts";
import { basic, issuerOf, post } from "../application.ts";
import { asserted, bySecret, type GrantedMachine, grantedMachine, jwtBearer, withAssertion } from "../machine.ts";

let postern: Postern;
let issuer: string;
let robot: GrantedMachine;
let invoices: Api;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  robot = await grantedMachine(postern);
  invoices = await api(robot.projectId, { ...jwt, path: "/invoices", scopes });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** An API of a project, by its URI. */
type Api = Readonly<Record<"appId" | "clientId" | "clientSecret" | "uri", string>>;

const done = ({ status, body }: Pick<Answer, "status" | "body">) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const unique = () => randomBytes(4).toString("hex");

const jwt = { accessTokenType: "OIDC_TOKEN_TYPE_JWT" };
const scopes = [
  { name: "read", texts: { en: "read your invoices" } },
  { name: "invoices:view", role: "viewer", texts: { en: "see your invoices" } },
  { name: "invoices:write", role: "accountant", texts: { en: "change your invoices" } },
];

type ApiSettings = Readonly<Record<string, unknown>> & { readonly path?: string };

/** Creates an API; the administrator, an owner of the instance, gives it its URI. */
async function api(projectId: string, { path = "", ...settings }: ApiSettings = {}): Promise<Api> {
  const uri = `https://${unique()}.example${path}`;
  const wanted = { name: `API ${unique()}`, resourceUris: [uri], ...settings };
  return { ...done(await postern.admin.post(`/v1/projects/${projectId}/applications/api`, wanted)), uri };
}

const wanted = (resource: string, scope = "read roles") => ({ resource, scope });
const asked = (resource: string, scope?: string, by = robot) => bySecret(issuer, by, wanted(resource, scope));
const introspected = async (token: string, by: Api | GrantedMachine["api"]) =>
  (await post(issuer, "/oauth/introspect", { token }, basic(by))).body;

test("a machine names one API of a project in which it holds a grant, and gets a token for this API alone", async () => {
  const form = wanted(invoices.uri, "read invoices:view invoices:write openid profile roles");
  const scope = "read invoices:view roles";
  const ways = [
    () => bySecret(issuer, robot, form),
    async () => post(issuer, "/oauth/token", withAssertion(await asserted(robot, issuer), form)),
    async () =>
      post(issuer, "/oauth/token", { grant_type: jwtBearer, assertion: await asserted(robot, issuer), ...form }),
  ];
  const other = await api(robot.projectId);
  for (const way of ways) {
    const given = done(await way());
    expect(given).toEqual({ ...given, token_type: "Bearer", scope });
    const { payload, protectedHeader } = await jwtVerify(
      given.access_token,
      createRemoteJWKSet(new URL(`${issuer}/oauth/keys`)),
      { issuer, audience: invoices.uri, typ: "at+jwt" },
    );
    expect(protectedHeader.alg).toBe("ES256");
    expect(payload).toMatchObject({ aud: invoices.uri, sub: robot.userId, client_id: robot.clientId, scope });
    expect(payload).toMatchObject({ roles: ["viewer"] });
    expect(await introspected(given.access_token, invoices)).toMatchObject({ active: true, aud: invoices.uri, scope });
    for (const one of [robot.api, other])
      expect(await introspected(given.access_token, one)).toEqual({ active: false });
    expect((await postern.as(given.access_token).get("/v1/users/me")).status).toBe(401);
    const userinfo = await post(issuer, "/oauth/userinfo", {}, { authorization: `Bearer ${given.access_token}` });
    expect(userinfo.status).toBe(401);
  }
});

test("the API decides whether its tokens are JWTs, and what signs them, not the credential", async () => {
  const opaque = await api(robot.projectId);
  const rsa = await api(robot.projectId, { ...jwt, accessTokenAlgorithm: "ACCESS_TOKEN_ALGORITHM_RS256" });
  const jwts = await grantedMachine(postern, jwt);
  done(await postern.admin.post(`/v1/users/${jwts.userId}/grants`, { projectId: robot.projectId }));
  const given = done(await asked(opaque.uri, "roles", jwts));
  expect(given.access_token).toMatch(/^oa_/);
  expect(await introspected(given.access_token, opaque)).toMatchObject({ active: true, aud: opaque.uri, roles: [] });
  const { access_token } = done(await asked(rsa.uri));
  expect(decodeProtectedHeader(access_token)).toMatchObject({ typ: "at+jwt", alg: "RS256" });
});

test("any other resource is refused, and the answer does not tell whether somebody has it", async () => {
  const stranger = await grantedMachine(postern);
  const theirs = await api(stranger.projectId);
  const nobodys = "https://nobody.example/";
  const [one, two] = [await asked(theirs.uri), await asked(nobodys)];
  expect([outcome(one), two.body]).toEqual([[400, "invalid_target"], one.body]);
  for (const uri of [`${invoices.uri}/`, `${invoices.uri}#a`, invoices.appId, robot.projectId, "read"])
    expect([uri, outcome(await asked(uri))]).toEqual([uri, [400, "invalid_target"]]);
  expect(outcome(await asked(invoices.uri, `read ${robot.scope}`))).toEqual([400, "invalid_target"]);
  const elsewhere = `urn:postern:organization:id:${await organization(postern)}`;
  expect(outcome(await asked(invoices.uri, `read ${elsewhere}`))).toEqual([400, "invalid_target"]);
  const twice = new URLSearchParams({ grant_type: "client_credentials", scope: "read", resource: invoices.uri });
  twice.append("resource", issuer);
  const repeated = await fetch(`${issuer}/oauth/token`, { method: "POST", headers: basic(robot), body: twice });
  expect(outcome({ status: repeated.status, body: (await repeated.json()) as object })).toEqual([
    400,
    "invalid_request",
  ]);
});

test("a token ends with the API, its URI, the grant, and has no scope whose role is gone", async () => {
  const leaving = await grantedMachine(postern);
  const at = `/v1/projects/${leaving.projectId}`;
  const one = await api(leaving.projectId, { scopes });
  const { access_token } = done(await asked(one.uri, "read invoices:view", leaving));
  const seen = async () => {
    const { active, scope } = await introspected(access_token, one);
    return active ? scope : active;
  };
  expect(await seen()).toBe("read invoices:view");
  const path = `${at}/applications/${one.appId}`;
  done(await postern.admin.post(`${path}:deactivate`));
  expect(outcome(await asked(one.uri, "read", leaving))).toEqual([400, "invalid_target"]);
  done(await postern.admin.post(`${path}:reactivate`));
  expect(await seen()).toBe("read invoices:view");
  const grant = `/v1/user-grants/${leaving.userGrantId}`;
  done(await postern.admin.put(grant, { roleKeys: [] }));
  expect(await seen()).toBe("read");
  done(await postern.admin.delete(grant));
  expect(await seen()).toBe(false);
  expect(outcome(await asked(one.uri, "read", leaving))).toEqual([400, "invalid_target"]);
  done(await postern.admin.post(`/v1/users/${leaving.userId}/grants`, { projectId: leaving.projectId }));
  expect(await seen()).toBe("read");
  done(await postern.admin.delete(path));
  expect(outcome(await asked(one.uri, "read", leaving))).toEqual([400, "invalid_target"]);
});
