import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { withTotp } from "../../fixture/factors.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { type Application, authorizeUrl, basic, issuerOf, type Person, post, signIn } from "../application.ts";
import { openBrowser } from "../browser.ts";
import {
  approve,
  askForCodes,
  beginDevice,
  deviceApplication,
  deviceGrantType,
  enterCode,
  poll,
  problemOf,
  titleOf,
  untilConfirmation,
} from "../device_flow.ts";

let postern: Postern;
let issuer: string;
let app: Application;
let person: Person;
beforeAll(async () => {
  postern = await startPostern({ devicePollSeconds: 1 });
  issuer = issuerOf(postern);
  [app, person] = [await deviceApplication(postern.admin), await signedUp(postern)];
});
afterAll(() => postern?.[Symbol.asyncDispose]());

test("openid-client finds the endpoint, waits for the user, and gets tokens that refresh", async () => {
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const client = await oidc.discovery(new URL(issuer), app.clientId, undefined, oidc.None(), insecure);
  const codes = await oidc.initiateDeviceAuthorization(client, { scope: "openid profile offline_access" });
  expect(codes).toMatchObject({
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: `${issuer}/device`,
    verification_uri_complete: `${issuer}/device?user_code=${codes.user_code}`,
    expires_in: 600,
    interval: 1,
  });
  const [tokens, { page }] = await Promise.all([
    oidc.pollDeviceAuthorizationGrant(client, codes),
    approve(issuer, codes, person),
  ]);
  expect(titleOf(page)).toEqual([200, pageText("device_done", "en")]);
  expect(tokens.claims()).toMatchObject({ sub: person.userId, aud: app.clientId, amr: ["pwd"] });
  const info = await oidc.fetchUserInfo(client, tokens.access_token, person.userId);
  expect(info.preferred_username).toBe(person.username);
  const fresh = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? "");
  expect(fresh.claims()?.sub).toBe(person.userId);
});

test("a code in the URI is shown to be compared, and the device is signed in only after a page that names the application", async () => {
  const browser = openBrowser(issuer);
  await signIn(browser, authorizeUrl(issuer, await webApplication()), person);
  const codes = await beginDevice(issuer, app);
  const page = await browser.open(`${codes.verification_uri}?user_code=${codes.user_code}`);
  expect(titleOf(page)).toEqual([200, pageText("device_title", "en")]);
  expect(page.text).toContain(pageText("device_compare", "en"));
  expect(page.text).toContain(`value="${codes.user_code}"`);
  const confirmation = await browser.submit(page, { user_code: codes.user_code }, "code");
  const { body } = await postern.admin.get(`/v1/projects/${app.projectId}/applications/${app.appId}`);
  expect(titleOf(confirmation)).toEqual([
    200,
    pageText("device_confirm_title", "en", { application: body.application.name }),
  ]);
  expect(confirmation.text).toContain(`Your device shows the code ${codes.user_code}.`);
  expect(confirmation.text).toContain(pageText("continue_text", "en", { name: person.username }));
  expect((await poll(issuer, app, codes)).body.error).toBe("authorization_pending");
  await browser.submit(confirmation, {}, "continue");
  expect((await poll(issuer, app, codes)).status).toBe(200);
});

const webApplication = () =>
  deviceApplication(postern.admin, {
    grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
    appType: "OIDC_APP_TYPE_WEB",
    redirectUris: ["https://app.example/cb"],
  });

test.each([
  (code: string) => code.toLowerCase(),
  (code: string) => code.replace("-", ""),
  (code: string) => ` ${code.replace("-", " ")} `,
])("a code is known however it is typed", async (typed) => {
  const { user_code } = await beginDevice(issuer, app);
  expect(titleOf((await enterCode(issuer, typed(user_code))).page)).toEqual([200, pageText("sign_in", "en")]);
});

test("a user who cancels signs nothing in, and the device gets access_denied", async () => {
  const codes = await beginDevice(issuer, app);
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  expect(titleOf(await browser.submit(page, {}, "cancel"))).toEqual([200, pageText("device_not_signed_in", "en")]);
  expect(refusal(await poll(issuer, app, codes))).toEqual([400, "access_denied"]);
  expect(problemOf(await browser.submit(page, {}, "continue"))).toEqual([400, "device_over"]);
  expect(titleOf((await enterCode(issuer, codes.user_code)).page)).toEqual([400, pageText("device_title", "en")]);
});

const refusal = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

test("a user who may not use the application is shown so, and the device gets access_denied", async () => {
  const stranger = await signedUp(postern, { organizationId: await organization(postern) });
  const codes = await beginDevice(issuer, app);
  const { page } = await approve(issuer, codes, stranger);
  expect([page.status, page.text]).toEqual([
    403,
    expect.stringMatching(patternOf(pageText("device_not_permitted", "en"))),
  ]);
  expect(refusal(await poll(issuer, app, codes))).toEqual([400, "access_denied"]);
  const elsewhere = `openid urn:postern:organization:id:${await organization(postern)}`;
  const other = await beginDevice(issuer, app, { scope: elsewhere });
  expect((await approve(issuer, other, person)).page.status).toBe(403);
  expect(refusal(await poll(issuer, app, other))).toEqual([400, "access_denied"]);
});

test("another account than the one that is signed in can be chosen", async () => {
  const other = await signedUp(postern);
  const codes = await beginDevice(issuer, app);
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  const form = await browser.submit(page, {}, "other");
  const again = await browser.submit(form, { login_name: other.username, password: other.password });
  expect(again.text).toContain(pageText("continue_text", "en", { name: other.username }));
  await browser.submit(again, {}, "continue");
  const { access_token } = (await poll(issuer, app, codes)).body;
  const headers = { authorization: `Bearer ${access_token}` };
  expect(await (await fetch(`${issuer}/oauth/userinfo`, { headers })).json()).toMatchObject({ sub: other.userId });
});

