import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdStatement } from "../../fixture/held_row.ts";
import { organization } from "../../harness.ts";
import { ask, until } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { answerIn, authorizeUrl, basic, exchange, post, signIn } from "../application.ts";
import { openBrowser } from "../browser.ts";
import {
  type Api,
  accessTokenType,
  type Delegated,
  delegated,
  delegation,
  exchanged,
  grantOfExchange,
  introspected,
  newApi,
  outcome,
  scopesOfTarget,
  type Tokens,
  userTokens,
} from "../delegation.ts";
import { done } from "../holding.ts";
import { bySecret, type GrantedMachine, grantedMachine } from "../machine.ts";

let nodes: TwoNodes;
let world: Delegated;
let tokens: Tokens;
let theirs: Foreign;
beforeAll(async () => {
  nodes = await startTwoNodes();
  world = await delegation(nodes.one);
  tokens = await userTokens(world);
  theirs = await foreign();
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const url = (nth: number) => nodes.through(nth).url;

/** An API and a machine of another organization. */
type Foreign = { readonly api: Api; readonly machine: GrantedMachine };

async function foreign(): Promise<Foreign> {
  const owner = await organization(nodes.one);
  const headers = { "x-service-orgid": owner };
  const { projectId } = done(await nodes.one.admin.post("/v1/projects", { name: "theirs" }, headers));
  const api = await newApi(nodes.one, projectId, { scopes: scopesOfTarget }, owner);
  return { api, machine: await grantedMachine(nodes.one) };
}

type Form = Readonly<Record<string, string>>;
const type = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const refused = { subject: [400, "invalid_request"], target: [400, "invalid_target"] } as const;

/** Tokens that are not accepted, or wishes that are not granted: the form, and its refusal. */
const attacks: Readonly<Record<string, { form: () => Form | Promise<Form>; answer?: readonly [number, string] }>> = {
  "a stolen token of another API": {
    async form() {
      const api = await newApi(nodes.one, world.app.projectId, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
      return { subject_token: (await userTokens(world, { api })).access_token };
    },
  },
  "a token of the user without a resource": {
    async form() {
      const url = authorizeUrl(world.issuer, world.app, { scope: "openid" });
      const { code = "" } = answerIn(await signIn(openBrowser(world.issuer), url, world.person));
      return { subject_token: done(await exchange(world.issuer, world.app, code)).access_token };
    },
  },
  "an ID token": { form: () => ({ subject_token: tokens.id_token }) },
  "an ID token that says so": {
    form: () => ({ subject_token: tokens.id_token, subject_token_type: type("id_token") }),
  },
  "a refresh token": { form: () => ({ subject_token: tokens.refresh_token }) },
  "a refresh token that says so": {
    form: () => ({ subject_token: tokens.refresh_token, subject_token_type: type("refresh_token") }),
  },
  "the type of any JWT": { form: () => ({ subject_token_type: type("jwt") }) },
  "no type": { form: () => ({ subject_token_type: "" }) },
  "no token": { form: () => ({ subject_token: "" }) },
  "a personal access token": { form: () => ({ subject_token: nodes.one.admin.token ?? "" }) },
  "a token of the machine itself": {
    async form() {
      const { access_token } = done(await bySecret(url(0), world.machine, { resource: world.target.uri, scope: "" }));
      return { subject_token: access_token };
    },
  },
  "the id of a JWT": {
    async form() {
      const jwts = await newApi(nodes.one, world.app.projectId, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
      await delegated(nodes.one, world.machine, { served: [world.served, jwts], targets: [world.target] });
      const { access_token } = await userTokens(world, { api: jwts });
      done(await exchanged(world, access_token));
      return { subject_token: String(decodeJwt(access_token).jti) };
    },
  },
  "a changed token": { form: () => ({ subject_token: `${tokens.access_token.slice(0, -1)}~` }) },
  "a token of ten thousand characters": { form: () => ({ subject_token: "a".repeat(10_000) }) },
  "another actor": { form: () => ({ actor_token: tokens.access_token, actor_token_type: accessTokenType }) },
  "a refresh token wished for": { form: () => ({ requested_token_type: type("refresh_token") }) },
  "no target": { form: () => ({ resource: "" }) },
  "a target that is not listed": {
    form: async () => ({
      resource: (await newApi(nodes.one, world.machine.projectId, { scopes: scopesOfTarget })).uri,
    }),
    answer: refused.target,
  },
  "the API that the token is for": { form: () => ({ resource: world.served.uri }), answer: refused.target },
  "an API of another organization": { form: () => ({ resource: theirs.api.uri }), answer: refused.target },
  "an API of nobody": { form: () => ({ resource: "https://nobody.example/" }), answer: refused.target },
  "Postern's own API": { form: () => ({ resource: world.issuer }), answer: refused.target },
  "an audience": { form: () => ({ audience: world.target.clientId }), answer: refused.target },
  "a wider scope": { form: () => ({ scope: "ledger:read roles" }), answer: [400, "invalid_scope"] },
  "a scope of the target that the token does not have": {
    form: async () => ({
      subject_token: (await userTokens(world, { scope: "ledger:write" })).access_token,
      scope: "ledger:read",
    }),
    answer: [400, "invalid_scope"],
  },
};

test.each(Object.keys(attacks))("%s is refused, on either node", async (attack) => {
  const { form, answer = refused.subject } = attacks[attack] ?? expect.unreachable();
  const more = await form();
  for (const nth of [0, 1]) {
    const given = await exchanged(world, tokens.access_token, more, { node: url(nth) });
    expect(outcome(given)).toEqual(answer);
  }
});

test("another's machine learns nothing about a token, not even whether it is in force", async () => {
  const [real, none] = [tokens.access_token, `oa_${"a".repeat(43)}`];
  const answers = await Promise.all([real, none].map((one) => exchanged(world, one, {}, { by: theirs.machine })));
  expect(answers.map(outcome)).toEqual([refused.subject, refused.subject]);
  expect(answers[0]?.body).toEqual(answers[1]?.body);
});

test("what was exchanged before writes no event again, and neither does a call of its token that we refuse", async () => {
  const about = [world.machine.userId, world.person.userId];
  const events = () =>
    Promise.all(about.map(async (id) => done(await nodes.one.admin.get(`/v1/events?aboutUserId=${id}`)).events));
  done(await exchanged(world, tokens.access_token));
  const before = await events();
  const { access_token } = done(await exchanged(world, tokens.access_token));
  await introspected(url(1), access_token, world.target);
  const called = nodes.one.as(access_token);
  expect((await called.post("/v1/projects", { name: "on behalf" })).status).toBe(401);
  expect((await called.delete(`/v1/users/${world.machine.userId}/sessions`)).status).toBe(401);
  expect((await post(url(0), "/oauth/revoke", { token: access_token }, basic(world.machine))).status).toBe(200);
  expect(await events()).toEqual(before);
});

test("nobody exchanges a token without proof, or with two resources", async () => {
  const form = { grant_type: grantOfExchange, subject_token: tokens.access_token, subject_token_type: accessTokenType };
  const { clientId: client_id } = world.machine;
  const unproven = await post(url(0), "/oauth/token", { ...form, client_id, resource: world.target.uri });
  expect(outcome(unproven)).toEqual([401, "invalid_client"]);
  const twice = new URLSearchParams({ ...form, resource: world.target.uri });
  twice.append("resource", world.issuer);
  const answer = await fetch(`${url(0)}/oauth/token`, { method: "POST", headers: basic(world.machine), body: twice });
  expect(outcome({ status: answer.status, body: (await answer.json()) as object })).toEqual([400, "invalid_request"]);
});

/** What the log says of machines that began to act for the user. */
const begun = async ({ person }: Delegated) =>
  done(await nodes.one.admin.get(`/v1/events?types=delegation.begun&onBehalfOfId=${person.userId}`)).events;

test("ten at once on two nodes each get a token, and the user sees one machine", async () => {
  const mine = await delegation(nodes.one);
  const { access_token } = await userTokens(mine);
  const ten = await Promise.all(
    Array.from({ length: 10 }, (_, nth) => exchanged(mine, access_token, {}, { node: url(nth) })),
  );
  const given = new Set(ten.map((one) => done(one).access_token));
  expect(given.size).toBe(10);
  for (const token of given) expect((await introspected(url(1), token, mine.target)).active).toBe(true);
  const path = `/v1/users/${mine.person.userId}/connected-applications`;
  expect(done(await nodes.one.admin.get(path)).applications[0].actingMachines).toHaveLength(1);
  // Those that are made at once do not see each other.
  const events = (await begun(mine)).length;
  expect([events >= 1, events <= 10]).toEqual([true, true]);
  done(await exchanged(mine, access_token));
  expect(await begun(mine)).toHaveLength(events);
});

test.each(["disconnects the application", "is deleted"])(
  "exchanges while the user %s each get a token or a refusal, and none of them lasts",
  async (how) => {
    const mine = await delegation(nodes.one);
    const { access_token } = await userTokens(mine);
    const user = `/v1/users/${mine.person.userId}`;
    const twenty = Array.from({ length: 20 }, (_, nth) => exchanged(mine, access_token, {}, { node: url(nth) }));
    const path = how === "is deleted" ? user : `${user}/connected-applications/${mine.app.appId}`;
    const gone = nodes.one.admin.delete(path);
    const answers = await Promise.all(twenty);
    expect((await gone).status).toBe(200);
    for (const answer of answers) {
      if (answer.status !== 200) expect([refused.subject, refused.target]).toContainEqual(outcome(answer));
      else expect(await introspected(url(1), answer.body.access_token, mine.target)).toEqual({ active: false });
    }
    const isGiven = answers.some(({ status }) => status === 200);
    expect([isGiven, (await begun(mine)).length > 0]).not.toEqual([true, false]);
  },
);

const waits = `select 1 from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%acting_machines%'`;

test("who acted for a user is in the log before it is written, and kept only there when the user is deleted meanwhile", async () => {
  const mine = await delegation(nodes.one);
  const { access_token } = await userTokens(mine);
  const row = `select from machine_proofs where credential_id = '${mine.machine.secretId}' for update`;
  const late = await (async () => {
    await using _ = await holdStatement(nodes.databaseUrl, row);
    const asked = exchanged(mine, access_token);
    await until(async () => (await ask(nodes.databaseUrl, waits)).length > 0);
    expect(await begun(mine)).toHaveLength(1);
    done(await admin().delete(`/v1/users/${mine.person.userId}`));
    return { asked };
  })();
  expect(outcome(await late.asked)).toEqual(refused.subject);
  const kept = `select from acting_machines where user_id = '${mine.person.userId}'`;
  expect(await ask(nodes.databaseUrl, kept)).toHaveLength(0);
});

test("a machine that asks while its user disconnects the application is not kept, so it begins again", async () => {
  const mine = await delegation(nodes.one);
  const { access_token } = await userTokens(mine);
  const row = `select from machine_proofs where credential_id = '${mine.machine.secretId}' for update`;
  const late = await (async () => {
    await using _ = await holdStatement(nodes.databaseUrl, row);
    const asked = exchanged(mine, access_token);
    await until(async () => (await ask(nodes.databaseUrl, waits)).length > 0);
    done(await admin().delete(`/v1/users/${mine.person.userId}/connected-applications/${mine.app.appId}`));
    return { asked };
  })();
  expect(outcome(await late.asked)).toEqual(refused.subject);
  const kept = `select from acting_machines where user_id = '${mine.person.userId}'`;
  expect(await ask(nodes.databaseUrl, kept)).toHaveLength(0);
});

test("one that asks while its sign-in ends is kept as long as the user has another one there", async () => {
  const mine = await delegation(nodes.one);
  const { access_token } = await userTokens(mine);
  await userTokens(mine);
  const row = `select from machine_proofs where credential_id = '${mine.machine.secretId}' for update`;
  const late = await (async () => {
    await using _ = await holdStatement(nodes.databaseUrl, row);
    const asked = exchanged(mine, access_token);
    await until(async () => (await ask(nodes.databaseUrl, waits)).length > 0);
    const older = `select min(sign_on_id) from sign_ons where user_id = '${mine.person.userId}'`;
    await ask(nodes.databaseUrl, `delete from sign_ons where sign_on_id = (${older})`);
    return { asked };
  })();
  expect(outcome(await late.asked)).toEqual(refused.subject);
  const kept = `select from acting_machines where user_id = '${mine.person.userId}'`;
  expect(await ask(nodes.databaseUrl, kept)).toHaveLength(1);
});

test("of more than a hundred tokens of one sign-in, the oldest end", async () => {
  const { access_token } = await userTokens(world);
  const one = done(await exchanged(world, access_token));
  for (let turn = 0; turn < 10; turn++)
    await Promise.all(Array.from({ length: 10 }, (_, nth) => exchanged(world, access_token, {}, { node: url(nth) })));
  // Those that are made at once do not see each other.
  done(await exchanged(world, access_token));
  expect(await introspected(url(1), one.access_token, world.target)).toEqual({ active: false });
});

/** Machines that each serve an API and may call the next one. */
type Chain = { readonly world: Delegated; readonly apis: readonly Api[]; readonly machines: readonly GrantedMachine[] };

type Begun = { readonly fact: { readonly delegation: { readonly begun: { readonly machineIds: readonly string[] } } } };

async function chainOf(length: number): Promise<Chain> {
  const first = await delegation(nodes.one);
  const { projectId } = first.machine;
  const scopes = [{ name: "ledger:read", texts: { en: "see your ledger" } }];
  const apis = [first.served];
  const machines: GrantedMachine[] = [];
  for (let nth = 0; nth < length; nth++) {
    const [served] = apis.slice(-1);
    const [machine, api] = [await grantedMachine(nodes.one), await newApi(nodes.one, projectId, { scopes })];
    done(await nodes.one.admin.post(`/v1/users/${machine.userId}/grants`, { projectId }));
    if (served) await delegated(nodes.one, machine, { served: [served], targets: [api] });
    apis.push(api);
    machines.push(machine);
  }
  return { world: first, apis, machines };
}

/** Passes a token of the user along a chain; answers every token, the last one first. */
async function passed({ world, apis, machines }: Chain, token: string): Promise<readonly string[]> {
  const all = [token];
  for (const [nth, by] of machines.slice(0, 3).entries()) {
    const resource = apis[nth + 1]?.uri ?? "";
    all.unshift(done(await exchanged(world, all[0] ?? "", { resource }, { by, node: url(nth) })).access_token);
  }
  return all;
}

test("three machines act one after another, each named, and a fourth is refused", async () => {
  const chain = await chainOf(4);
  const [last = ""] = await passed(chain, (await userTokens(chain.world)).access_token);
  const [one, two, three, four] = chain.machines.map(({ userId }) => userId);
  const seen = await introspected(url(1), last, chain.apis[3] ?? expect.unreachable());
  const act = { sub: three, act: { sub: two, act: { sub: one } } };
  expect(seen).toMatchObject({ active: true, sub: chain.world.person.userId, act, scope: "ledger:read" });
  const inLog = (await begun(chain.world)).map(({ fact }: Begun) => fact.delegation.begun.machineIds);
  expect(inLog).toEqual([[three, two, one], [two, one], [one]]);
  expect(four).toBeDefined();
  const [by, resource] = [chain.machines[3], chain.apis[4]?.uri ?? ""];
  expect(outcome(await exchanged(chain.world, last, { resource }, { by: by ?? expect.unreachable() }))).toEqual([
    ...refused.subject,
  ]);
});

describe("a chain ends at once on the other node", () => {
  test.each(["deactivated", "its key removed", "its token revoked"])("with its first machine %s", async (how) => {
    const chain = await chainOf(3);
    const all = await passed(chain, (await userTokens(chain.world)).access_token);
    const target = chain.apis[3] ?? expect.unreachable();
    expect((await introspected(url(1), all[0] ?? "", target)).active).toBe(true);
    const machine = chain.machines[0] ?? expect.unreachable();
    const { userId, secretId } = machine;
    const ends: Readonly<Record<string, () => Promise<{ status: number; body: unknown }>>> = {
      deactivated: () => nodes.one.admin.post(`/v1/users/${userId}:deactivate`),
      "its key removed": () => nodes.one.admin.delete(`/v1/users/${userId}/credentials/${secretId}`),
      "its token revoked": () => post(url(0), "/oauth/revoke", { token: all[2] ?? "" }, basic(machine)),
    };
    expect((await ends[how]?.())?.status).toBe(200);
    for (const [token, api] of [
      [all[0], chain.apis[3]],
      [all[1], chain.apis[2]],
    ] as const)
      expect(await introspected(url(1), token ?? "", api ?? expect.unreachable())).toEqual({ active: false });
  });
});

type Mine = Delegated & { readonly tokens: Tokens };
const admin = () => nodes.one.admin;
const applications = ({ projectId, appId }: Api) => `/v1/projects/${projectId}/applications/${appId}`;

/** What ends a token on behalf of a user. */
const ends: Readonly<Record<string, (of: Mine) => Promise<{ status: number; body: unknown }>>> = {
  "the session": ({ person }) => admin().delete(`/v1/users/${person.userId}/sessions`),
  "the user's token": ({ app, tokens: { access_token } }) =>
    post(url(0), "/oauth/revoke", { token: access_token }, basic(app)),
  "the user's refresh token": ({ app, tokens: { refresh_token } }) =>
    post(url(0), "/oauth/revoke", { token: refresh_token }, basic(app)),
  "the user": ({ person }) => admin().post(`/v1/users/${person.userId}:deactivate`),
  "the machine": ({ machine }) => admin().post(`/v1/users/${machine.userId}:deactivate`),
  "its secret": ({ machine }) => admin().delete(`/v1/users/${machine.userId}/credentials/${machine.secretId}`),
  "its grant": ({ machine }) => admin().delete(`/v1/user-grants/${machine.userGrantId}`),
  "the application": ({ app }) => admin().delete(applications({ ...app, uri: "" })),
  "the served API": ({ served }) => admin().delete(applications(served)),
  "the target": ({ target }) => admin().post(`${applications(target)}:deactivate`),
  "the user's project": ({ served }) => admin().post(`/v1/projects/${served.projectId}:deactivate`),
  "the target's project": ({ target }) => admin().post(`/v1/projects/${target.projectId}:deactivate`),
};

test.each(Object.keys(ends))("a token on behalf of a user ends with %s, at once on the other node", async (what) => {
  const of = await delegation(nodes.one);
  const mine = { ...of, tokens: await userTokens(of) };
  const { access_token } = done(await exchanged(mine, mine.tokens.access_token));
  expect((await introspected(url(1), access_token, mine.target)).active).toBe(true);
  expect((await ends[what]?.(mine))?.status).toBe(200);
  const after = await post(url(1), "/oauth/introspect", { token: access_token }, basic(mine.target));
  expect([401, 200]).toContain(after.status);
  if (after.status === 200) expect(after.body).toEqual({ active: false });
  const again = await exchanged(mine, mine.tokens.access_token, {}, { node: url(1) });
  expect([400, 401]).toContain(again.status);
});

test("a machine that acts again after it was deactivated has none of its tokens back", async () => {
  const chain = await chainOf(3);
  const all = await passed(chain, (await userTokens(chain.world)).access_token);
  const { userId } = chain.machines[1] ?? expect.unreachable();
  for (const step of ["deactivate", "reactivate"]) done(await admin().post(`/v1/users/${userId}:${step}`));
  const seen = all
    .slice(0, 3)
    .map((token, nth) => introspected(url(1), token, chain.apis[3 - nth] ?? chain.world.served));
  expect((await Promise.all(seen)).map(({ active }) => active)).toEqual([false, false, true]);
});

test("a role that the user or the machine loses is gone from a token, with the scope that needs it", async () => {
  const mine = await delegation(nodes.one);
  const { access_token } = done(await exchanged(mine, (await userTokens(mine)).access_token));
  const path = `/v1/user-grants/${mine.machine.userGrantId}`;
  const seen = async () => {
    const { active, roles, scope } = await introspected(url(1), access_token, mine.target);
    return { active, roles, scope };
  };
  expect(await seen()).toEqual({ active: true, roles: ["viewer"], scope: "ledger:read" });
  done(await admin().put(path, { roleKeys: ["editor"] }));
  expect(await seen()).toEqual({ active: true, roles: ["editor"], scope: "" });
});

test("a scope that one token of a chain loses is gone from all that came of it", async () => {
  const texts = { en: "see your ledger" };
  const role = (projectId: string, key: string) => admin().post(`/v1/projects/${projectId}/roles`, { key });
  const mine = await delegation(nodes.one, { scopes: [{ name: "ledger:read", role: "viewer", texts }] });
  const { app, machine, target, person } = mine;
  done(await role(app.projectId, "reader"));
  const reader = { projectId: app.projectId, roleKeys: ["reader"] };
  const { userGrantId } = done(await admin().post(`/v1/users/${person.userId}/grants`, reader));
  const first = await newApi(nodes.one, app.projectId, { scopes: [{ name: "ledger:read", role: "reader", texts }] });
  const second = await grantedMachine(nodes.one);
  const last = await newApi(nodes.one, second.projectId, { scopes: [{ name: "ledger:read", texts }] });
  await delegated(nodes.one, machine, { served: [first], targets: [target] });
  await delegated(nodes.one, second, { served: [target], targets: [last] });
  const { access_token } = await userTokens(mine, { api: first });
  const one = done(await exchanged(mine, access_token));
  const two = done(await exchanged(mine, one.access_token, { resource: last.uri }, { by: second }));
  const seen = async () => [
    (await introspected(url(1), access_token, first)).scope.split(" ").includes("ledger:read"),
    (await introspected(url(1), one.access_token, target)).scope,
    (await introspected(url(1), two.access_token, last)).scope,
  ];
  const roles = async (grant: string, roleKeys: string[]) =>
    done(await admin().put(`/v1/user-grants/${grant}`, { roleKeys }));
  expect(await seen()).toEqual([true, "ledger:read", "ledger:read"]);
  await roles(machine.userGrantId, []);
  expect(await seen()).toEqual([true, "", ""]);
  await roles(machine.userGrantId, ["viewer"]);
  expect(await seen()).toEqual([true, "ledger:read", "ledger:read"]);
  await roles(userGrantId, []);
  expect(await seen()).toEqual([false, "", ""]);
});

/** Two machines of a chain: the first one has the role `viewer` in the project of the last API, the second one and the user `editor` as well. */
async function unequalChain() {
  const mine = await delegation(nodes.one);
  const { machine, target, person } = mine;
  const second = await grantedMachine(nodes.one);
  const { projectId } = second;
  const last = await newApi(nodes.one, projectId, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  await delegated(nodes.one, second, { served: [target], targets: [last] });
  const grant = async (userId: string, more: object) =>
    done(await admin().post(`/v1/users/${userId}/grants`, { projectId, ...more })).userGrantId;
  const both = { roleKeys: ["viewer", "editor"] };
  done(await admin().post(`/v1/projects/${projectId}/roles`, { key: "editor" }));
  done(await admin().put(`/v1/user-grants/${second.userGrantId}`, both));
  await grant(person.userId, both);
  const { access_token: subject } = done(await exchanged(mine, (await userTokens(mine)).access_token));
  const pass = async () => done(await exchanged(mine, subject, { resource: last.uri }, { by: second })).access_token;
  return { mine, last, pass, grantFirst: (more: object) => grant(machine.userId, more) };
}

test("a chain of machines has no role that one of them does not have", async () => {
  const { mine, last, pass, grantFirst } = await unequalChain();
  const seen = async (token: string) => (await introspected(mine.issuer, token, last)).roles;
  const early = await pass();
  expect([decodeJwt(early).roles, await seen(early)]).toEqual([[], []]);
  const grantId = await grantFirst({ roleKeys: ["viewer"] });
  const later = await pass();
  expect([decodeJwt(later).roles, await seen(later), await seen(early)]).toEqual([["viewer"], ["viewer"], ["viewer"]]);
  done(await admin().put(`/v1/user-grants/${grantId}`, { roleKeys: ["editor"] }));
  expect(await seen(later)).toEqual(["editor"]);
  done(await admin().delete(`/v1/user-grants/${grantId}`));
  expect(await seen(later)).toEqual([]);
});

test("a JWT of a chain ends with the first grant of a machine that acted before", async () => {
  const { pass, grantFirst } = await unequalChain();
  const end = new Date(Math.floor(Date.now() / 1000) * 1000 + 200_000);
  await grantFirst({ roleKeys: ["viewer"], expirationDate: end.toISOString() });
  expect(decodeJwt(await pass()).exp).toBe(end.getTime() / 1000);
});
