import { afterAll, beforeAll, expect, test } from "vitest";
import { ExplanationService } from "../../../gen/postern/v1/explanation_pb.ts";
import { everyRow } from "../../fixture/person.ts";
import { type Client, machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { openHandlers } from "../../sent_statements.ts";
import { type Application, application } from "../application.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

async function done(answer: ReturnType<Client["post"]>) {
  const { status, body } = await answer;
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

/** A machine with roles on an object. */
async function holder(on: Readonly<Record<string, unknown>>, organizationId: string): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  await done(postern.admin.post("/v1/members", { userId, ...on }, inside(organizationId)));
  return client;
}

type Question = {
  readonly by?: Client;
  readonly userId: string;
  readonly organizationId?: string;
  readonly owner?: string;
};

async function explained(app: Application, { by = postern.admin, userId, organizationId = "", owner }: Question) {
  const query = new URLSearchParams({ user_id: userId, organization_id: organizationId, scopes: "openid" });
  const path = `/v1/projects/${app.projectId}/applications/${app.appId}:explainSignIn?${query}`;
  return done(by.get(path, inside(owner ?? postern.organizationId)));
}

type Step = { readonly check: string; readonly outcome: string; readonly reason: string; readonly object?: object };

/** The checks of an explanation that did not simply pass, without the prefixes of their names. */
const noteworthy = ({ steps }: { readonly steps: readonly Step[] }) =>
  steps
    .map(({ check, outcome, reason }) => [check, outcome, reason].map((name) => name.replace(/^SIGN_IN_[A-Z]+_/, "")))
    .filter(([, outcome]) => outcome !== "PASSED")
    .map((names) => names.join(" "));

/** An application of an organization of its own, whose project needs a grant and has a role. */
async function strictApplication(owner: string, settings: Readonly<Record<string, unknown>> = {}) {
  const app = await application(postern.admin, settings, inside(owner));
  await done(postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key: "editor" }, inside(owner)));
  const strict = { grantRequired: true };
  await done(postern.admin.call("PATCH", `/v1/projects/${app.projectId}`, strict, inside(owner)));
  return app;
}

const granted = async (app: Application, userId: string, owner: string, more = {}): Promise<string> => {
  const wanted = { projectId: app.projectId, roleKeys: ["editor"], ...more };
  return (await done(postern.admin.post(`/v1/users/${userId}/grants`, wanted, inside(owner)))).userGrantId;
};

test("each no names its reason and the object to change", async () => {
  const owner = await organization(postern);
  const app = await strictApplication(owner);
  const { userId } = await signedUp(postern, { organizationId: owner });
  const without = await explained(app, { userId, owner });
  expect([without.maySignIn, noteworthy(without)]).toEqual([
    false,
    ["FIRST_STEP ASKED PASSWORD", "ACCESS REFUSED GRANT_REQUIRED"],
  ]);
  const id = await granted(app, userId, owner);
  expect((await explained(app, { userId, owner })).maySignIn).toBe(true);
  await done(postern.admin.post(`/v1/user-grants/${id}:deactivate`, {}, inside(owner)));
  await done(postern.admin.post(`/v1/users/${userId}:deactivate`));
  const { maySignIn, steps, grants, idToken } = await explained(app, { userId, owner });
  expect([maySignIn, noteworthy({ steps }), idToken]).toEqual([
    false,
    ["USER REFUSED USER_INACTIVE", "ACCESS REFUSED GRANT_NOT_IN_EFFECT"],
    [],
  ]);
  const object = { kind: "EXPLAINED_KIND_USER_GRANT", id, organizationId: owner };
  expect(steps.at(-2)).toMatchObject({ check: "SIGN_IN_CHECK_ACCESS", object });
  expect(grants).toMatchObject([{ userGrantId: id, roleKeys: ["editor"], problem: "GRANT_PROBLEM_INACTIVE", object }]);
});

