import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AccountService } from "../../../gen/postern/v1/account_pb.ts";
import { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { permissions } from "../../../src/guards/permissions.ts";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, signedUp } from "../../harness.ts";
import { openDoors } from "../../parity/doors.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { fieldsOf, type HttpResponse } from "../../wire/http.ts";
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
import { approve, askForCodes, beginDevice, deviceApplication, poll, untilConfirmation } from "../device_flow.ts";

// A URL that two nodes share; browsers of tests reach them at ports of their own.
const issuer = "https://id.example";
let nodes: TwoNodes;
let postern: Postern;
let app: Application;
let owner: Person;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: issuer });
  postern = nodes.one;
  app = await console_();
  owner = await administrator();
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const refreshing = { grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"] };

/** A first-party application, unless the settings say otherwise. */
const console_ = (settings: object = {}) =>
  application(postern.admin, { ...refreshing, firstParty: true, ...settings });

const done = ({ status, body }: { status: number; body: Record<string, string> }) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** A person who owns the instance. */
async function administrator(): Promise<Person> {
  const person = await signedUp(postern);
  const member = { userId: person.userId, roles: ["INSTANCE_OWNER"], instance: true };
  done(await postern.admin.post("/v1/members", member));
  return person;
}

const everything = `openid offline_access ${permissions.join(" ")}`;

/** The tokens of a sign-in for our API. */
async function tokens(person: Person, scope: string, at: Application = app, more: Record<string, string> = {}) {
  const url = authorizeUrl(postern.url, at, { scope, resource: issuer });
  const { code = "", error } = answerIn(await signIn(openBrowser(postern.url), url, person));
  expect(error).toBe(undefined);
  return done(await exchange(postern.url, at, code, more));
}

const tokenOf = async (person: Person, scope: string) => (await tokens(person, scope)).access_token ?? "";

const errorOf = async (at: Application, more: Record<string, string | undefined>) =>
  answerIn(await openBrowser(postern.url).open(authorizeUrl(postern.url, at, more))).error;

test("a token of a first-party application calls through every door, as its user", async () => {
  const token = await tokenOf(owner, "openid user.read");
  using doors = openDoors(postern.url);
  for (const door of doors.all) {
    const headers = { authorization: `Bearer ${token}` };
    const me = await door.ask({ method: AccountService.method.getMe, request: {}, headers });
    expect([door.name, me.code]).toEqual([door.name, "OK"]);
    expect(me.body).toMatchObject({ user: { id: owner.userId } });
    const request = { userId: postern.adminId };
    const read = await door.ask({ method: UserService.method.getUser, request, headers });
    expect([door.name, read.code]).toEqual([door.name, "OK"]);
    const denied = await door.ask({ method: UserService.method.deactivateUser, request, headers });
    if (!door.shut(UserService.method.deactivateUser))
      expect([door.name, denied.reason]).toEqual([door.name, "PERMISSION_DENIED"]);
  }
});

test("scopes narrow what the roles of the user give, and add nothing to it", async () => {
  const only = postern.as(await tokenOf(owner, "openid project.write"));
  done(await only.post("/v1/projects", { name: `Made ${Math.random()}` }));
  expect((await only.get("/v1/users")).status).toBe(403);
  const none = postern.as(await tokenOf(owner, "openid"));
  expect((await none.get("/v1/users/me")).status).toBe(200);
  expect((await none.get("/v1/users")).status).toBe(403);
  const plain = postern.as(await tokenOf(await signedUp(postern), everything));
  expect((await plain.get("/v1/users")).status).toBe(403);
  const whole = postern.as(await tokenOf(owner, everything));
  expect((await whole.get("/v1/users")).status).toBe(200);
});

test("a token changes nothing of its user's own, and gives nothing that it lacks", async () => {
  const client = postern.as(await tokenOf(owner, "openid user.write member.write"));
  const change = { oldPassword: owner.password, newPassword: "Green-Teapot-77" };
  expect((await client.put("/v1/users/me/password", change)).status).toBe(403);
  expect((await client.post("/v1/users/me/tokens", {})).status).toBe(403);
  const { userId } = await signedUp(postern);
  expect((await client.post("/v1/members", { userId, roles: ["ORG_OWNER"] })).status).toBe(403);
});

test("without resource, tokens of a first-party application do not call, nor do permissions appear in their scope", async () => {
  const url = authorizeUrl(postern.url, app, { scope: "openid user.read" });
  const { code = "" } = answerIn(await signIn(openBrowser(postern.url), url, owner));
  const { access_token, scope } = done(await exchange(postern.url, app, code));
  expect(scope).toBe("openid");
  const refused = await postern.as(access_token).get("/v1/users/me");
  expect([refused.status, refused.body.details[0].reason]).toEqual([401, "TOKEN_INVALID"]);
});

test("JWTs and ID tokens are refused by a reason of their own, through every door", async () => {
  const jwt = await application(postern.admin, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { code = "" } = answerIn(await signIn(openBrowser(postern.url), authorizeUrl(postern.url, jwt), owner));
  const { access_token, id_token } = done(await exchange(postern.url, jwt, code));
  using doors = openDoors(postern.url);
  for (const token of [access_token, id_token])
    for (const door of doors.all) {
      const headers = { authorization: `Bearer ${token}` };
      const { code, reason } = await door.ask({ method: AccountService.method.getMe, request: {}, headers });
      expect([door.name, code, reason]).toEqual([door.name, "Unauthenticated", "TOKEN_IS_JWT"]);
    }
});

test("a first-party application that gets JWTs gets opaque tokens for our API", async () => {
  const jwt = await console_({ accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { access_token = "" } = await tokens(owner, "openid user.read", jwt);
  expect(access_token).toMatch(/^oa_/);
  expect((await postern.as(access_token).get("/v1/users")).status).toBe(200);
});

test("who may ask for our API, and how", async () => {
  const plain = await application(postern.admin, refreshing);
  expect(await errorOf(plain, { resource: issuer })).toBe("invalid_target");
  expect(await errorOf(app, { resource: "https://other.example" })).toBe("invalid_target");
  expect(await errorOf(app, { resource: `${issuer}/v1` })).toBe("invalid_target");
  expect(await errorOf(app, { resource: `${issuer}/${"x".repeat(1000)}` })).toBe("invalid_request");
  const twice = `${authorizeUrl(postern.url, app, { resource: issuer })}&resource=${encodeURIComponent(issuer)}`;
  expect((await openBrowser(postern.url).open(twice)).status).toBe(200);
  const slash = await openBrowser(postern.url).open(authorizeUrl(postern.url, app, { resource: `${issuer}/` }));
  expect(slash.status).toBe(200);
  const implicit = await console_({
    ...{ responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"], grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"] },
  });
  const { url } = await openBrowser(postern.url).open(
    authorizeUrl(postern.url, implicit, { resource: issuer, response_type: "id_token token" }),
  );
  expect(new URLSearchParams(new URL(url).hash.slice(1)).get("error")).toBe("invalid_request");
});

test("a device of a first-party application gets a token that calls, narrowed by its scope", async () => {
  const tool = await deviceApplication(postern.admin, { firstParty: true });
  const asks = { resource: issuer, scope: "openid offline_access user.read" };
  const codes = await beginDevice(postern.url, tool, asks);
  const { page, browser } = await untilConfirmation(postern.url, codes, owner);
  expect(page.text).toContain(pageText("device_api", "en"));
  expect((await browser.submit(page, {}, "continue")).status).toBe(200);
  const { access_token, refresh_token, scope } = done(await poll(postern.url, tool, codes, { resource: issuer }));
  expect(scope).toBe(asks.scope);
  const client = postern.as(access_token);
  expect((await client.get("/v1/users/me")).body.user.id).toBe(owner.userId);
  expect((await client.get("/v1/users")).status).toBe(200);
  expect((await client.post("/v1/projects", { name: "Not made" })).status).toBe(403);
  const form = { grant_type: "refresh_token", client_id: tool.clientId, refresh_token: refresh_token ?? "" };
  const { access_token: next } = done(await post(postern.url, "/oauth/token", form));
  expect((await postern.as(next).get("/v1/users")).status).toBe(200);
});

test("a device gets no token that calls without the resource, for another one, or without the mark", async () => {
  const tool = await deviceApplication(postern.admin, { firstParty: true });
  const errorFor = async (at: Application, resource: string) =>
    (await askForCodes(postern.url, at, { resource })).body.error;
  expect(await errorFor(await deviceApplication(postern.admin), issuer)).toBe("invalid_target");
  expect(await errorFor(tool, "https://other.example")).toBe("invalid_target");
  expect(await errorFor(tool, `${issuer}/${"x".repeat(1000)}`)).toBe("invalid_request");
  const codes = await beginDevice(postern.url, tool, { scope: "openid user.read" });
  const { page, browser } = await untilConfirmation(postern.url, codes, owner);
  expect(page.text).not.toContain(pageText("device_api", "en"));
  await browser.submit(page, {}, "continue");
  expect((await poll(postern.url, tool, codes, { resource: issuer })).body.error).toBe("invalid_target");
  const { access_token, scope } = done(await poll(postern.url, tool, codes));
  expect(scope).toBe("openid");
  expect((await postern.as(access_token).get("/v1/users/me")).status).toBe(401);
});

test("a device that began before the mark was taken away gets no token", async () => {
  const tool = await deviceApplication(postern.admin, { firstParty: true });
  const codes = await beginDevice(postern.url, tool, { scope: "openid user.read", resource: issuer });
  await approve(postern.url, codes, owner);
  const path = `/v1/projects/${tool.projectId}/applications/${tool.appId}`;
  const unmarked = await postern.admin.call("PATCH", `${path}/oidc`, { firstParty: false });
  expect([unmarked.status, unmarked.body]).toEqual([200, expect.anything()]);
  expect((await poll(postern.url, tool, codes)).body.error).toBe("invalid_target");
});

test("the token endpoint takes the resource of the authorization request, and no other", async () => {
  const { access_token, refresh_token } = await tokens(owner, everything, app, { resource: issuer });
  expect((await postern.as(access_token).get("/v1/users")).status).toBe(200);
  const refresh = (more: Record<string, string>) =>
    post(
      postern.url,
      "/oauth/token",
      { grant_type: "refresh_token", refresh_token: refresh_token ?? "", ...more },
      basic(app),
    );
  expect((await refresh({ resource: "https://other.example" })).body.error).toBe("invalid_target");
  const { body } = await refresh({ resource: issuer, scope: "openid user.read" });
  const narrowed = postern.as(body.access_token);
  expect((await narrowed.get("/v1/users")).status).toBe(200);
  expect((await narrowed.get("/v1/projects")).status).toBe(403);
  const url = authorizeUrl(postern.url, app);
  const { code = "" } = answerIn(await signIn(openBrowser(postern.url), url, owner));
  const refused = await exchange(postern.url, app, code, { resource: issuer });
  expect([refused.status, refused.body.error]).toEqual([400, "invalid_target"]);
});

test("a token for our API counts at userinfo, and not for the project: introspection does not see it", async () => {
  const { access_token = "" } = await tokens(owner, "openid email user.read");
  const authorization = `Bearer ${access_token}`;
  const info = await fetch(`${postern.url}/oauth/userinfo`, { headers: { authorization } });
  expect([info.status, await info.json()]).toEqual([200, expect.objectContaining({ sub: owner.userId })]);
  const asked = await post(postern.url, "/oauth/introspect", { token: access_token }, basic(app));
  expect(asked.body).toEqual({ active: false });
});

type Held = {
  readonly person: Person;
  readonly app: Application;
  readonly accessToken: string;
  readonly refreshToken: string;
};

const appPath = ({ app: { projectId, appId } }: Held) => `/v1/projects/${projectId}/applications/${appId}`;
const change = (held: Held, application: object) => postern.admin.call("PATCH", `${appPath(held)}/oidc`, application);
const revoke = ({ app: at }: Held, token: string) =>
  fetch(`${postern.url}/oauth/revoke`, {
    method: "POST",
    body: new URLSearchParams({ token }),
    headers: basic(at),
  });

const ends: Readonly<Record<string, (held: Held) => Promise<unknown>>> = {
  "the user is deactivated": async ({ person }) =>
    done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`)),
  "the user is deleted": async ({ person }) => done(await postern.admin.delete(`/v1/users/${person.userId}`)),
  "the password is set": async ({ person }) =>
    done(await postern.admin.put(`/v1/users/${person.userId}/password`, { newPassword: "Green-Teapot-77" })),
  "the sessions of the user are ended": async ({ person }) =>
    done(await postern.admin.delete(`/v1/users/${person.userId}/sessions`)),
  "the user ends all other sessions": async ({ person }) => done(await person.client.delete("/v1/users/me/sessions")),
  "the user disconnects the application": async ({ person, app: { appId } }) =>
    done(await person.client.delete(`/v1/users/me/connected-applications/${appId}`)),
  "the application is deactivated": async (held) => done(await postern.admin.post(`${appPath(held)}:deactivate`)),
  "the application is deleted": async (held) => done(await postern.admin.delete(appPath(held))),
  "the application loses its mark": async (held) => done(await change(held, { firstParty: false })),
  "the project is deactivated": async (held) =>
    done(await postern.admin.post(`/v1/projects/${held.app.projectId}:deactivate`)),
  "the project requires a grant": async (held) =>
    done(await postern.admin.call("PATCH", `/v1/projects/${held.app.projectId}`, { grantRequired: true })),
  "the access token is revoked": async (held) => expect((await revoke(held, held.accessToken)).status).toBe(200),
  "the refresh token is revoked": async (held) => expect((await revoke(held, held.refreshToken)).status).toBe(200),
};

/** Signs out whatever a user signed in to after the session of its calls. */
async function signOut({ client }: Person): Promise<void> {
  const sessions = done(await client.get("/v1/sessions")).sessions as unknown as readonly { id: string }[];
  for (const { id } of sessions.slice(0, -1)) done(await postern.admin.delete(`/v1/sessions/${id}`));
}

describe.each(["a session that goes on", "one that was signed out"])("of %s", (kind) => {
  test.each(Object.keys(ends))("when %s, a token ends at both nodes, and no other comes of it", async (name) => {
    const end = ends[name] ?? expect.unreachable();
    const [person, at] = [await signedUp(postern), await console_()];
    const { access_token = "", refresh_token = "" } = await tokens(person, everything, at);
    if (kind === "one that was signed out") await signOut(person);
    // Both nodes have the caller in their caches.
    for (const node of [nodes.one, nodes.two])
      expect((await node.as(access_token).get("/v1/users/me")).status).toBe(200);
    await end({ person, app: at, accessToken: access_token, refreshToken: refresh_token });
    for (const node of [nodes.one, nodes.two])
      await expect.poll(async () => (await node.as(access_token).get("/v1/users/me")).status).toBe(401);
    const form = { grant_type: "refresh_token", refresh_token };
    expect((await post(postern.url, "/oauth/token", form, basic(at))).status).toBeGreaterThanOrEqual(400);
  });
});

test("a role that the user loses is gone from its token, and one that it gets is there", async () => {
  const person = await signedUp(postern);
  const client = postern.as(await tokenOf(person, everything));
  expect((await client.get("/v1/users")).status).toBe(403);
  const member = await postern.admin.post("/v1/members", { userId: person.userId, roles: ["ORG_VIEWER"] });
  done(member);
  expect((await client.get("/v1/users")).status).toBe(200);
  expect((await client.post("/v1/projects", { name: "Nothing" })).status).toBe(403);
});

test("our API says where its tokens come from: in its metadata, and to whoever has none, at every door", async () => {
  const url = `${issuer}/.well-known/oauth-protected-resource`;
  const described = await fetch(`${postern.url}/.well-known/oauth-protected-resource`);
  expect([described.headers.get("access-control-allow-origin"), await described.json()]).toEqual([
    "*",
    {
      resource: issuer,
      authorization_servers: [issuer],
      scopes_supported: permissions,
      bearer_methods_supported: ["header"],
      resource_name: "Postern",
    },
  ]);
  const server = await fetch(`${postern.url}/.well-known/oauth-authorization-server`);
  expect(await server.json()).toMatchObject({ issuer, protected_resources: [issuer] });
  const challenges: (string | undefined)[] = [];
  using doors = openDoors(postern.url, (response) => challenges.push(challengeIn(response)));
  for (const door of doors.all)
    for (const headers of [
      {},
      { authorization: "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln" },
      { authorization: "Bearer x" },
    ])
      await door.ask({ method: AccountService.method.getMe, request: {}, headers });
  expect(new Set(challenges)).toEqual(new Set([`Bearer realm="postern", resource_metadata="${url}"`]));
});

/** The challenge of a response: a header or trailer, which gRPC-Web has in its body. */
function challengeIn(response: HttpResponse): string | undefined {
  const text = response.body.toString();
  const texts = [text, Buffer.from(text, "base64").toString()];
  const inBody = texts.map((one) => /www-authenticate: *([^\r]*)\r/i.exec(one)?.[1]).find((one) => one !== undefined);
  return fieldsOf(response)["www-authenticate"] ?? inBody;
}
