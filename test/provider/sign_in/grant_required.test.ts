import { afterAll, beforeAll, expect, test } from "vitest";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
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
import { openBrowser } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: { status: number; body: Record<string, unknown> }) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** An application whose project requires a grant, and has a role. */
async function strictApplication(): Promise<Application> {
  const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
  const app = await application(postern.admin, { grantTypes });
  done(await postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key: "editor" }));
  done(await postern.admin.call("PATCH", `/v1/projects/${app.projectId}`, { grantRequired: true }));
  return app;
}

const grantTo = async ({ userId }: Person, { projectId }: Application, more = {}, headers = {}) => {
  const wanted = { projectId, roleKeys: ["editor"], ...more };
  return done(await postern.admin.post(`/v1/users/${userId}/grants`, wanted, headers)).userGrantId as string;
};

const scope = "openid offline_access";
async function outcomeOf(app: Application, person: Person) {
  const browser = openBrowser(issuer);
  const shown = await signIn(browser, authorizeUrl(issuer, app, { scope }), person);
  return answerIn(shown.text.includes('value="allow"') ? await browser.submit(shown, {}, "allow") : shown);
}

const mayEnter = async (app: Application, person: Person) => {
  const { code, error } = await outcomeOf(app, person);
  return code === undefined ? error : "code";
};

test("of a project that requires a grant only those who hold an active one may sign in", async () => {
  const app = await strictApplication();
  const person = await signedUp(postern);
  expect(await mayEnter(app, person)).toBe("access_denied");
  const id = await grantTo(person, app);
  expect(await mayEnter(app, person)).toBe("code");
  done(await postern.admin.post(`/v1/user-grants/${id}:deactivate`));
  expect(await mayEnter(app, person)).toBe("access_denied");
  done(await postern.admin.post(`/v1/user-grants/${id}:reactivate`));
  expect(await mayEnter(app, person)).toBe("code");
  done(await postern.admin.call("PATCH", `/v1/projects/${app.projectId}`, { grantRequired: false }));
  done(await postern.admin.delete(`/v1/user-grants/${id}`));
  expect(await mayEnter(app, person)).toBe("code");
});

test("users of an organization that the project is granted to need a grant of their own too", async () => {
  const app = await strictApplication();
  const organizationId = await organization(postern);
  const person = await signedUp(postern, { organizationId });
  const lent = { grantedOrganizationId: organizationId, roleKeys: ["editor"] };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${app.projectId}/grants`, lent));
  expect(await mayEnter(app, person)).toBe("access_denied");
  await grantTo(person, app, { projectGrantId }, { "x-service-orgid": organizationId });
  expect(await mayEnter(app, person)).toBe("code");
});

test("with the last grant end the tokens that were given: refresh, introspection and userinfo", async () => {
  const app = await strictApplication();
  const person = await signedUp(postern);
  const id = await grantTo(person, app);
  const { body } = await exchange(issuer, app, (await outcomeOf(app, person)).code ?? "");
  const refreshed = (token: string) =>
    post(issuer, "/oauth/token", { grant_type: "refresh_token", refresh_token: token }, basic(app));
  const next = await refreshed(body.refresh_token);
  expect(next.status).toBe(200);
  done(await postern.admin.delete(`/v1/user-grants/${id}`));
  const refused = await refreshed(next.body.refresh_token);
  expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
  const asked = await post(issuer, "/oauth/introspect", { token: next.body.access_token }, basic(app));
  expect(asked.body).toEqual({ active: false });
  const authorization = `Bearer ${next.body.access_token}`;
  expect((await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization } })).status).toBe(401);
});
