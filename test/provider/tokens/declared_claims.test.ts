import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { foreignApplication, refreshing } from "../../fixture/connection.ts";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn,
} from "../application.ts";
import { openBrowser } from "../browser.ts";
import { approve, beginDevice, deviceSettings, poll } from "../device_flow.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const omitted = "urn:postern:omitted_claims";
const [ID_TOKEN, ACCESS_TOKEN, USERINFO] = ["CLAIM_PLACE_ID_TOKEN", "CLAIM_PLACE_ACCESS_TOKEN", "CLAIM_PLACE_USERINFO"];
const everywhere = [ID_TOKEN, ACCESS_TOKEN, USERINFO];
const jwt = { accessTokenType: "OIDC_TOKEN_TYPE_JWT" };

type Entry = { readonly key: string; readonly value?: string | null; readonly shared?: boolean };

async function note(noun: "users" | "organizations", id: string, entries: readonly Entry[]): Promise<void> {
  const { status, body } = await postern.admin.call("PATCH", `/v1/${noun}/${id}/metadata`, { entries });
  expect([status, body]).toEqual([200, expect.anything()]);
}

/** Gives a person roles in the project of an application. */
async function grant(
  app: Application,
  person: Person,
  roleKeys: readonly string[],
  headers: Record<string, string> = {},
) {
  for (const key of roleKeys) await postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key }, headers);
  const { status, body } = await postern.admin.post(
    `/v1/users/${person.userId}/grants`,
    { projectId: app.projectId, roleKeys },
    headers,
  );
  expect([status, body]).toEqual([200, expect.anything()]);
}

type Tokens = { readonly access_token: string; readonly id_token?: string; readonly refresh_token?: string };

/** What the names of claims are in ID token, access token, userinfo and introspection. */
async function seen(app: Application, tokens: Tokens, names: readonly string[]) {
  const pick = (claims: object) =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => names.includes(name) || name === omitted));
  const authorization = `Bearer ${tokens.access_token}`;
  const info = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization } });
  const told = await post(issuer, "/oauth/introspect", { token: tokens.access_token }, basic(app));
  const isJwt = tokens.access_token.includes(".");
  return {
    id: tokens.id_token ? pick(decodeJwt(tokens.id_token)) : undefined,
    access: isJwt ? pick(decodeJwt(tokens.access_token)) : undefined,
    info: pick((await info.json()) as object),
    told: pick(told.body),
  };
}

const signedIn = async (app: Application, person: Person, scope = "openid"): Promise<Tokens> =>
  (await exchange(issuer, app, (await codeFor(issuer, app, person, { scope })).code)).body;

const declaredClaims = [
  { name: "https://shop.example/department", userMetadata: "department", places: [ID_TOKEN] },
  { name: "plan", organizationMetadata: "plan", places: [ACCESS_TOKEN] },
  { name: "groups", roles: {}, places: [USERINFO, ID_TOKEN] },
  { name: "is_editor", role: "editor", places: everywhere },
  { name: "is_owner", role: "owner", places: everywhere },
  { name: "nothing", userMetadata: "constructor", places: everywhere },
  { name: "odd", userMetadata: "__proto__", places: [USERINFO] },
];
const names = declaredClaims.map(({ name }) => name);

