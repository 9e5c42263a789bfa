import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageText } from "../../src/messages/page.ts";
import { patternOf } from "../fixture/text_pattern.ts";
import { organization, signedUp } from "../harness.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";
import { answerIn, application, authorizeUrl, basic, exchange, post, signIn } from "./application.ts";
import { openBrowser } from "./browser.ts";
import { done, type Held, held, type Way, type Worth, worthAt } from "./holding.ts";

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const all: Worth = { session: "code", code: 200, refresh: 200, userinfo: 200, introspection: true, api: 200 };
const none: Worth = {
  ...{ session: "login_required", code: 400, refresh: 400, userinfo: 401, introspection: false, api: 401 },
};
/** The browser is signed out, and what the application holds for a user who is away counts. */
const away: Worth = { ...all, session: "login_required", code: 400 };
/** The user is signed in, and calls; nothing of the application counts. */
const noApplication: Worth = {
  ...{ session: "page", code: 401, refresh: 401, userinfo: 401, introspection: "invalid_client", api: 200 },
};
/** The user may not use the application any more. */
const noUse: Worth = { ...none, session: "access_denied", api: 200 };

const appPath = ({ app }: Held) => `/v1/projects/${app.projectId}/applications/${app.appId}`;
const userPath = ({ person }: Held) => `/v1/users/${person.userId}`;
const newPassword = "Green-Teapot-77";

type Row = {
  readonly way?: Way;
  readonly happens: (one: Held) => Promise<unknown>;
  readonly expected: Worth;
};

