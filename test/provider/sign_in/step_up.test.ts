import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { codeOf } from "../../fixture/authenticator.ts";
import { enrolPasskey, enrolTotp, keyFor, withTotp } from "../../fixture/factors.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  exchange,
  issuerOf,
  type Person,
  signIn,
} from "../application.ts";
import { openBrowser, type Shown, textIn } from "../browser.ts";
import { answerPasskey } from "../passkey_page.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const single = "urn:postern:acr:single-factor";
const multi = "urn:postern:acr:multi-factor";
const essential = (claim: object) => ({ claims: JSON.stringify({ id_token: { acr: { essential: true, ...claim } } }) });

/** The requests for more than one factor. */
const requests: Readonly<Record<string, Record<string, string>>> = {
  acr_values: { acr_values: multi },
  "an essential claim with a value": essential({ value: multi }),
  "an essential claim with values": essential({ values: ["other", multi] }),
};

/** A browser that is signed in by the password alone, and a URL of the authorization endpoint. */
async function signedIn(person: Pick<Person, "username" | "password">) {
  const browser = openBrowser(issuer);
  const back = await signIn(browser, authorizeUrl(issuer, app), person);
  expect(answerIn(back).code).toEqual(expect.any(String));
  const open = (more: Record<string, string>) => browser.open(authorizeUrl(issuer, app, more));
  return { browser, open };
}

const claimsOf = async ({ url }: Pick<Shown, "url">) =>
  decodeJwt((await exchange(issuer, app, answerIn({ url }).code ?? "")).body.id_token);
const errorOf = ({ url }: Pick<Shown, "url">) => answerIn({ url }).error;

test.each(Object.entries(requests))("a session of one factor is asked for another by %s", async (_name, request) => {
  const person = await signedUp(postern);
  const { browser, open } = await signedIn(person);
  const key = keyFor(postern);
  await enrolPasskey(person.client, key);
  expect(errorOf(await open({ ...request, prompt: "none" }))).toBe("login_required");
  expect((await claimsOf(await open({ prompt: "none" }))).acr).toBe(single);
  const asked = await open(request);
  expect([asked.status, asked.text]).toEqual([200, expect.not.stringContaining('name="password"')]);
  const claims = await claimsOf(await answerPasskey(browser, asked, key));
  expect(claims).toMatchObject({ sub: person.userId, acr: multi, amr: ["pwd", "hwk", "user", "mfa"] });
  expect((await claimsOf(await open({ ...request, prompt: "none" }))).acr).toBe(multi);
});

test("a code of an app does as well, and a wrong one does not", async () => {
  const person = await signedUp(postern);
  const { browser, open } = await signedIn(person);
  const { secret } = await enrolTotp(person.client);
  const asked = await open({ acr_values: multi });
  const wrong = await browser.submit(asked, { code: codeOf(secret) }, "factor");
  expect(wrong.status).toBe(401);
  const back = await browser.submit(wrong, { code: codeOf(secret, 1) }, "factor");
  expect((await claimsOf(back)).acr).toBe(multi);
});

test("a user without a factor enters the password and enrols one; silently there is no way", async () => {
  const person = await signedUp(postern);
  const { browser, open } = await signedIn(person);
  expect(errorOf(await open({ acr_values: multi, prompt: "none" }))).toBe("unmet_authentication_requirements");
  const page = await open({ acr_values: multi });
  expect(page.text).toContain('name="password"');
  const choice = await browser.submit(page, { login_name: person.username, password: person.password });
  expect(choice.text).toMatch(patternOf(pageText("enrol_needed", "en")));
  const shown = await browser.submit(choice, {}, "app");
  const secret = textIn(shown.text, /<code>([A-Z2-7 ]+)<\/code>/).replaceAll(" ", "");
  const added = await browser.submit(shown, { code: codeOf(secret) }, "confirm_app");
  expect(await claimsOf(await browser.submit(added, {}, "done"))).toMatchObject({ sub: person.userId, acr: multi });
});

test("where the policy allows no factor the requirement is not met", async () => {
  const organizationId = await organization(postern);
  const person = await signedUp(postern, { organizationId });
  const header = { "x-service-orgid": organizationId };
  await postern.admin.put("/v1/policies/factor", { policy: { requirement: "FACTOR_REQUIREMENT_OFF" } }, header);
  await postern.admin.post(`/v1/projects/${app.projectId}/grants`, { grantedOrganizationId: organizationId });
  const back = await signIn(openBrowser(issuer), authorizeUrl(issuer, app, { acr_values: multi }), person);
  expect(errorOf(back)).toBe("unmet_authentication_requirements");
});

test.each([
  ["acr_values with both classes", { acr_values: `${multi} ${single}` }],
  ["acr_values with others", { acr_values: "1 2" }],
  ["an essential acr without a value", essential({})],
  ["an essential acr of one factor", essential({ value: single })],
  ["a voluntary acr of others", { claims: '{"id_token":{"acr":{"value":"other"}}}' }],
  ["claims without acr", { claims: '{"id_token":{"acr":null},"userinfo":{"acr":{"value":1}}}' }],
])("%s takes a session of one factor", async (_name, request) => {
  const { open } = await signedIn(await signedUp(postern));
  expect((await claimsOf(await open({ ...request, prompt: "none" }))).acr).toBe(single);
});

test.each([
  ["an essential acr of others", essential({ value: "other" }), "unmet_authentication_requirements"],
  ["claims that are no JSON", { claims: "{" }, "invalid_request"],
  ["claims that are no object", { claims: "[]" }, "invalid_request"],
  ["claims that are too long", { claims: `{"a":"${"a".repeat(2_000)}"}` }, "invalid_request"],
  ["acr_values that are too long", { acr_values: "a".repeat(2_001) }, "invalid_request"],
])("%s is refused", async (_name, request, error) => {
  expect(errorOf(await openBrowser(issuer).open(authorizeUrl(issuer, app, request)))).toBe(error);
});

test("prompt login and max_age ask for password and factor again, and auth_time is that of the new sign-in", async () => {
  const person = await withTotp(postern);
  const browser = openBrowser(issuer);
  const first = await signIn(browser, authorizeUrl(issuer, app), person);
  const before = await claimsOf(await browser.submit(first, { code: person.code(0) }, "factor"));
  expect(before).toMatchObject({ acr: multi, amr: ["pwd", "otp", "mfa"] });
  for (const more of [{ prompt: "login" }, { max_age: "0" }]) {
    const page = await browser.open(authorizeUrl(issuer, app, more));
    expect(page.text).toContain('name="password"');
    const asked = await browser.submit(page, { login_name: person.username, password: person.password });
    expect(asked.text).toContain('name="code"');
  }
  const page = await browser.open(authorizeUrl(issuer, app, { prompt: "login" }));
  const asked = await browser.submit(page, { login_name: person.username, password: person.password });
  const after = await claimsOf(await browser.submit(asked, { code: person.code(1) }, "factor"));
  expect(after.auth_time).toBeGreaterThanOrEqual(before.auth_time as number);
  expect(after.sid).not.toBe(before.sid);
});

test("the classes that discovery names are those of ID tokens and JWTs", async () => {
  const description = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as object;
  expect(description).toMatchObject({ acr_values_supported: [single, multi] });
  const jwt = await application(postern.admin, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const person = await signedUp(postern);
  const back = await signIn(openBrowser(issuer), authorizeUrl(issuer, jwt), person);
  const { body } = await exchange(issuer, jwt, answerIn(back).code ?? "");
  for (const token of [body.access_token, body.id_token])
    expect(decodeJwt(token)).toMatchObject({ acr: single, amr: ["pwd"] });
});