test("the page asks for the code of a factor, and a wrong password leaves the device waiting", async () => {
  const careful = await withTotp(postern);
  const codes = await beginDevice(issuer, app);
  const { browser, page } = await enterCode(issuer, codes.user_code);
  const wrong = await browser.submit(page, { login_name: careful.username, password: "wrong" });
  expect(titleOf(wrong)).toEqual([401, pageText("sign_in", "en")]);
  const factor = await browser.submit(wrong, { login_name: careful.username, password: careful.password });
  expect(factor.text).toContain('autocomplete="one-time-code"');
  expect((await poll(issuer, app, codes)).body.error).toBe("authorization_pending");
  const confirmation = await browser.submit(factor, { code: careful.code(0) }, "factor");
  await browser.submit(confirmation, {}, "continue");
  const { id_token } = (await poll(issuer, app, codes)).body;
  const claims = JSON.parse(Buffer.from(id_token.split(".")[1], "base64url").toString());
  expect(claims).toMatchObject({ sub: careful.userId, amr: ["pwd", "otp", "mfa"] });
});

test("after its time a code is expired to the device, and unknown to the page", async () => {
  const codes = await beginDevice(issuer, app);
  const { browser, page } = await untilConfirmation(issuer, codes, person);
  await ask(postern.databaseUrl, "update device_codes set expiration_date = now() - interval '1 second'");
  expect(refusal(await poll(issuer, app, codes))).toEqual([400, "expired_token"]);
  expect(problemOf(await browser.submit(page, {}, "continue"))).toEqual([400, "device_over"]);
  expect((await enterCode(issuer, codes.user_code)).page.text).toContain(pageText("device_unknown", "en"));
  const approved = await beginDevice(issuer, app);
  await approve(issuer, approved, person);
  await ask(postern.databaseUrl, "update device_codes set expiration_date = now() - interval '1 second'");
  expect(refusal(await poll(issuer, app, approved))).toEqual([400, "expired_token"]);
});

test("a code counts at its own client alone, and only by the method that is registered", async () => {
  const secret = { authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC" };
  const [other, server] = [await deviceApplication(postern.admin), await deviceApplication(postern.admin, secret)];
  const codes = await beginDevice(issuer, app);
  expect(refusal(await poll(issuer, other, codes))).toEqual([400, "invalid_grant"]);
  await approve(issuer, codes, person);
  expect(refusal(await poll(issuer, other, codes))).toEqual([400, "invalid_grant"]);
  expect((await poll(issuer, app, codes)).status).toBe(200);
  expect(refusal(await askForCodes(issuer, server))).toEqual([401, "invalid_client"]);
  const { status, body } = await post(issuer, "/oauth/device", { scope: "openid" }, basic(server));
  expect(status).toBe(200);
  await approve(issuer, body, person);
  expect(refusal(await poll(issuer, server, body))).toEqual([401, "invalid_client"]);
  const form = { grant_type: deviceGrantType, device_code: body.device_code };
  expect((await post(issuer, "/oauth/token", form, basic(server))).status).toBe(200);
});

test("requests that are wrong are refused by their reason", async () => {
  const refused = async (more: object, of: Pick<Application, "clientId"> = app) =>
    refusal(await askForCodes(issuer, of, more));
  expect(await refused({}, { clientId: "nobody" })).toEqual([401, "invalid_client"]);
  expect(await refused({}, await webApplication())).toEqual([400, "unauthorized_client"]);
  expect(await refused({ scope: `openid ${"a".repeat(1_000)}` })).toEqual([400, "invalid_request"]);
  const two = "urn:postern:organization:id:a urn:postern:organization:id:b";
  expect(await refused({ scope: two })).toEqual([400, "invalid_scope"]);
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const twice = `client_id=${app.clientId}&scope=a&scope=b`;
  expect((await fetch(`${issuer}/oauth/device`, { method: "POST", body: twice, headers: type })).status).toBe(400);
  expect((await fetch(`${issuer}/oauth/device`)).status).toBe(405);
  const unknown = { device_code: "od_unknown", user_code: "", verification_uri: "" };
  expect(refusal(await poll(issuer, app, unknown))).toEqual([400, "invalid_grant"]);
  expect(refusal(await poll(issuer, app, { ...unknown, device_code: "" }))).toEqual([400, "invalid_request"]);
  expect(refusal(await poll(issuer, app, { ...unknown, device_code: "x".repeat(201) }))).toEqual([
    400,
    "invalid_request",
  ]);
  expect(refusal(await poll(issuer, await webApplication(), unknown))).toEqual([400, "unauthorized_client"]);
});

test("without offline_access, or without the grant type, there is no refresh token", async () => {
  const plain = await deviceApplication(postern.admin, { grantTypes: ["OIDC_GRANT_TYPE_DEVICE_CODE"] });
  for (const [of, scope] of [
    [app, "openid"],
    [plain, "openid offline_access"],
  ] as const) {
    const codes = await beginDevice(issuer, of, { scope });
    await approve(issuer, codes, person);
    const { status, body } = await poll(issuer, of, codes);
    expect([status, body.refresh_token]).toEqual([200, undefined]);
  }
});

test("neither code is in the database as it is", async () => {
  const codes = await beginDevice(issuer, app);
  const rows = JSON.stringify(await ask(postern.databaseUrl, "select d::text from device_codes d"));
  expect(rows).not.toContain(codes.device_code);
  expect(rows).not.toContain(codes.user_code);
  expect(rows).not.toContain(Buffer.from(codes.user_code).toString("hex"));
});
