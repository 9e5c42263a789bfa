import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Client, Postern, signedUp } from "../harness.ts";
import { type Browser, openBrowser, type Shown } from "./browser.ts";

/** The issuer of a node whose PUBLIC_URL is not set. */
export const issuerOf = ({ url }: Pick<Postern, "url">): string => `http://localhost:${new URL(url).port}`;

/** An application in a project of its own. */
export type Application = {
  readonly projectId: string;
  readonly appId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
};

let made = 0;

/** Registers an application: a web server with a secret, unless the settings say otherwise. */
export async function application(
  admin: Client,
  settings: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Application> {
  const name = `App ${++made} ${randomBytes(3).toString("hex")}`;
  const project = await admin.post("/v1/projects", { name }, headers);
  const { projectId } = project.body;
  const redirectUri = "https://app.example/cb";
  const wanted = { name, redirectUris: [redirectUri], ...settings };
  const created = await admin.post(`/v1/projects/${projectId}/applications/oidc`, wanted, headers);
  expect([created.status, created.body]).toEqual([200, expect.anything()]);
  const { appId, clientId, clientSecret = "" } = created.body;
  const [first = redirectUri] = (settings.redirectUris as string[] | undefined) ?? [redirectUri];
  return { projectId, appId, clientId, clientSecret, redirectUri: first };
}

/** The parameters of a request for a code, with PKCE. */
export const verifier = "verifier-verifier-verifier-verifier-verifier-1";
export const challenge = createHash("sha256").update(verifier).digest("base64url");

/** The URL of an authorization request. */
export function authorizeUrl(
  issuer: string,
  app: Application,
  more: Readonly<Record<string, string | undefined>> = {},
) {
  const all = {
    ...{ client_id: app.clientId, redirect_uri: app.redirectUri, response_type: "code", scope: "openid" },
    ...{ state: "st&te =1", nonce: "n1", code_challenge: challenge, code_challenge_method: "S256" },
    ...more,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${issuer}/oauth/authorize?${new URLSearchParams(given)}`;
}

/** A person with a password. */
export type Person = Awaited<ReturnType<typeof signedUp>>;

/** Signs a person in at an application by its form; answers the place that the browser was sent to. */
export async function signIn(
  browser: Browser,
  url: string,
  { username, password }: Pick<Person, "username" | "password">,
) {
  const page = await browser.open(url);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('name="password"')]);
  return browser.submit(page, { login_name: username, password });
}

/** The parameters that an application got in its redirect URI. */
export const answerIn = ({ url }: Pick<Shown, "url">): Record<string, string> =>
  Object.fromEntries(new URL(url).searchParams);

/** A code for a person at an application. */
export async function codeFor(
  issuer: string,
  app: Application,
  person: Person,
  more: Record<string, string | undefined> = {},
) {
  const browser = openBrowser(issuer);
  const { code = "", error } = answerIn(await signIn(browser, authorizeUrl(issuer, app, more), person));
  expect(error).toBe(undefined);
  return { browser, code };
}

/** Sends a form to an endpoint, with the client's secret in the header unless there is another proof. */
export async function post(
  issuer: string,
  path: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(issuer + path, { method: "POST", body: new URLSearchParams(form), headers });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : {}, headers: response.headers };
}

/** The header by which an application authenticates. */
export const basic = ({ clientId, clientSecret }: Pick<Application, "clientId" | "clientSecret">) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString("base64")}`,
});

/** Exchanges a code for tokens. */
export const exchange = (issuer: string, app: Application, code: string, more: Readonly<Record<string, string>> = {}) =>
  post(
    issuer,
    "/oauth/token",
    { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: verifier, ...more },
    basic(app),
  );