test("declared claims stand where the application wants them, on every way to a token, and a refresh reads them anew", async () => {
  const own = await organization(postern);
  const inside = { "x-service-orgid": own };
  const app = await application(postern.admin, { ...refreshing, ...jwt, declaredClaims }, inside);
  const person = await signedUp(postern, { organizationId: own });
  await grant(app, person, ["editor", "viewer"], inside);
  await note("users", person.userId, [
    { key: "department", value: "Forschung & <Entwicklung>" },
    { key: "__proto__", value: "x" },
  ]);
  await note("organizations", own, [{ key: "plan", value: "gold" }]);

  const roles = { groups: ["editor", "viewer"] };
  const flags = { is_editor: true, is_owner: false };
  const all = {
    id: { "https://shop.example/department": "Forschung & <Entwicklung>", ...roles, ...flags },
    access: { plan: "gold", ...flags },
    info: { ...roles, ...flags, odd: "x" },
    told: { plan: "gold", ...flags },
  };
  const tokens = await signedIn(app, person, "openid offline_access");
  expect(await seen(app, tokens, names)).toEqual(all);

  await note("users", person.userId, [{ key: "department", value: "Sales" }]);
  await note("organizations", own, [{ key: "plan" }]);
  const form = { grant_type: "refresh_token", refresh_token: tokens.refresh_token ?? "" };
  const { body: refreshed } = await post(issuer, "/oauth/token", form, basic(app));
  const later = {
    ...{ id: { ...all.id, "https://shop.example/department": "Sales" }, access: flags },
    ...{ info: all.info, told: flags },
  };
  expect(await seen(app, refreshed, names)).toEqual(later);
  // Whoever only looks at the signature goes on with the old value until the token expires.
  expect(decodeJwt(tokens.access_token)).toMatchObject({ plan: "gold" });

  const opaque = await application(postern.admin, { declaredClaims }, inside);
  await grant(opaque, person, ["editor", "viewer"], inside);
  expect(await seen(opaque, await signedIn(opaque, person), names)).toEqual({ ...later, access: undefined });

  const implicit = { responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN"], declaredClaims };
  const browserApp = await application(postern.admin, implicit, inside);
  const browser = openBrowser(issuer);
  const shown = await signIn(browser, authorizeUrl(issuer, browserApp, { response_type: "id_token" }), person);
  const idToken = new URLSearchParams(new URL(shown.url).hash.slice(1)).get("id_token") ?? "";
  expect(decodeJwt(idToken)).toMatchObject({ "https://shop.example/department": "Sales", is_editor: false });

  const device = await application(postern.admin, { ...deviceSettings, ...jwt, declaredClaims }, inside);
  const codes = await beginDevice(issuer, device);
  await approve(issuer, codes, person);
  const { body } = await poll(issuer, device, codes);
  expect(decodeJwt(body.id_token)).toMatchObject({ "https://shop.example/department": "Sales", groups: [] });
  expect(decodeJwt(body.access_token)).toMatchObject({ is_editor: false });
});

test("another organization's application sees only what is shared, and the user is told", async () => {
  const [customer, tenant] = [await organization(postern), await organization(postern)];
  const claims = [
    { name: "department", userMetadata: "department", places: everywhere },
    { name: "plan", organizationMetadata: "plan", places: everywhere },
    { name: "is_editor", role: "editor", places: everywhere },
  ];
  const wanted = claims.map(({ name }) => name);
  const app = await foreignApplication(postern, customer, { ...jwt, owner: tenant, declaredClaims: claims });
  const person = await signedUp(postern, { organizationId: customer });
  await note("users", person.userId, [{ key: "department", value: "Sales" }]);
  await note("organizations", customer, [{ key: "plan", value: "gold" }]);
  // What the application's own organization has under that key is nobody else's.
  await note("organizations", tenant, [{ key: "plan", value: "secret" }]);

  const browser = openBrowser(issuer);
  const asked = await signIn(browser, authorizeUrl(issuer, app), person);
  for (const scope of ["scope_metadata", "scope_roles"] as const)
    expect(asked.text).toContain(`<li>${pageText(scope, "en")}</li>`);
  const { code = "" } = answerIn(await browser.submit(asked, {}, "allow"));
  const { body } = await exchange(issuer, app, code);
  const nothing = { is_editor: false };
  expect(await seen(app, body, wanted)).toEqual({ id: nothing, access: nothing, info: nothing, told: nothing });

  await note("users", person.userId, [{ key: "department", value: "Sales", shared: true }]);
  const some = { ...nothing, department: "Sales" };
  expect(await seen(app, body, wanted)).toMatchObject({ info: some, told: some });
  await note("organizations", customer, [{ key: "plan", value: "gold", shared: true }]);
  const silent = answerIn(await browser.open(authorizeUrl(issuer, app, { prompt: "none" })));
  const both = { ...some, plan: "gold" };
  const again = (await exchange(issuer, app, silent.code ?? "")).body;
  expect(await seen(app, again, wanted)).toEqual({ id: both, access: both, info: both, told: both });
  await note("users", person.userId, [{ key: "department", value: "Sales" }]);
  await note("organizations", customer, [{ key: "plan" }]);
  expect(await seen(app, again, wanted)).toMatchObject({ info: nothing, told: nothing });

  // A first-party application is the instance's.
  const ours = await foreignApplication(postern, customer, { firstParty: true, declaredClaims: claims });
  expect((await seen(ours, await signedIn(ours, person), wanted)).info).toEqual(some);
});

test("a user of one organization who signs in for another one has that one's metadata, and their own roles there", async () => {
  const [own, other] = [await organization(postern), await organization(postern)];
  const claims = [
    { name: "plan", organizationMetadata: "plan", places: [USERINFO] },
    { name: "groups", roles: {}, places: [USERINFO] },
  ];
  const inside = { "x-service-orgid": other };
  const app = await application(postern.admin, { declaredClaims: claims }, inside);
  const person = await signedUp(postern, { organizationId: own });
  await grant(app, person, ["editor"], inside);
  await note("organizations", own, [{ key: "plan", value: "bronze", shared: true }]);
  await note("organizations", other, [{ key: "plan", value: "gold" }]);
  const infoFor = async (scope: string) => {
    const browser = openBrowser(issuer);
    // With the prompt, it is asked each time, whatever was allowed before.
    const asked = await signIn(browser, authorizeUrl(issuer, app, { scope, prompt: "consent" }), person);
    const { code = "" } = answerIn(await browser.submit(asked, {}, "allow"));
    return (await seen(app, (await exchange(issuer, app, code)).body, ["plan", "groups"])).info;
  };
  expect(await infoFor(`openid urn:postern:organization:id:${other}`)).toEqual({ plan: "gold", groups: ["editor"] });
  expect(await infoFor("openid")).toEqual({ plan: "bronze", groups: [] });
});

test("what has no room is left out of a token and listed, and userinfo has it", async () => {
  const person = await signedUp(postern);
  const keys = Array.from({ length: 20 }, (_, n) => ({ key: `note${n}`, value: "ü".repeat(300) }));
  await note("users", person.userId, keys);
  const declared = keys.map(({ key }) => ({ name: `${key}${"x".repeat(90)}`, userMetadata: key, places: everywhere }));
  const app = await application(postern.admin, { ...jwt, declaredClaims: declared });
  const wanted = declared.map(({ name }) => name);
  const tokens = await signedIn(app, person);
  const { id, access, info, told } = await seen(app, tokens, wanted);
  for (const claims of [id ?? {}, access ?? {}]) {
    const left = claims[omitted] as string[];
    expect(left.length).toBeGreaterThan(10);
    expect([...Object.keys(claims).filter((name) => name !== omitted), ...left].sort()).toEqual([...wanted].sort());
  }
  for (const token of [tokens.access_token, tokens.id_token ?? ""]) expect(token.length).toBeLessThan(9_000);
  for (const claims of [info, told]) expect(Object.keys(claims).sort()).toEqual([...wanted].sort());
});

type Detail = { readonly fieldViolations?: readonly { readonly field: string }[] };

const path = ({ projectId, appId }: Application) => `/v1/projects/${projectId}/applications/${appId}/oidc`;

test("names that are registered, ours, odd or used twice are refused, each by its field, when creating and updating", async () => {
  const app = await application(postern.admin);
  const update = (claims: readonly object[]) => postern.admin.call("PATCH", path(app), { declaredClaims: claims });
  const fieldsOf = ({ status, body }: Awaited<ReturnType<typeof update>>) => {
    const fields = body.details.flatMap(({ fieldViolations = [] }: Detail) =>
      fieldViolations.map(({ field }) => field),
    );
    return [status, ...new Set(fields)];
  };
  const of = (name: string) => ({ name, userMetadata: "department", places: [ID_TOKEN] });
  const reserved = [
    ...[
      "iss",
      "ISS",
      "Sub",
      "aud",
      "exp",
      "nonce",
      "acr",
      "amr",
      "azp",
      "scope",
      "roles",
      "Roles",
      "client_id",
      "jti",
      "sid",
    ],
    ...["email", "email_verified", "preferred_username", "active", "username", "act", "cnf", "_claim_sources"],
    ...["urn:postern:organization:id", "URN:Postern:project:roles", "urn:postern:anything", "__proto__", "constructor"],
  ];
  for (const name of reserved)
    expect([name, fieldsOf(await update([of(name)]))]).toEqual([name, [400, "application.declaredClaims[0].name"]]);
  for (const name of ["", "ѕub", "sub ", "s\u200bub", "sub\u0000", "ｓｕｂ", "a b", "x".repeat(101)])
    expect([name, fieldsOf(await update([of(name)]))]).toEqual([name, [400, "application.declaredClaims[0].name"]]);
  expect(fieldsOf(await update([of("dept"), of("other"), of("DEPT")]))).toEqual([
    400,
    "application.declaredClaims[2].name",
  ]);
  expect(fieldsOf(await update([{ name: "dept", places: [ID_TOKEN] }]))).toEqual([
    400,
    "application.declaredClaims[0]",
  ]);
  expect(fieldsOf(await update([{ name: "dept", userMetadata: "x" }]))).toEqual([
    400,
    "application.declaredClaims[0].places",
  ]);
  for (const places of [[ID_TOKEN, ID_TOKEN], ["CLAIM_PLACE_UNSPECIFIED"]])
    expect((await update([{ ...of("dept"), places }])).status).toBe(400);
  expect((await update([{ ...of("dept"), role: "editor" }])).status).toBe(400);
  expect(fieldsOf(await update([{ ...of("dept"), userMetadata: "a b" }]))).toEqual([
    400,
    "application.declaredClaims[0].userMetadata",
  ]);
  expect(fieldsOf(await update(Array.from({ length: 21 }, (_, n) => of(`claim${n}`))))).toEqual([
    400,
    "application.declaredClaims",
  ]);
  expect((await update(Array.from({ length: 10_000 }, (_, n) => of(`claim${n}`)))).status).toBeGreaterThanOrEqual(400);
  const created = await postern.admin.post(`/v1/projects/${app.projectId}/applications/oidc`, {
    ...{ name: "Other", redirectUris: ["https://app.example/cb"], declaredClaims: [of("nonce")] },
  });
  expect(fieldsOf(created)).toEqual([400, "declaredClaims[0].name"]);
  const shown = async () =>
    (await postern.admin.get(path(app).replace(/\/oidc$/, ""))).body.application.oidc.declaredClaims;
  expect(await shown()).toEqual([]);
  expect((await update([of("dept")])).status).toBe(200);
  expect(await shown()).toEqual([of("dept")]);
  expect((await update([])).status).toBe(200);
  expect(await shown()).toEqual([]);
});

test("whoever may not write applications declares no claims, and a user who is erased is in none", async () => {
  const own = await organization(postern);
  const inside = { "x-service-orgid": own };
  const claims = [{ name: "department", userMetadata: "department", places: everywhere }];
  const app = await application(postern.admin, { declaredClaims: claims }, inside);
  const person = await signedUp(postern, { organizationId: own });
  await postern.admin.post("/v1/members", { userId: person.userId, roles: ["ORG_USER_MANAGER"] }, inside);
  expect((await person.client.call("PATCH", path(app), { declaredClaims: [] })).status).toBe(403);
  await note("users", person.userId, [{ key: "department", value: "Sales" }]);
  const tokens = await signedIn(app, person);
  expect((await seen(app, tokens, ["department"])).info).toEqual({ department: "Sales" });
  expect((await postern.admin.delete(`/v1/users/${person.userId}`)).status).toBe(200);
  expect(await seen(app, tokens, ["department"])).toMatchObject({ info: {}, told: {} });
});
