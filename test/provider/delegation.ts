import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { refreshing } from "../fixture/connection.ts";
import { type Postern, signedUp } from "../harness.ts";
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
import { done } from "./holding.ts";
import { type GrantedMachine, grantedMachine } from "./machine.ts";

/** An API of a project, by its URI. */
export type Api = Application & { readonly uri: string };

/**
 * A person with the role `viewer` in a machine's project, an application that they sign in to, an API of it that the machine serves, and an
 * API of the machine's project that it may call for them.
 */
export type Delegated = {
  readonly postern: Postern;
  readonly issuer: string;
  readonly person: Person;
  readonly app: Application;
  readonly served: Api;
  readonly target: Api;
  readonly machine: GrantedMachine;
};

export const grantOfExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
export const unique = () => randomBytes(4).toString("hex");

const texts = { en: "see your ledger" };
const passedOn = ["ledger:read", "ledger:write", "mail:read"].map((name) => ({ name, texts }));
export const scopesOfTarget = [
  { name: "ledger:read", role: "viewer", texts },
  { name: "ledger:write", role: "editor", texts },
];

/** Creates an API; the administrator, an owner of the instance, gives it its URI. */
export async function newApi(postern: Postern, projectId: string, settings: object = {}, owner?: string): Promise<Api> {
  const uri = `https://${unique()}.example/`;
  const headers = owner === undefined ? {} : { "x-service-orgid": owner };
  const wanted = { name: `API ${unique()}`, resourceUris: [uri], ...settings };
  const made = done(await postern.admin.post(`/v1/projects/${projectId}/applications/api`, wanted, headers));
  const { appId, clientId, clientSecret = "" } = made;
  return { projectId, appId, clientId, clientSecret, redirectUri: "", uri };
}

type Uri = Pick<Api, "uri">;
type Lists = { readonly served: readonly Uri[]; readonly targets: readonly Uri[] };

/** Sets which APIs a machine serves, and which it may call on behalf of users. */
export async function delegated(postern: Postern, { userId }: { userId: string }, { served, targets }: Lists) {
  const [servedResources, targetResources] = [served, targets].map((apis) => apis.map(({ uri }) => uri));
  return done(await postern.admin.put(`/v1/users/${userId}/delegation`, { servedResources, targetResources }));
}

export async function delegation(postern: Postern, settings: object = {}): Promise<Delegated> {
  const [app, machine] = [await application(postern.admin, refreshing), await grantedMachine(postern)];
  done(await postern.admin.post(`/v1/projects/${machine.projectId}/roles`, { key: "editor" }));
  const person = await signedUp(postern);
  const grant = { projectId: machine.projectId, roleKeys: ["viewer", "editor"] };
  done(await postern.admin.post(`/v1/users/${person.userId}/grants`, grant));
  const served = await newApi(postern, app.projectId, { scopes: passedOn });
  const target = await newApi(postern, machine.projectId, { scopes: scopesOfTarget, ...settings });
  await delegated(postern, machine, { served: [served], targets: [target] });
  return { postern, issuer: issuerOf(postern), person, app, served, target, machine };
}

export type Tokens = Readonly<Record<"access_token" | "refresh_token" | "scope" | "id_token", string>>;

export const userScope = "openid offline_access ledger:read ledger:write mail:read";

/** Signs the person in, for an API, by default the served one; answers the tokens of the application. */
export async function userTokens(
  { issuer, app, person, served }: Delegated,
  {
    api = served,
    browser = openBrowser(issuer),
    scope = userScope,
  }: { api?: Api; browser?: Browser; scope?: string } = {},
): Promise<Tokens> {
  const url = `${authorizeUrl(issuer, app, { scope })}&resource=${encodeURIComponent(api.uri)}`;
  const { code = "" } = answerIn(await signIn(browser, url, person));
  return done(await exchange(issuer, app, code)) as Tokens;
}

type Acting = Pick<Delegated, "issuer" | "machine"> & { readonly target: Uri };

type Asking = { readonly by?: Pick<GrantedMachine, "clientId" | "clientSecret">; readonly node?: string };

/** Asks for a token on behalf of the user of a token, for the target; an empty parameter is left out. */
export function exchanged(
  { issuer, machine, target }: Acting,
  subject_token: string,
  more: Readonly<Record<string, string>> = {},
  { by = machine, node = issuer }: Asking = {},
) {
  const form = {
    grant_type: grantOfExchange,
    subject_token,
    subject_token_type: accessTokenType,
    resource: target.uri,
  };
  return post(node, "/oauth/token", { ...form, ...more }, basic(by));
}

export const introspected = async (issuer: string, token: string, by: Pick<Api, "clientId" | "clientSecret">) => {
  const { status, body } = await post(issuer, "/oauth/introspect", { token }, basic(by));
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

export const outcome = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

/** A machine that acts for a user who stays, and for one who may be deleted after that. */
export async function delegationsBegin(postern: Postern, chance: () => number): Promise<void> {
  for (const share of [0, 0.5]) {
    const mine = await delegation(postern);
    done(await exchanged(mine, (await userTokens(mine)).access_token));
    if (chance() < share) await postern.admin.delete(`/v1/users/${mine.person.userId}`);
  }
}
