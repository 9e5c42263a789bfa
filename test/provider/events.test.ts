import { afterAll, beforeAll, expect, test } from "vitest";
import { organization, type Postern, signedUp, startPostern } from "../harness.ts";
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
} from "./application.ts";
import { type Browser, openBrowser } from "./browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const settings = {
  grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  accessTokenType: "OIDC_TOKEN_TYPE_JWT",
};

type Held = {
  readonly app: Application;
  readonly person: Person;
  readonly browser: Browser;
  readonly code: string;
  readonly refreshToken: string;
  readonly accessToken: string;
};

const scope = "openid offline_access";

/** Everything that a user and an application can hold. */
async function held(accessTokenType = settings.accessTokenType): Promise<Held> {
  const [app, person] = [await application(postern.admin, { ...settings, accessTokenType }), await signedUp(postern)];
  const browser = openBrowser(issuer);
  const first = await signIn(browser, authorizeUrl(issuer, app, { scope }), person);
  const { body } = await exchange(issuer, app, answerIn(first).code ?? "");
  const { code = "" } = answerIn(await browser.open(authorizeUrl(issuer, app, { scope })));
  return { app, person, browser, code, refreshToken: body.refresh_token, accessToken: body.access_token };
}

/** The outcome of each thing that is held, presented once more. */
async function outcomes({ app, browser, code, refreshToken, accessToken, person }: Held) {
  const { url, status } = await browser.open(authorizeUrl(issuer, app, { prompt: "none" }));
  const session = status === 303 ? (answerIn({ url }).error ?? "code") : "page";
  const form = { grant_type: "refresh_token", refresh_token: refreshToken };
  const authorization = `Bearer ${accessToken}`;
  const introspection = await post(issuer, "/oauth/introspect", { token: accessToken }, basic(app));
  return {
    session,
    code: (await exchange(issuer, app, code)).status,
    refresh: (await post(issuer, "/oauth/token", form, basic(app))).status,
    userinfo: (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization } })).status,
    introspection: introspection.body.active ?? introspection.body.error,
    api: (await person.client.get("/v1/users/me")).status,
  };
}

const all = { session: "code", code: 200, refresh: 200, userinfo: 200, introspection: true, api: 200 };
const none = { session: "login_required", code: 400, refresh: 400, userinfo: 401, introspection: false, api: 401 };

const done = ({ status, body }: { status: number; body: unknown }) =>
  expect([status, body]).toEqual([200, expect.anything()]);
const appPath = ({ app }: Held) => `/v1/projects/${app.projectId}/applications/${app.appId}`;

const events: Readonly<
  Record<string, { readonly happens: (held: Held) => Promise<unknown>; readonly expected: object }>
