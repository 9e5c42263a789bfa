import { expect } from "vitest";
import { type Answer, type Client, organization, type Postern, signedUp } from "../harness.ts";
import { until } from "../postgres/embedded/holder.ts";
import type { TwoNodes } from "../two_nodes.ts";
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
} from "./application.ts";
import { type Browser, openBrowser } from "./browser.ts";

/**
 * How a user may use an application: by its organization, by one that the project is granted to, by a grant of its own, or, a guest,
 * by both of these.
 */
export type Way = "member" | "granted" | "holder" | "guest";

/** Everything that a user and an application can hold, and the organizations that it stands on. */
export type Held = {
  readonly app: Application;
  readonly person: Person;
  readonly browser: Browser;
  readonly code: string;
  readonly refreshToken: string;
  readonly accessToken: string;
  readonly scope: string;
  /** The organization of the project. */
  readonly ownerId: string;
  /** The organization of the user. */
  readonly organizationId: string;
  /** The administrator in the organization of the project. */
  readonly admin: Client;
  /** The grant by which the user may use the application: of its own, or of its organization. */
  readonly grantId: string;
};

const settings = { grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"] };

/** Gives a user and an application all that they can hold. */
export async function held(node: Postern, way: Way, accessTokenType = "OIDC_TOKEN_TYPE_JWT"): Promise<Held> {
  const ownerId = await organization(node);
  const organizationId = way === "member" ? ownerId : await organization(node);
  const admin = within(node.admin, ownerId);
  const [app, person] = [
    await application(admin, { ...settings, accessTokenType }),
    await signedUp(node, { organizationId }),
  ];
  const grantId = await granted(admin, { way, app, person, organizationId });
  // The holder of a grant signs in for the organization that gives it.
  const scope = `openid offline_access${way === "holder" || way === "guest" ? ` urn:postern:organization:id:${ownerId}` : ""}`;
  const browser = openBrowser(node.url);
  const shown = await signIn(browser, authorizeUrl(node.url, app, { scope }), person);
  const first = way === "member" ? shown : await browser.submit(shown, {}, "allow");
  const { body } = await exchange(node.url, app, answerIn(first).code ?? "");
  const { code = "" } = answerIn(await browser.open(authorizeUrl(node.url, app, { scope })));
  const tokens = { refreshToken: body.refresh_token, accessToken: body.access_token };
  return { app, person, browser, code, ...tokens, scope, ownerId, organizationId, admin, grantId };
}

type GrantOf = Pick<Held, "app" | "person" | "organizationId"> & { readonly way: Way };

async function granted(admin: Client, { way, app, person, organizationId }: GrantOf): Promise<string> {
  if (way === "member") return "";
  const toOrganization = async () => {
    const path = `/v1/projects/${app.projectId}/grants`;
    return done(await admin.post(path, { grantedOrganizationId: organizationId })).projectGrantId;
  };
  if (way === "granted") return toOrganization();
  if (way === "guest") await toOrganization();
  return done(await admin.post(`/v1/users/${person.userId}/grants`, { projectId: app.projectId })).userGrantId;
}

/** The administrator, acting in an organization. */
export function within({ token, call: send }: Client, organizationId: string): Client {
  const call: Client["call"] = (method, path, body) => send(method, path, body, { "x-service-orgid": organizationId });
  return {
    token,
    call,
    get: (path) => call("GET", path),
    post: (path, body = {}) => call("POST", path, body),
    put: (path, body = {}) => call("PUT", path, body),
    delete: (path) => call("DELETE", path),
  };
}

/** The body of an answer that has to be good. */
export function done({ status, body }: Answer) {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

/** The worth of each thing that is held. */
export type Worth = {
  readonly session: string;
  readonly code: number;
  readonly refresh: number;
  readonly userinfo: number;
  readonly introspection: unknown;
  readonly api: number;
};

/** Presents each thing that is held once more at a node. Other nodes know of calls only what they have read of the log. */
export async function worthAt({ url, as }: TwoNodes["one"], one: Held, api: number): Promise<Worth> {
  const { app, browser, code, refreshToken, accessToken, person, scope } = one;
  const silent = await browser.open(authorizeUrl(url, app, { prompt: "none", scope }));
  const session = silent.status === 303 ? (answerIn(silent).error ?? "code") : "page";
  const form = { grant_type: "refresh_token", refresh_token: refreshToken };
  const authorization = `Bearer ${accessToken}`;
  const introspection = await post(url, "/oauth/introspect", { token: accessToken }, basic(app));
  const me = async () => (await as(person.client.token).get("/v1/users/me")).status;
  return {
    session,
    code: (await exchange(url, app, code)).status,
    refresh: (await post(url, "/oauth/token", form, basic(app))).status,
    userinfo: (await fetch(`${url}/oauth/userinfo`, { headers: { authorization } })).status,
    introspection: introspection.body.active ?? introspection.body.error,
    api: await until(async () => (await me()) === api && api),
  };
}
