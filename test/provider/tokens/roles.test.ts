import { decodeJwt, type JWTPayload } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { openProbe } from "../../probe.ts";
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
} from "../application.ts";
import type { Browser } from "../browser.ts";

const [organizations, roles] = [1_000, 300];
const all = "urn:postern:project:roles";
const omitted = "urn:postern:omitted_claims";
const bye = "https://app.example/bye";
const longState = "s".repeat(1_500);

let postern: Postern;
let issuer: string;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** An application whose project gives the person a role in its own organization, and in 1,000 others. */
async function widelyGranted(settings: Readonly<Record<string, unknown>>) {
  const app = await application(postern.admin, {
    ...{ accessTokenRoleAssertion: true, idTokenRoleAssertion: true, postLogoutRedirectUris: [bye] },
    ...{ accessTokenType: "OIDC_TOKEN_TYPE_JWT", ...settings },
  });
  await postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key: "editor", displayName: "Editor" });
  const { body } = await postern.admin.post(`/v1/users/${person.userId}/grants`, {
    ...{ projectId: app.projectId, roleKeys: ["editor"] },
  });
  expect(body.userGrantId).toEqual(expect.any(String));
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`
    insert into organizations (organization_id, name, version, created, changed)
    select 'organization' || n, 'Organization ' || n, 1, now(), now() from generate_series(1, ${organizations}::int) n
    on conflict do nothing`;
  await probe.sql`
    insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
    select 'organization' || n, 'wide' || n || ${app.projectId}::text, ${person.userId}, ${app.projectId}, 1, now(), now()
    from generate_series(1, ${organizations}::int) n`;
  await probe.sql`
    insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
    select owner, user_grant_id, project_id, 'editor' from user_grants
    where project_id = ${app.projectId} and user_grant_id like 'wide%'`;
  return app;
}

type Tokens = { readonly browser: Browser; readonly id: string; readonly access: string };

async function tokensOf(app: Application, scope = "openid", more: Record<string, string> = {}): Promise<Tokens> {
  const { browser, code } = await codeFor(issuer, app, person, { scope, ...more });
  const { body } = await exchange(issuer, app, code);
  return { browser, id: body.id_token, access: body.access_token };
}

const claimsOf = ({ id, access }: Tokens): readonly JWTPayload[] => [decodeJwt(id), decodeJwt(access)];