test("without user.read one learns about grants alone, and as much about a user who does not exist", async () => {
  const [owner, elsewhere] = [await organization(postern), await organization(postern)];
  const app = await strictApplication(owner);
  const by = await holder({ roles: ["PROJECT_OWNER"], projectId: app.projectId }, owner);
  const [inOwner, foreign] = [
    await signedUp(postern, { organizationId: owner }),
    await signedUp(postern, { organizationId: elsewhere }),
  ];
  const nobody = await explained(app, { by, userId: "nobody", owner });
  expect([nobody.limited, nobody.maySignIn, nobody.grants, noteworthy(nobody)]).toEqual([
    true,
    undefined,
    [],
    ["USER UNKNOWN UNSPECIFIED", "ACCESS UNKNOWN UNSPECIFIED"],
  ]);
  for (const { userId } of [inOwner, foreign]) expect(await explained(app, { by, userId, owner })).toEqual(nobody);
  const grant = await granted(app, foreign.userId, owner);
  const known = await explained(app, { by, userId: foreign.userId, owner });
  expect([known.maySignIn, known.idToken, known.userinfo]).toEqual([undefined, [], []]);
  expect(known.grants).toMatchObject([{ userGrantId: grant, roleKeys: ["editor"] }]);
  const reader = await holder({ roles: ["ORG_VIEWER"] }, owner);
  expect((await explained(app, { by: reader, userId: inOwner.userId, owner })).limited).toBe(false);
  expect((await explained(app, { by: reader, userId: foreign.userId, owner })).limited).toBe(true);
});

test("without user.read one learns nothing about grants of other organizations, nor of any without user.grant.read", async () => {
  const [owner, tenant] = [await organization(postern), await organization(postern)];
  const app = await strictApplication(owner);
  const lent = { grantedOrganizationId: tenant, roleKeys: ["editor"] };
  const path = `/v1/projects/${app.projectId}/grants`;
  const { projectGrantId } = await done(postern.admin.post(path, lent, inside(owner)));
  const { userId } = await signedUp(postern, { organizationId: tenant });
  await granted(app, userId, tenant, { projectGrantId });
  const viewer = await holder({ roles: ["ORG_VIEWER"] }, owner);
  const about = (by: Client, id: string) => explained(app, { by, userId: id, owner });
  expect(await about(viewer, userId)).toEqual(await about(viewer, "nobody"));
  const robot = await machine(postern, { organizationId: owner });
  await done(postern.admin.post("/v1/members", { userId: robot.userId, roles: ["ORG_VIEWER"] }, inside(owner)));
  const permissions = ["app.read"];
  const { token } = await done(postern.admin.post(`/v1/users/${robot.userId}/tokens`, { permissions }));
  const colleague = await signedUp(postern, { organizationId: owner });
  await granted(app, colleague.userId, owner);
  expect(await about(postern.as(token), colleague.userId)).toEqual(await about(postern.as(token), "nobody"));
  const api = await done(
    postern.admin.post(`/v1/projects/${app.projectId}/applications/api`, { name: "API" }, inside(owner)),
  );
  const ofApi = { ...app, appId: api.appId };
  for (const id of [userId, "nobody"])
    expect(await explained(ofApi, { by: viewer, userId: id, owner })).toMatchObject({ grants: [], limited: true });
});

test("who may only ask for decisions learns them without the grants, which their readers and the user see", async () => {
  const [owner, partner] = [await organization(postern), await organization(postern)];
  const app = await strictApplication(owner);
  const projectGrant = { projectId: app.projectId, grantedOrganizationId: partner, roleKeys: ["editor"] };
  const path = `/v1/projects/${app.projectId}/grants`;
  const { projectGrantId } = await done(postern.admin.post(path, projectGrant, inside(owner)));
  const person = await signedUp(postern, { organizationId: partner });
  const { userId } = person;
  await granted(app, userId, owner);
  await granted(app, userId, partner, { projectGrantId });
  const decided = async (by: Client) => {
    const question = `/v1/projects/${app.projectId}/users/${userId}:explainDecision?role_key=editor`;
    const { decision, grants } = await done(by.get(question, inside(owner)));
    return [decision, grants.map((grant: { organizationId: string }) => grant.organizationId).sort()];
  };
  const evaluator = await holder({ roles: ["PROJECT_EVALUATOR"], projectId: app.projectId }, owner);
  const reader = await holder({ roles: ["PROJECT_VIEWER"], projectId: app.projectId }, owner);
  expect(await decided(evaluator)).toEqual([true, []]);
  expect(await decided(reader)).toEqual([true, [owner]]);
  expect(await decided(person.client)).toEqual([true, [owner, partner].sort()]);
  expect(await decided(postern.admin)).toEqual([true, [owner, partner].sort()]);
});