const events: Readonly<Record<string, Row>> = {
  nothing: { happens: async () => {}, expected: all },
  "the user is deactivated": {
    happens: async (one) => done(await one.admin.post(`${userPath(one)}:deactivate`)),
    expected: none,
  },
  "the user is deactivated and reactivated": {
    async happens(one) {
      done(await one.admin.post(`${userPath(one)}:deactivate`));
      done(await one.admin.post(`${userPath(one)}:reactivate`));
    },
    expected: none,
  },
  "the user is deleted": {
    happens: async (one) => done(await one.admin.delete(userPath(one))),
    expected: none,
  },
  "the user is locked": { happens: lock, expected: all },
  "the password is set": {
    happens: async (one) => done(await one.admin.put(`${userPath(one)}/password`, { newPassword })),
    expected: none,
  },
  "the user changes the password in another session": {
    happens: async ({ person: { client, password } }) =>
      done(await client.put("/v1/users/me/password", { oldPassword: password, newPassword })),
    expected: { ...none, api: 200 },
  },
  "the session of the browser is ended": {
    async happens(one) {
      const { sessions } = done(await one.admin.get(`/v1/sessions?userId=${one.person.userId}`));
      for (const { id } of sessions) done(await one.admin.delete(`/v1/sessions/${id}`));
    },
    expected: { ...away, api: 401 },
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
  "the organization of the user and the project is deactivated": {
    happens: async ({ ownerId }) => done(await nodes.one.admin.post(`/v1/organizations/${ownerId}:deactivate`)),
    expected: { ...noApplication, api: 401 },
  },
  "the organization of the user and the project is deactivated and reactivated": {
    async happens({ ownerId }) {
      done(await nodes.one.admin.post(`/v1/organizations/${ownerId}:deactivate`));
      done(await nodes.one.admin.post(`/v1/organizations/${ownerId}:reactivate`));
    },
    expected: all,
  },
  "the organization of the user is deactivated": {
    way: "granted",
    happens: async ({ organizationId }) =>
      done(await nodes.one.admin.post(`/v1/organizations/${organizationId}:deactivate`)),
    expected: none,
  },
  "the organization of the user is deleted": {
    way: "granted",
    happens: async ({ organizationId }) => done(await nodes.one.admin.delete(`/v1/organizations/${organizationId}`)),
    expected: none,
  },
  "the organization of the project is deactivated": {
    way: "granted",
    happens: async ({ ownerId }) => done(await nodes.one.admin.post(`/v1/organizations/${ownerId}:deactivate`)),
    expected: noApplication,
  },
  "the organization of the project is deleted": {
    way: "granted",
    happens: async ({ ownerId }) => done(await nodes.one.admin.delete(`/v1/organizations/${ownerId}`)),
    expected: noApplication,
  },
  "the project is granted to the user's organization no more": {
    way: "granted",
    happens: async ({ app, admin, grantId }) =>
      done(await admin.delete(`/v1/projects/${app.projectId}/grants/${grantId}`)),
    expected: noUse,
  },
  "nothing, by a grant of the user's own": { way: "holder", happens: async () => {}, expected: all },
  "the grant of the user is deactivated": {
    way: "holder",
    happens: async ({ admin, grantId }) => done(await admin.post(`/v1/user-grants/${grantId}:deactivate`)),
    expected: noUse,
  },
  "the grant of the user is deactivated and reactivated": {
    way: "holder",
    async happens({ admin, grantId }) {
      done(await admin.post(`/v1/user-grants/${grantId}:deactivate`));
      done(await admin.post(`/v1/user-grants/${grantId}:reactivate`));
    },
    expected: all,
  },
  "the grant of the user is removed": {
    way: "holder",
    happens: async ({ admin, grantId }) => done(await admin.delete(`/v1/user-grants/${grantId}`)),
    expected: noUse,
  },
  "nothing, by two grants": { way: "guest", happens: async () => {}, expected: all },
  "the grant of the user, who signed in for the organization that gave it, is removed": {
    way: "guest",
    happens: async ({ admin, grantId }) => done(await admin.delete(`/v1/user-grants/${grantId}`)),
    expected: noUse,
  },
  "the user signs out at the application": {
    async happens({ browser }) {
      const page = await browser.open(`${nodes.one.url}/oauth/end-session`);
      expect((await browser.submit(page, {}, "sign_out")).status).toBe(200);
    },
    expected: away,
  },
  "the application is deactivated": {
    happens: async (one) => done(await one.admin.post(`${appPath(one)}:deactivate`)),
    expected: noApplication,
  },
  "the application is deleted": {
    happens: async (one) => done(await one.admin.delete(appPath(one))),
    expected: noApplication,
  },
  "the client secret is rotated": {
    happens: async (one) => done(await one.admin.post(`${appPath(one)}:rotateClientSecret`)),
    expected: { ...all, code: 401, refresh: 401, introspection: "invalid_client" },
  },
  "the application may refresh no more": {
    happens: async (one) =>
      done(
        await one.admin.call("PATCH", `${appPath(one)}/oidc`, { grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"] }),
      ),
    expected: { ...all, refresh: 400 },
  },
  "the project is deactivated": {
    happens: async ({ app, admin }) => done(await admin.post(`/v1/projects/${app.projectId}:deactivate`)),
    expected: noApplication,
  },
  "the project is deleted": {
    happens: async ({ app, admin }) => done(await admin.delete(`/v1/projects/${app.projectId}`)),
    expected: noApplication,
  },
};

async function lock({ person }: Held): Promise<void> {
  const wrong = { loginName: person.username, password: "wrong" };
  for (let n = 0; n < 10; n++) await nodes.one.as().post("/v1/sessions", wrong);
}

describe.each([
  ["one node", () => nodes.one],
  ["two nodes", () => nodes.two],
] as const)("on %s, each thing that is held is worth what the table says", (_, there) => {
  test.each(Object.keys(events))("when %s", async (name) => {
    const { way = "member", happens, expected } = events[name] ?? expect.unreachable();
    for (const type of ["OIDC_TOKEN_TYPE_JWT", "OIDC_TOKEN_TYPE_BEARER"]) {
      const one = await held(nodes.one, way, type);
      await happens(one);
      expect(await worthAt(there(), one, expected.api)).toEqual(expected);
    }
  });
});

const signingOut = "the user signs out at the application";

describe("after a sign-out, on two nodes, what is held for a user who is away is worth what the table says", () => {
  const others = Object.entries(events).filter(([name]) => name !== signingOut);
  test.each(others)("when %s", async (_, { way = "member", happens, expected }) => {
    const one = await held(nodes.one, way);
    await events[signingOut]?.happens(one);
    const form = { grant_type: "refresh_token", refresh_token: one.refreshToken };
    const { access_token, refresh_token } = done(await post(nodes.two.url, "/oauth/token", form, basic(one.app)));
    const later = { ...one, accessToken: access_token, refreshToken: refresh_token };
    await happens(later);
    const session = expected.session === "page" ? "page" : "login_required";
    const code = expected.code === 200 ? 400 : expected.code;
    expect(await worthAt(nodes.two, later, expected.api)).toEqual({ ...expected, session, code });
  });
});

test("a locked user cannot enter its password", async () => {
  const one = await held(nodes.one, "member");
  await lock(one);
  const refused = await signIn(openBrowser(nodes.two.url), authorizeUrl(nodes.two.url, one.app), one.person);
  expect([refused.status, refused.text]).toEqual([429, expect.stringMatching(patternOf(pageText("attempts", "en")))]);
});

test("a role that is removed is gone from the next token, from userinfo and from introspection", async () => {
  const one = await held(nodes.one, "member");
  const { projectId } = one.app;
  done(await one.admin.post(`/v1/projects/${projectId}/roles`, { key: "editor" }));
  const path = `/v1/users/${one.person.userId}/grants`;
  const { userGrantId } = done(await one.admin.post(path, { projectId, roleKeys: ["editor"] }));
  const roles = async () =>
    (await post(nodes.two.url, "/oauth/introspect", { token: one.accessToken }, basic(one.app))).body.roles;
  expect(await roles()).toEqual(["editor"]);
  done(await one.admin.delete(`/v1/user-grants/${userGrantId}`));
  expect(await roles()).toEqual([]);
});

test("a user of an organization without a part in the project gets access_denied, and one with a grant signs in", async () => {
  const { one } = nodes;
  const app = await application(one.admin);
  const foreign = await organization(one);
  const person = await signedUp(one, { organizationId: foreign });
  const browser = openBrowser(one.url);
  expect(answerIn(await signIn(browser, authorizeUrl(one.url, app), person)).error).toBe("access_denied");
  done(await one.admin.post(`/v1/projects/${app.projectId}/grants`, { grantedOrganizationId: foreign }));
  const asked = await browser.open(authorizeUrl(one.url, app, { scope: "openid roles" }));
  const { code = "" } = answerIn(await browser.submit(asked, {}, "allow"));
  const { body } = await exchange(one.url, app, code);
  const claims = JSON.parse(Buffer.from(body.id_token.split(".")[1], "base64url").toString());
  expect(claims).toMatchObject({ "urn:postern:organization:id": foreign, roles: [] });
  const other = `openid urn:postern:organization:id:${one.organizationId}`;
  expect(answerIn(await browser.open(authorizeUrl(one.url, app, { scope: other }))).error).toBe("access_denied");
});

test("a token is active for clients of its project, and for no others", async () => {
  const [one, other] = [await held(nodes.one, "member"), await held(nodes.one, "member")];
  expect((await post(nodes.two.url, "/oauth/introspect", { token: one.accessToken }, basic(other.app))).body).toEqual({
    active: false,
  });
});