async function userinfoOf({ access }: Tokens) {
  const response = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${access}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const introspected = ({ access }: Tokens, app: Application) =>
  post(issuer, "/oauth/introspect", { token: access }, basic(app));

/** Tries that whatever takes a token of ours takes these. */
async function expectTaken(tokens: Tokens, app: Application) {
  const { browser, id, access } = tokens;
  expect((await userinfoOf(tokens)).status).toBe(200);
  expect((await introspected(tokens, app)).body.active).toBe(true);
  const asks = authorizeUrl(issuer, app, { id_token_hint: id, prompt: "none", state: longState });
  expect(answerIn(await browser.open(asks))).toEqual(expect.objectContaining({ code: expect.any(String) }));
  const form = new URLSearchParams(new URL(asks).search);
  const posted = await browser.send(`${issuer}/oauth/authorize`, { method: "POST", body: form });
  const back = await browser.open(issuer + posted.headers.get("location"));
  expect(answerIn(back)).toEqual(expect.objectContaining({ code: expect.any(String) }));
  const page = await browser.open(authorizeUrl(issuer, app, { id_token_hint: id, prompt: "login", state: longState }));
  const again = await browser.submit(page, { login_name: person.username, password: person.password });
  expect(answerIn(again)).toEqual(expect.objectContaining({ code: expect.any(String) }));
  expect((await post(issuer, "/oauth/revoke", { token: access }, basic(app))).status).toBe(200);
  expect((await introspected(tokens, app)).body).toEqual({ active: false });
  const end = { id_token_hint: id, post_logout_redirect_uri: bye, state: longState };
  const asked = await browser.open(`${issuer}/oauth/end-session?${new URLSearchParams(end)}`);
  const left = await browser.submit(asked, {}, "sign_out");
  expect([left.status, left.url]).toEqual([200, `${bye}?state=${longState}`]);
  const ended = await browser.send(`${issuer}/oauth/end-session`, { method: "POST", body: new URLSearchParams(end) });
  expect((await browser.open(issuer + ended.headers.get("location"))).url).toBe(`${bye}?state=${longState}`);
}

test("tokens name the roles of the organization signed in for, whatever 1,000 others grant", async () => {
  const app = await widelyGranted({});
  const tokens = await tokensOf(app);
  for (const claims of [...claimsOf(tokens), (await userinfoOf(tokens)).body, (await introspected(tokens, app)).body]) {
    expect(claims).toMatchObject({ roles: ["editor"] });
    expect(claims).not.toHaveProperty([all]);
    expect(claims).not.toHaveProperty([omitted]);
  }
  const scope = "openid urn:postern:organization:id:organization7";
  const elsewhere = await tokensOf(app, scope);
  expect(decodeJwt(elsewhere.id)).toMatchObject({ roles: ["editor"], "urn:postern:organization:id": "organization7" });
  await expectTaken(tokens, app);
});

test("the roles of all organizations come by their scope: in a token while there is room, else from userinfo", async () => {
  const app = await widelyGranted({});
  const tokens = await tokensOf(app, `openid ${all}`);
  for (const claims of claimsOf(tokens)) {
    expect(claims).toMatchObject({ roles: ["editor"], [omitted]: [all] });
    expect(claims).not.toHaveProperty([all]);
  }
  for (const { body } of [await userinfoOf(tokens), await introspected(tokens, app)]) {
    expect(Object.keys(body[all] as object).length).toBe(organizations + 1);
    expect(body[all]).toMatchObject({ organization7: ["editor"], [postern.organizationId]: ["editor"] });
    expect(body).not.toHaveProperty([omitted]);
  }
  await expectTaken(tokens, app);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`delete from user_grants where project_id = ${app.projectId} and owner > 'organization2'
    and owner like 'organization%'`;
  for (const claims of claimsOf(await tokensOf(app, `openid ${all}`))) {
    expect(Object.keys(claims[all] as object)).toContain("organization2");
    expect(claims).not.toHaveProperty([omitted]);
  }
});

test("a token keeps its length whatever it is asked for: what it has no room for is named, and userinfo has it", async () => {
  const app = await widelyGranted({ idTokenUserinfoAssertion: true });
  const long = (letter: string) => letter.repeat(200);
  for (let n = 0; n < roles; n++)
    await postern.admin.post(`/v1/projects/${app.projectId}/roles`, {
      key: `role-${n}-${"r".repeat(30)}`,
      displayName: "R",
    });
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`
    insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
    select g.owner, g.user_grant_id, g.project_id, r.role_key from user_grants g join project_roles r using (project_id)
    where g.project_id = ${app.projectId} and g.owner = ${postern.organizationId} and r.role_key <> 'editor'`;
  await probe.sql`update users set given_name = ${long("𝒜")}, family_name = ${long("𝒷")} where user_id = ${person.userId}`;
  const scope = `openid profile email phone address ${all}`;
  const tokens = await tokensOf(app, scope, { nonce: "\u0001".repeat(500) });
  const [id, access] = claimsOf(tokens);
  expect(id?.[omitted]).toEqual(expect.arrayContaining(["family_name", "roles", all]));
  expect(access?.[omitted]).toEqual(["roles", all]);
  for (const token of [tokens.id, tokens.access]) expect(token.length).toBeLessThanOrEqual(9_000);
  const { body } = await userinfoOf(tokens);
  expect([(body.roles as string[]).length, Object.keys(body[all] as object).length]).toEqual([
    roles + 1,
    organizations + 1,
  ]);
  expect(body.name).toBe(`${long("𝒜")} ${long("𝒷")}`);
  await expectTaken(tokens, app);
});