test("a caller who may not read a user costs as many statements as about nobody", async () => {
  const owner = await organization(postern);
  const app = await strictApplication(owner);
  const { userId } = await signedUp(postern, { organizationId: await organization(postern) });
  await using handlers = openHandlers(postern);
  const statementsAbout = async (about: string) => {
    handlers.heard();
    const request = { projectId: app.projectId, appId: app.appId, userId: about, scopes: ["openid"] };
    await handlers.run(ExplanationService.method.explainSignIn, { request, userId: "caller", organizationId: owner });
    return handlers.heard();
  };
  const [known, unknown] = [await statementsAbout(userId), await statementsAbout("nobody")];
  expect(known).toHaveLength(1);
  expect(known).toEqual(unknown);
});

test("an explanation writes nothing, and shows no secret", async () => {
  const owner = await organization(postern);
  const app = await application(postern.admin, {}, inside(owner));
  const { userId } = await signedUp(postern, { organizationId: owner });
  await explained(app, { userId, owner });
  const rows = async () =>
    (await everyRow(postern.databaseUrl))
      .filter(({ table }) =>
        /event|session|sign_on|consent|password|failure|attempt|mail|factor|^users|code/.test(table),
      )
      .map(({ table, row }) => `${table} ${row}`)
      .sort();
  const before = await rows();
  const answer = JSON.stringify(await explained(app, { userId, owner }));
  expect(await rows()).toEqual(before);
  const secrets = before.join("\n").match(/\$argon2[^"]+|\\\\x[0-9a-f]{64}/g) ?? [];
  expect(secrets.length).toBeGreaterThan(0);
  expect([...secrets, app.clientSecret].filter((secret) => answer.includes(secret))).toEqual([]);
});

test("metadata of an organization is shown to those who may read it there", async () => {
  const [owner, tenant] = [await organization(postern), await organization(postern)];
  const declaredClaims = [{ name: "tier", organizationMetadata: "tier", places: ["CLAIM_PLACE_ID_TOKEN"] }];
  const app = await strictApplication(owner, { firstParty: true, declaredClaims });
  const lent = { grantedOrganizationId: tenant, roleKeys: ["editor"] };
  const path = `/v1/projects/${app.projectId}/grants`;
  const { projectGrantId } = await done(postern.admin.post(path, lent, inside(owner)));
  const { userId } = await signedUp(postern, { organizationId: owner });
  await granted(app, userId, tenant, { projectGrantId });
  const entries = [{ key: "tier", value: "gold" }];
  await done(postern.admin.call("PATCH", `/v1/organizations/${tenant}/metadata`, { entries }));
  const by = await holder({ roles: ["ORG_OWNER"] }, owner);
  type Claim = { readonly name: string };
  const tierOf = async (client: Client) => {
    const { idToken } = await explained(app, { by: client, userId, organizationId: tenant, owner });
    return (idToken as Claim[]).find(({ name }) => name === "tier");
  };
  const origin = { origin: "CLAIM_ORIGIN_ORGANIZATION_METADATA", metadataKey: "tier" };
  expect(await tierOf(postern.admin)).toMatchObject({ value: "gold", ...origin });
  const hidden = await tierOf(by);
  expect(hidden).toMatchObject(origin);
  expect(hidden).not.toHaveProperty("value");
});

test.each(["OIDC_TOKEN_TYPE_BEARER", "OIDC_TOKEN_TYPE_JWT"])(
  "access tokens of an application that gets only bound ones name a key, which the sign-in decides: %s",
  async (accessTokenType) => {
    const app = await application(postern.admin, { dpopBoundAccessTokens: true, accessTokenType });
    const { userId } = await signedUp(postern);
    const { accessToken } = await explained(app, { userId });
    const bound = (accessToken as { readonly name: string; readonly value?: unknown }[])
      .filter(({ name }) => name === "cnf" || name === "token_type")
      .map(({ name, value }) => [name, value]);
    const opaque = accessTokenType === "OIDC_TOKEN_TYPE_BEARER" ? [["token_type", "DPoP"]] : [];
    expect(bound).toEqual([...opaque, ["cnf", undefined]]);
  },
);