> = {
  nothing: { happens: async () => {}, expected: all },
  "the user is deactivated": {
    happens: async ({ person }) => done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`)),
    expected: none,
  },
  "the user is deactivated and reactivated": {
    async happens({ person }) {
      done(await postern.admin.post(`/v1/users/${person.userId}:deactivate`));
      done(await postern.admin.post(`/v1/users/${person.userId}:reactivate`));
    },
    expected: none,
  },
  "the user is deleted": {
    happens: async ({ person }) => done(await postern.admin.delete(`/v1/users/${person.userId}`)),
    expected: none,
  },
  "the password is set": {
    happens: async ({ person }) =>
      done(await postern.admin.put(`/v1/users/${person.userId}/password`, { newPassword: "Green-Teapot-77" })),
    expected: none,
  },
  "the session of the browser is ended": {
    async happens({ person }) {
      const { body } = await postern.admin.get(`/v1/sessions?userId=${person.userId}`);
      for (const { id } of body.sessions) done(await postern.admin.delete(`/v1/sessions/${id}`));
    },
    expected: none,
  },
  "all other sessions of the user are ended": {
    happens: async ({ person }) => done(await person.client.delete("/v1/users/me/sessions")),
    expected: { ...none, api: 200 },
  },
  "the user disconnects the application": {
    happens: async ({ app, person }) =>
      done(await person.client.delete(`/v1/users/me/connected-applications/${app.appId}`)),
    expected: { ...none, session: "code", api: 200 },
  },
  "the application is deactivated": {
    happens: async (held) => done(await postern.admin.post(`${appPath(held)}:deactivate`)),
    expected: { session: "page", code: 401, refresh: 401, userinfo: 401, introspection: "invalid_client", api: 200 },
  },
  "the application is deleted": {
    happens: async (held) => done(await postern.admin.delete(appPath(held))),
    expected: { session: "page", code: 401, refresh: 401, userinfo: 401, introspection: "invalid_client", api: 200 },
  },
  "the client secret is rotated": {
    happens: async (held) => done(await postern.admin.post(`${appPath(held)}:rotateClientSecret`)),
    expected: { session: "code", code: 401, refresh: 401, userinfo: 200, introspection: "invalid_client", api: 200 },
  },
  "the project is deactivated": {
    happens: async ({ app }) => done(await postern.admin.post(`/v1/projects/${app.projectId}:deactivate`)),
    expected: { session: "page", code: 401, refresh: 401, userinfo: 401, introspection: "invalid_client", api: 200 },
  },
};

test.each(Object.keys(events))("when %s, each thing that is held is worth what the table says", async (name) => {
  const { happens, expected } = events[name] ?? expect.unreachable();
  const one = await held();
  await happens(one);
  expect(await outcomes(one)).toEqual(expected);
  const opaque = await held("OIDC_TOKEN_TYPE_BEARER");
  await happens(opaque);
  expect(await outcomes(opaque)).toEqual(expected);
});

test("a locked user keeps its sessions, and cannot enter its password", async () => {
  const one = await held();
  const page = await openBrowser(issuer).open(authorizeUrl(issuer, one.app));
  expect(page.status).toBe(200);
  for (let n = 0; n < 10; n++)
    await postern.as().post("/v1/sessions", { loginName: one.person.username, password: "wrong" });
  const refused = await signInAgain(one);
  expect([refused.status, refused.text]).toEqual([
    401,
    expect.stringContaining("The login name or the password is wrong."),
  ]);
  expect(await outcomes(one)).toEqual(all);
});

const signInAgain = ({ app, person }: Held) => signIn(openBrowser(issuer), authorizeUrl(issuer, app), person);

test("a role that is removed is gone from the next token, from userinfo and from introspection", async () => {
  const one = await held();
  const { projectId } = one.app;
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "editor" }));
  const granted = await postern.admin.post(`/v1/users/${one.person.userId}/grants`, {
    projectId,
    roleKeys: ["editor"],
  });
  done(granted);
  const roles = async () =>
    (await post(issuer, "/oauth/introspect", { token: one.accessToken }, basic(one.app))).body.roles;
  expect(await roles()).toEqual(["editor"]);
  done(await postern.admin.delete(`/v1/user-grants/${granted.body.userGrantId}`));
  expect(await roles()).toEqual([]);
});

test("a user of an organization without a part in the project gets access_denied, and one with a grant signs in", async () => {
  const app = await application(postern.admin);
  const foreign = await organization(postern);
  const person = await signedUp(postern, { organizationId: foreign });
  const browser = openBrowser(issuer);
  expect(answerIn(await signIn(browser, authorizeUrl(issuer, app), person)).error).toBe("access_denied");
  done(await postern.admin.post(`/v1/projects/${app.projectId}/grants`, { grantedOrganizationId: foreign }));
  const asked = await browser.open(authorizeUrl(issuer, app, { scope: "openid roles" }));
  const { code = "" } = answerIn(await browser.submit(asked, {}, "allow"));
  const { body } = await exchange(issuer, app, code);
  const claims = JSON.parse(Buffer.from(body.id_token.split(".")[1], "base64url").toString());
  expect(claims).toMatchObject({ "urn:postern:organization:id": foreign, roles: [] });
  const other = `openid urn:postern:organization:id:${postern.organizationId}`;
  expect(answerIn(await browser.open(authorizeUrl(issuer, app, { scope: other }))).error).toBe("access_denied");
});

test("a token is active for clients of its project, and for no others", async () => {
  const [one, other] = [await held(), await held()];
  expect((await post(issuer, "/oauth/introspect", { token: one.accessToken }, basic(other.app))).body).toEqual({
    active: false,
  });
});
