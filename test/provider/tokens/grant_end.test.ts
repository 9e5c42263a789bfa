import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { loseDeadlocks } from "../../fixture/deadlocks.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  exchange,
  type Person,
  post,
  signIn,
} from "../application.ts";
import { openBrowser } from "../browser.ts";

let postern: Postern;
let person: Person;
beforeAll(async () => {
  // Callers are cached for longer than any test takes.
  postern = await startPostern({ cacheSeconds: 600, publicUrl: "https://id.example" });
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: { status: number; body: Record<string, string> }) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

const refreshing = {
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  ...{ accessTokenRoleAssertion: true, idTokenRoleAssertion: true },
};

/** An application that only those who hold a grant may use, and the person's grant. */
async function guarded(settings: object, end?: Date) {
  const app = await application(postern.admin, { ...refreshing, ...settings });
  const project = `/v1/projects/${app.projectId}`;
  done(await postern.admin.call("PATCH", project, { grantRequired: true }));
  done(await postern.admin.post(`${project}/roles`, { key: "editor" }));
  const wanted = { projectId: app.projectId, roleKeys: ["editor"], ...(end && { expirationDate: end.toISOString() }) };
  const { userGrantId } = done(await postern.admin.post(`/v1/users/${person.userId}/grants`, wanted));
  return { app, userGrantId: userGrantId ?? "" };
}

async function tokensOf(app: Application, more: Record<string, string> = {}) {
  const url = authorizeUrl(postern.url, app, { scope: "openid offline_access", ...more });
  const { code = "", error } = answerIn(await signIn(openBrowser(postern.url), url, person));
  expect(error).toBe(undefined);
  return done(await exchange(postern.url, app, code));
}

const refresh = (app: Application, token: string | undefined) =>
  post(postern.url, "/oauth/token", { grant_type: "refresh_token", refresh_token: token ?? "" }, basic(app));

const introspected = async (app: Application, token: string | undefined) =>
  (await post(postern.url, "/oauth/introspect", { token: token ?? "" }, basic(app))).body;

test("a JWT expires when the first of its roles ends, and the end stops tokens, refreshing and signing in", async () => {
  const end = new Date(Math.floor(Date.now() / 1000) * 1000 + 300_000);
  const { app, userGrantId } = await guarded({ accessTokenType: "OIDC_TOKEN_TYPE_JWT" }, end);
  const tokens = await tokensOf(app);
  const claims = decodeJwt(tokens.access_token ?? "");
  expect(claims).toMatchObject({ roles: ["editor"], exp: end.getTime() / 1000 });
  expect(Number(tokens.expires_in)).toBe((claims.exp ?? 0) - (claims.iat ?? 0));
  const again = done(await refresh(app, tokens.refresh_token));
  expect(decodeJwt(again.access_token ?? "").exp).toBe(end.getTime() / 1000);
  expect(await introspected(app, again.access_token)).toMatchObject({ active: true, roles: ["editor"] });

  const set = (body: object) => postern.admin.post(`/v1/user-grants/${userGrantId}:setExpiration`, body);
  done(await set({}));
  const lasting = decodeJwt(done(await refresh(app, again.refresh_token)).access_token ?? "");
  expect(lasting.exp ?? 0).toBeGreaterThan(end.getTime() / 1000);

  await using database = openClient(postern.databaseUrl);
  await database.client`update user_grants set expiration_date = now() where user_grant_id = ${userGrantId}`;
  expect(await introspected(app, again.access_token)).toEqual({ active: false });
  const userinfo = { headers: { authorization: `Bearer ${again.access_token}` } };
  expect((await fetch(`${postern.url}/oauth/userinfo`, userinfo)).status).toBe(401);
  expect((await refresh(app, again.refresh_token)).body).toMatchObject({ error: "invalid_grant" });
  const url = authorizeUrl(postern.url, app, {});
  expect(answerIn(await signIn(openBrowser(postern.url), url, person)).error).toBe("access_denied");
});

test("neither an ID token nor slow clocks outlast a role, whichever organization gave it", async () => {
  const settings = { accessTokenType: "OIDC_TOKEN_TYPE_JWT", clockSkew: "5s" };
  const ends = (seconds: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + seconds * 1000);
  const end = ends(300);
  const { app } = await guarded(settings, end);
  const tokens = await tokensOf(app);
  for (const token of [tokens.id_token, tokens.access_token])
    expect(decodeJwt(token ?? "")).toMatchObject({ roles: ["editor"], exp: end.getTime() / 1000 });
  expect(decodeJwt(done(await refresh(app, tokens.refresh_token)).id_token ?? "").exp).toBe(end.getTime() / 1000);

  // A grant of another organization, whose roles stand in the same tokens, and by which the user might be there at all.
  const { app: lasting } = await guarded(settings);
  const other = await organization(postern);
  const project = `/v1/projects/${lasting.projectId}`;
  const granted = await postern.admin.post(`${project}/grants`, { grantedOrganizationId: other, roleKeys: ["editor"] });
  const sooner = ends(200);
  const wanted = {
    ...{ projectId: lasting.projectId, projectGrantId: done(granted).projectGrantId, roleKeys: ["editor"] },
    expirationDate: sooner.toISOString(),
  };
  const path = `/v1/users/${person.userId}/grants`;
  done(await postern.admin.post(path, wanted, { "x-service-orgid": other }));
  const both = await tokensOf(lasting, { scope: "openid urn:postern:project:roles" });
  for (const token of [both.id_token, both.access_token])
    expect(decodeJwt(token ?? "").exp).toBe(sooner.getTime() / 1000);
});

test("an opaque token keeps its lifetime, whatever ends before", async () => {
  const { app } = await guarded({}, new Date(Date.now() + 600_000));
  const { app: lasting } = await guarded({});
  expect((await tokensOf(app)).expires_in).toBe((await tokensOf(lasting)).expires_in);
});

test("a cached caller of our API is one until its grant ends, and not longer", async () => {
  const { app, userGrantId } = await guarded({ firstParty: true });
  const tokens = await tokensOf(app, { scope: "openid", resource: "https://id.example" });
  const client = postern.as(tokens.access_token ?? "");
  // Cached before there is an end.
  done(await client.get("/v1/users/me"));
  const end = Date.now() + 5000;
  const set = { expirationDate: new Date(end).toISOString() };
  done(await postern.admin.post(`/v1/user-grants/${userGrantId}:setExpiration`, set));
  for (let isOver = false; !isOver; ) {
    const asked = Date.now();
    const { status } = await client.get("/v1/users/me");
    if (Date.now() < end) expect(status).toBe(200);
    isOver = asked >= end;
    if (isOver) expect(status).toBe(401);
  }
});

test("a revocation that loses deadlocks ends its sign-in all the same", async () => {
  const { app } = await guarded({});
  const tokens = await tokensOf(app);
  const where = `app_id = '${app.appId}'`;
  await using deadlocks = await loseDeadlocks(postern.databaseUrl, { table: "sign_ons", where, times: 3 });
  const answer = await post(postern.url, "/oauth/revoke", { token: tokens.refresh_token ?? "" }, basic(app));
  expect([answer.status, await deadlocks.tries()]).toEqual([200, 4]);
  expect(await introspected(app, tokens.access_token)).toEqual({ active: false });
  expect((await refresh(app, tokens.refresh_token)).body).toMatchObject({ error: "invalid_grant" });
});
