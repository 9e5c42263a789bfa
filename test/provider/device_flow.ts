import { expect } from "vitest";
import type { Client } from "../harness.ts";
import { type Application, application, type Person, post } from "./application.ts";
import { openBrowser, type Shown } from "./browser.ts";

/** The grant type of devices. */
export const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

/** The settings of an application of devices, without a secret. */
export const deviceSettings = {
  grantTypes: ["OIDC_GRANT_TYPE_DEVICE_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
  authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
  appType: "OIDC_APP_TYPE_NATIVE",
  redirectUris: [],
};

/** Registers an application of devices, without a secret unless the settings say otherwise. */
export const deviceApplication = (admin: Client, settings: Readonly<Record<string, unknown>> = {}) =>
  application(admin, { ...deviceSettings, ...settings });

/** Asks for the codes of a device; answers the response as it is. */
export const askForCodes = (node: string, { clientId }: Pick<Application, "clientId">, more: object = {}) =>
  post(node, "/oauth/device", { client_id: clientId, scope: "openid offline_access", ...more });

/** The codes of a device. */
export type Codes = { readonly device_code: string; readonly user_code: string; readonly verification_uri: string };

/** Begins a sign-in on a device. */
export async function beginDevice(node: string, app: Application, more: object = {}): Promise<Codes> {
  const { status, body } = await askForCodes(node, app, more);
  expect([status, body]).toEqual([200, expect.objectContaining({ user_code: expect.any(String) })]);
  return body;
}

/** Asks for the tokens of a device. */
export const poll = (
  node: string,
  { clientId }: Pick<Application, "clientId">,
  { device_code, headers = {} }: Pick<Codes, "device_code"> & { readonly headers?: Readonly<Record<string, string>> },
  more = {},
) => post(node, "/oauth/token", { grant_type: deviceGrantType, client_id: clientId, device_code, ...more }, headers);

/** Enters a code in a browser. */
export async function enterCode(node: string, user_code: string, browser = openBrowser(node)) {
  const page = await browser.open(`${node}/device`);
  return { browser, page: await browser.submit(page, { user_code }, "code") };
}

/** Enters a code and signs in, as far as the page that asks whether to sign the device in. */
export async function untilConfirmation(node: string, { user_code }: Codes, person: Person) {
  const { browser, page } = await enterCode(node, user_code);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('name="password"')]);
  const { username: login_name, password } = person;
  return { browser, page: await browser.submit(page, { login_name, password }) };
}

/** Signs a device in; answers the last page, and the browser. */
export async function approve(node: string, codes: Codes, person: Person) {
  const { browser, page } = await untilConfirmation(node, codes, person);
  return { browser, page: await browser.submit(page, {}, "continue") };
}

/** The status of a page, and its title. */
export const titleOf = ({ status, text }: Shown) => [status, /<h1>([^<]*)/.exec(text)?.[1]];

/** The status of an error page, and the name of the error. */
export const problemOf = ({ status, text }: Shown) => [status, /<code>([^<]*)/.exec(text)?.[1]];
