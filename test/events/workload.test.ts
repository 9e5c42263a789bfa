import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { rebuild } from "../../src/events/rebuild.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { folds } from "../../src/runtime/modules.ts";
import { connected } from "../fixture/connection.ts";
import { documentsComeAndGo } from "../fixture/document_applications.ts";
import { erasedOrRestored } from "../fixture/erased_or_restored.ts";
import { enrolTotp, passkeyChallenge, pendingOf, withPasskey, withTotp } from "../fixture/factors.ts";
import { onePixel } from "../fixture/images.ts";
import { newJwk } from "../fixture/jwk.ts";
import { credentialsComeAndGo } from "../fixture/machine_credentials.ts";
import { freshAdmin } from "../fixture/organization.ts";
import { namesOfItsOwn } from "../fixture/own_names.ts";
import { passwordRemoved } from "../fixture/password_removed.ts";
import { endedElsewhere } from "../fixture/roles_elsewhere.ts";
import { signedInByMail } from "../fixture/sign_in_mail.ts";
import { type Answer, type Client, machine, organization, type Postern, signedUp, startPostern } from "../harness.ts";
import { mailsTo } from "../notify/mail_log.ts";
import { application, basic, codeFor, exchange, issuerOf, post as postForm } from "../provider/application.ts";
import { openBrowser } from "../provider/browser.ts";
import { delegationsBegin } from "../provider/delegation.ts";
import { type Handlers, openHandlers } from "../sent_statements.ts";
import { type DnsServer, openDnsServer } from "../services/domains/dns_server.ts";
import { allInvitationsComeAndGo } from "../services/invitations/received.ts";
import { registrationsComeAndGo } from "../services/registrations/registering.ts";
import { expire, leftAfter } from "./left_over.ts";
import { bagOf, chanceOf, oneConnection, unique } from "./log_of.ts";

const seed = Number(process.hrtime.bigint() % 1_000_000n);
let dns: DnsServer;
let postern: Postern;
/** The administrator, signed in freshly, which setting the retention policy asks for. */
let keeper: Client;
let handlers: Handlers;
beforeAll(async () => {
  dns = await openDnsServer();
  postern = await startPostern({
    domainNameServers: [dns.address],
    ...{ phoneSendsPerUser: 1000, phoneSendsPerNumber: 1000 },
    ...{ mailSendsPerUser: 1000, mailSendsPerAddress: 1000 },
  });
  keeper = await freshAdmin(postern);
  handlers = openHandlers(postern);
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
  await dns?.[Symbol.asyncDispose]();
});

/** The objects made so far, applications and tokens by their paths; a chosen one may be gone already. */
type World = Record<
  "users" | "projects" | "grants" | "apps" | "userGrants" | "tokens" | "sessions" | "organizations",
  string[]
>;

const roles = ["a", "b", "c"];
const password = "Blue-Kettle-42";
const codeAndRefresh = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
const onlyOne = { maximumAttempts: 1 };

/** Operations on a world, each on objects that chance brings. */
function operationsOn(world: World, chance: () => number) {
  const among = (things: readonly string[]) =>
    things.slice(-5)[Math.floor(chance() * Math.min(things.length, 5))] ?? "nothing";
  const some = () => roles.filter(() => chance() < 0.5);
  const { post, put, delete: remove, call } = postern.admin;
  const patch = (path: string, body: object) => call("PATCH", path, body);
  const made = async (kind: keyof World, answer: Promise<Answer>, id: (body: Answer["body"]) => string) => {
    const { status, body } = await answer;
    if (status === 200) world[kind].push(id(body));
    return status;
  };
  const done = async (answer: Promise<Answer>) => (await answer).status;
  const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
  const user = () => `/v1/users/${among(world.users)}`;
  const project = () => `/v1/projects/${among(world.projects)}`;
  const app = () => (world.apps.length > 0 ? among(world.apps) : "/v1/projects/nothing/applications/nothing");
  const phone = () => `+4179${String(Math.floor(chance() * 20) + 2_000_000)}`;
  // Half of the names are taken now and then; the others are new, so that there is always something that can be made.
  const oneOf = (what: string, count: number) =>
    chance() < 0.5 ? `${what}${Math.floor(chance() * count)}` : unique(what);
  const name = () => oneOf("user", 30);
  const person = () => ({ username: name(), givenName: "Ada", familyName: "Byron", email: "ada@example.com" });
  const verified = async () => {
    const path = `${user()}/phone`;
    await post(path, { phone: phone(), returnCode: {} });
    const { body } = await post(`${path}:resend`, { returnCode: {} });
    return done(post(`${path}:verify`, { verificationCode: body.verificationCode ?? "none" }));
  };
  const emailVerified = async () => {
    const path = `${user()}/email`;
    await post(path, { email: `${name()}@example.com`, returnCode: {} });
    const { body } = await post(`${path}:resend`, { returnCode: {} });
    return done(post(`${path}:verify`, { verificationCode: body.verificationCode ?? "none" }));
  };
  const invitedAndSet = async () => {
    const { body } = await post("/v1/users/human", { ...person(), username: unique("person") });
    const { verificationCode } = (await post(`/v1/users/${body.userId}:invite`, { returnCode: {} })).body;
    return done(post("/v1/password-resets:complete", { verificationCode, newPassword: password }));
  };
  const givenAndTaken = async () => {
    const [projectId, key, other] = [among(world.projects), unique("role"), unique("role")];
    const path = `/v1/projects/${projectId}`;
    for (const role of [key, other]) await post(`${path}/roles`, { key: role });
    const [{ body }] = await Promise.all([
      post(`${user()}/grants`, { projectId, roleKeys: [key] }),
      post(`${path}/grants`, { grantedOrganizationId: among(world.organizations), roleKeys: [key] }),
    ]);
    await put(`/v1/user-grants/${body.userGrantId}`, { roleKeys: [key, other] });
    return done(remove(`${path}/roles/${key}`));
  };
  const grantChanged = async () => {
    const { body: own } = await post("/v1/projects", { name: unique("project") });
    const path = `/v1/projects/${own.projectId}`;
    for (const key of roles) await post(`${path}/roles`, { key });
    await patch(`${path}/roles/${among(roles)}`, { displayName: unique("Role") });
    const grant = { grantedOrganizationId: among(world.organizations), roleKeys: some() };
    const { body } = await post(`${path}/grants`, grant);
    const granted = `${path}/grants/${body.projectGrantId}`;
    const status = await done(put(granted, { roleKeys: some() }));
    return chance() < 0.5 ? done(remove(granted)) : status;
  };
  const soon = () => ({ expirationDate: new Date(Date.now() + 3_600_000 * chance()).toISOString() });
  const grantLimited = async () => {
    const [{ body: own }, { userId }] = [await post("/v1/projects", { name: unique("project") }), await newPerson()];
    const limited = chance() < 0.5 ? soon() : {};
    const { body } = await post(`/v1/users/${userId}/grants`, { projectId: own.projectId, ...limited });
    world.userGrants.push(body.userGrantId);
    return done(post(`/v1/user-grants/${body.userGrantId}:setExpiration`, chance() < 0.7 ? soon() : {}));
  };
  const memberChanged = async () => {
    const { userId } = await newPerson();
    await post("/v1/members", { userId, roles: ["ORG_VIEWER"] });
    world.users.push(userId);
    return done(put(`/v1/members/${userId}`, { roles: ["ORG_OWNER"] }));
  };
  const applicationChanged = async () => {
    const { body: own } = await post("/v1/projects", { name: unique("project") });
    const applications = `/v1/projects/${own.projectId}/applications`;
    const { body } = await post(`${applications}/oidc`, { name: "App" });
    const path = `${applications}/${body.appId}`;
    const { body: api } = await post(`${applications}/api`, { name: "API", authMethodType: 1 });
    await patch(`${applications}/${api.appId}/api`, { authMethodType: 2 });
    await post(`${path}:rotateClientSecret`);
    await patch(`${path}/oidc`, { name: "Web" });
    const { body: key } = await post(`${path}/keys`, { publicKey: newJwk() });
    return done(chance() < 0.5 ? remove(`${path}/keys/${key.keyId}`) : remove(path));
  };
  const shutAndOpened = async () => {
    const [{ body: own }, { userId }] = [await post("/v1/projects", { name: unique("project") }), await newPerson()];
    const path = `/v1/projects/${own.projectId}`;
    const app = await post(`${path}/applications/oidc`, { name: "App" });
    const grant = await post(`/v1/users/${userId}/grants`, { projectId: own.projectId });
    const organization = `/v1/organizations/${among(world.organizations)}`;
    const paths = [
      `/v1/user-grants/${grant.body.userGrantId}`,
      `${path}/applications/${app.body.appId}`,
      path,
      organization,
    ];
    for (const one of paths) await post(`${one}:deactivate`);
    for (const one of chance() < 0.5 ? paths : [organization]) await post(`${one}:reactivate`);
    return 200;
  };
  const deletedWhole = async () => {
    const [organizationId, elsewhere] = [await organization(postern), inside(among(world.organizations))];
    const there = inside(organizationId);
    await put("/v1/policies/lockout", { policy: onlyOne }, there);
    const { body: human } = await post("/v1/users/human", { ...person(), username: unique("person"), password }, there);
    const { body: own } = await post("/v1/projects", { name: unique("project") }, there);
    await post(`/v1/users/${human.userId}/grants`, { projectId: own.projectId }, there);
    await post(`/v1/users/${human.userId}/grants`, { projectId: among(world.projects) }, elsewhere);
    await post(`/v1/projects/${own.projectId}/grants`, { grantedOrganizationId: among(world.organizations) }, there);
    await post(`${project()}/grants`, { grantedOrganizationId: organizationId });
    await post("/v1/members", { userId: among(world.users), roles: ["ORG_OWNER"] }, there);
    const { status, body } = await remove(`/v1/organizations/${organizationId}`);
    if (status === 200) await postern.admin.get(`/v1/jobs/${body.jobId}:wait?instance=true`);
    return status;
  };
  const factorsUsed = async () => {
    const organizationId = await organization(postern);
    const withApp = await withTotp(postern, { organizationId });
    const withKey = await withPasskey(postern, { organizationId });
    const { body: made } = await withApp.client.post("/v1/users/me/factors:generateRecoveryCodes");
    await withApp.client.put(`/v1/users/me/factors/${withApp.factorId}/name`, { name: unique("Phone") });
    for (const answer of [{ totpCode: "no code" }, { totpCode: withApp.code() }, { recoveryCode: made.codes[0] }]) {
      const { token: pendingToken } = await pendingOf(postern, withApp);
      await post("/v1/sessions:complete", { pendingToken, ...answer });
    }
    const { challengeToken, options } = await passkeyChallenge(postern);
    const status = await done(post("/v1/sessions/passkey", { challengeToken, credential: withKey.key.get(options) }));
    if (chance() < 0.5) await withApp.client.delete(`/v1/users/me/factors/${withApp.factorId}`);
    if (chance() < 0.5) await remove(`/v1/users/${withKey.userId}`);
    const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED" };
    await put("/v1/policies/factor", { policy }, inside(organizationId));
    await enrolTotp((await signedUp(postern, { organizationId })).client);
    if (chance() < 0.5) await remove("/v1/policies/factor", inside(organizationId));
    const branding = { accentColor: "#0a7a5c", productName: "Shop" };
    await put("/v1/branding", { branding, logo: onePixel, favicon: onePixel }, inside(organizationId));
    if (chance() < 0.5) await remove("/v1/branding", inside(organizationId));
    return status;
  };
  const connectedAndNot = async () => {
    const { app, person: somebody } = await connected(postern);
    if (chance() < 0.3) return done(remove(`/v1/users/${somebody.userId}`));
    return done(somebody.client.delete(`/v1/users/me/connected-applications/${app.appId}`));
  };
  const signedInAndRevoked = async () => {
    await connectedAndNot();
    const issuer = issuerOf(postern);
    const app = await application(postern.admin, { grantTypes: codeAndRefresh });
    const { code } = await codeFor(issuer, app, await signedUp(postern), { scope: "openid offline_access" });
    const { body: tokens } = await exchange(issuer, app, code);
    return (await postForm(issuer, "/oauth/revoke", { token: tokens.refresh_token }, basic(app))).status;
  };
  const endedAndAllowed = async () => {
    const { userId } = await newPerson();
    const organizationId = await endedElsewhere(postern, userId);
    if (chance() < 0.3) return done(remove(`/v1/users/${userId}`));
    return done(post(`/v1/users/${userId}/roles:allow`, { organizationId }));
  };
  const succeeded = async () => {
    const { client, tokenId } = await machine(postern);
    const { body: next } = await client.post("/v1/users/me/tokens");
    const successor = postern.as(next.token);
    if (chance() < 0.5) await successor.post("/v1/users/me/tokens");
    return done(successor.delete(`/v1/users/me/tokens/${tokenId}`));
  };
  const restored = async () => {
    const { userId, client } = await signedUp(postern);
    const email = `${unique("former")}@example.com`;
    await post(`/v1/users/${userId}/email`, { email, isVerified: true });
    await client.post("/v1/users/me/email", { email: `${unique("new")}@example.com` });
    const link = /^http\S+$/m.exec((await mailsTo(postern, email)).at(-1)?.text ?? "")?.[0] ?? "";
    const browser = openBrowser(issuerOf(postern));
    return (await browser.submit(await browser.open(link), {}, "restore")).status;
  };
  const subscribed = async () => {
    const { body } = await post("/v1/subscriptions", { url: `https://receiver.invalid/${unique("events")}` });
    const path = `/v1/subscriptions/${body.subscriptionId}`;
    await patch(path, { types: ["user.deleted"] });
    for (const verb of ["pause", "resume", "replay"])
      await post(`${path}:${verb}`, verb === "replay" ? { after: "0" } : {});
    await post(`${path}/secret:rotate`);
    return chance() < 0.8 ? done(remove(path)) : 200;
  };
  const lockedAndUnlocked = async () => {
    const { userId, loginName } = await newPerson();
    await post("/v1/sessions", { loginName, password: "wrong" });
    await post(`/v1/users/${userId}:deactivate`);
    if (chance() < 0.5) await post(`/v1/users/${userId}:reactivate`);
    return done(post(`/v1/users/${userId}:unlock`));
  };
  const newPerson = async () => {
    const loginName = unique("person");
    const { body } = await post("/v1/users/human", { ...person(), username: loginName, password });
    return { userId: body.userId, loginName };
  };

  return [
    ...[givenAndTaken, grantChanged, applicationChanged],
    ...[endedAndAllowed, succeeded, restored, () => signedInByMail(postern, chance)],
    ...[() => erasedOrRestored(postern, chance), subscribed],
    ...[lockedAndUnlocked, factorsUsed, signedInAndRevoked, () => namesOfItsOwn(postern, chance)],
    () => made("users", post("/v1/users/human", { ...person(), phone: phone(), password }), (b) => b.userId),
    () => made("users", post("/v1/users/machine", { username: oneOf("machine", 60), name: "M" }), (b) => b.userId),
    () => done(post(`${user()}/phone`, { phone: phone(), returnCode: {} })),
    () => done(post(`${user()}/phone`, { phone: phone(), isVerified: true })),
    () => done(remove(`${user()}/phone`)),
    () => done(put(`${user()}/password`, { newPassword: `Blue-Kettle-${Math.floor(chance() * 90)}` })),
    () => done(post(`${user()}:${among(["deactivate", "reactivate", "unlock"])}`)),
    () => done(chance() < 0.3 ? remove(user()) : remove("/v1/users/nothing")),
    () => {
      const path = `${user()}/tokens`;
      return made("tokens", post(path), (b) => `${path}/${b.tokenId}`);
    },
    () => done(remove(world.tokens.length > 0 ? among(world.tokens) : "/v1/users/nothing/tokens/nothing")),
    () => made("sessions", post("/v1/sessions", { loginName: name(), password }), (b) => b.sessionId),
    () => done(remove(`/v1/sessions/${among(world.sessions)}`)),
    () => done(post("/v1/sessions", { loginName: name(), password: "wrong" })),
    () => done(post(`${user()}/phone:resend`, { returnCode: {} })),
    () => done(post(`${user()}/email`, { email: `${name()}@example.com`, isVerified: chance() < 0.5 })),
    () => done(post(`${user()}/email:resend`, { returnCode: {} })),
    ...[invitedAndSet, emailVerified],
    verified,
    () => made("projects", post("/v1/projects", { name: oneOf("Project ", 12) }), (b) => b.projectId),
    () => done(put(`${user()}/username`, { username: name() })),
    () => done(patch(`${user()}/human`, { givenName: unique("Ada"), language: among(["de", "fr-CH", ""]) })),
    () => done(patch(`${user()}/human`, { address: chance() < 0.4 ? null : { locality: among(["Bern", "Zug"]) } })),
    () => done(patch(`${user()}/machine`, { name: unique("M") })),
    ...[user, () => `/v1/organizations/${among(world.organizations)}`].map((of) => () => {
      const [set, removed] = chance() < 0.5 ? ["plan", "desk"] : ["desk", "plan"];
      return done(patch(`${of()}/metadata`, { entries: [{ key: set, value: unique("v") }, { key: removed }] }));
    }),
    () => done(patch(`/v1/organizations/${among(world.organizations)}`, { name: unique("Organization") })),
    () => done(patch(project(), { name: oneOf("Project ", 12) })),
    () => done(patch(`${project()}/roles/${among(roles)}`, { displayName: unique("Role") })),
    () => done(post(`${project()}/roles`, { key: among(roles) })),
    () => done(post(`${project()}/roles`, { key: among(roles) })),
    () => done(remove(`${project()}/roles/${among(roles)}`)),
    () => done(chance() < 0.3 ? remove(project()) : remove("/v1/projects/nothing")),
    () =>
      made(
        "grants",
        post(`${project()}/grants`, { grantedOrganizationId: among(world.organizations), roleKeys: some() }),
        (b) => b.projectGrantId,
      ),
    () => {
      const path = `${project()}/applications`;
      return made("apps", post(`${path}/oidc`, { name: among(["App", "Api", "Web"]) }), (b) => `${path}/${b.appId}`);
    },
    async () => {
      const path = `${project()}/applications`;
      const { body } = await post(`${path}/api`, { name: unique("API"), authMethodType: Math.floor(chance() * 3) });
      return done(patch(`${path}/${body.appId ?? "none"}/api`, { authMethodType: Math.floor(chance() * 3) }));
    },
    () => done(patch(project(), { grantRequired: chance() < 0.5 })),
    () => done(post(`${app()}:rotateClientSecret`)),
    () => {
      const authMethodType = among(["BASIC", "POST", "NONE"]);
      const update = {
        name: among(["App", "Api", "Web"]),
        authMethodType: `OIDC_AUTH_METHOD_TYPE_${authMethodType}`,
      };
      return done(patch(`${app()}/oidc`, update));
    },
    async () => {
      const path = `${app()}/keys`;
      const { status, body } = await post(path, { publicKey: newJwk() });
      return status === 200 && chance() < 0.5 ? done(remove(`${path}/${body.keyId}`)) : status;
    },
    () => done(remove(app())),
    () =>
      made(
        "userGrants",
        post(`${user()}/grants`, { projectId: among(world.projects), roleKeys: some() }),
        (b) => b.userGrantId,
      ),
    () => {
      const grant = { projectId: among(world.projects), projectGrantId: among(world.grants), roleKeys: some() };
      return made(
        "userGrants",
        post(`${user()}/grants`, grant, inside(among(world.organizations))),
        (b) => b.userGrantId,
      );
    },
    () => done(put(`/v1/user-grants/${among(world.userGrants)}`, { roleKeys: some() })),
    ...[grantLimited, shutAndOpened, deletedWhole],
    () => done(remove(`/v1/user-grants/${among(world.userGrants)}`)),
    () => done(post(`${project()}/members`, { userId: among(world.users), roles: ["PROJECT_OWNER"] })),
    () => done(post("/v1/members", { userId: among(world.users), roles: ["ORG_VIEWER"] })),
    memberChanged,
    () => done(remove(`/v1/members/${among(world.users)}`)),
    () => {
      const policy = { minimumLength: 1 + Math.floor(chance() * 8), requiresUpper: true };
      return done(put("/v1/policies/password", { policy, instance: chance() < 0.5 }));
    },
    () => done(remove(`/v1/policies/${among(["password", "lockout"])}?instance=${chance() < 0.5}`)),
    () => done(remove("/v1/policies/lockout")),
    () =>
      chance() < 0.5
        ? done(remove("/v1/policies/retention"))
        : done(keeper.put("/v1/policies/retention", { policy: { signInDays: 1 + Math.floor(chance() * 900) } })),
    () => done(put("/v1/policies/lockout", { policy: { ...onlyOne, lockDuration: `${Math.ceil(chance() * 9)}s` } })),
  ];
}

/** A domain that was proven, missed, lost and removed, and one that stays. */
async function domainsComeAndGo(sql: Sql): Promise<void> {
  const { post, get, delete: remove } = postern.admin;
  const [gone, staying] = await Promise.all(
    ["gone", "staying"].map(async (name) => (await post("/v1/domains", { name: `${name}.example` })).body),
  );
  dns.zone.set(gone.record.name, { texts: [gone.record.value] });
  await post(`/v1/domains/${gone.domainId}:verify`);
  await post(`/v1/domains/${staying.domainId}:verify`, { withoutDns: true });
  dns.zone.set(gone.record.name, "absent");
  for (const state of ["RECORD_MISSING", "LOST"]) {
    await sql`update domains set missing_since = missing_since - interval '3 days' where domain_id = ${gone.domainId}`;
    await sql`update domain_checks set due = now() where domain_id = ${gone.domainId}`;
    const isIn = async () =>
      expect((await get(`/v1/domains/${gone.domainId}`)).body.domain.state).toBe(`DOMAIN_STATE_${state}`);
    await vi.waitFor(isIn, { timeout: 60_000 });
  }
  await remove(`/v1/domains/${gone.domainId}`);
}

test(`the log replayed gives the tables that a random workload left (seed ${seed})`, { timeout: 300_000 }, async () => {
  const world: World = {
    users: [],
    projects: [],
    grants: [],
    apps: [],
    userGrants: [],
    tokens: [],
    sessions: [],
    organizations: [],
  };
  for (let at = 0; at < 3; at++) world.organizations.push(await organization(postern));
  await postern.admin.put("/v1/policies/lockout", { policy: onlyOne });
  const chance = chanceOf(seed);
  const operations = operationsOn(world, chance);
  const statuses: number[] = [];
  await using client = oneConnection(postern.databaseUrl);
  await domainsComeAndGo(client.sql);
  await allInvitationsComeAndGo(postern, handlers.deps);
  await registrationsComeAndGo(postern, handlers.deps);
  await passwordRemoved(postern, handlers.deps);
  await documentsComeAndGo(postern, handlers.deps);
  await credentialsComeAndGo(postern);
  await delegationsBegin(postern, chance);
  const missing = async () => {
    const ofEarlierReleases = ["factor.refused"];
    const types = await client.sql<{ type: string }[]>`select distinct type from events`;
    const there = new Set([...ofEarlierReleases, ...types.map(({ type }) => type)]);
    // Types that change no table are not replayed.
    return [...folds].flatMap(([type, { views = [] }]) => (views.length > 0 && !there.has(type) ? [type] : []));
  };
  // In an order that chance brings, each as often as any other: an operation that comes late leaves its events missing for long.
  const next = bagOf(operations, chance);
  for (let round = 0; round < 30 || (round < 300 && (await missing()).length > 0); round++)
    statuses.push(...(await Promise.all(Array.from({ length: 12 }, () => next()()))));
  expect(await missing()).toEqual([]);
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });

  // Without the events of what is gone, also while only some of them are deleted.
  await keeper.put("/v1/policies/retention", { policy: { signInDays: 1, administrationDays: 1 } });
  for (const rounds of [3, Number.POSITIVE_INFINITY]) {
    // Then the last numbers of the log are among those that go.
    const last = await postern.admin.post("/v1/users/machine", { username: unique("last"), name: "Last" });
    const { body: token } = await postern.admin.post(`/v1/users/${last.body.userId}/tokens`);
    await postern.admin.delete(`/v1/users/${last.body.userId}/tokens/${token.tokenId}`);
    await client.sql`select number_events(true)`;
    await client.sql`update retention_policies set sign_in_days = 0, administration_days = 0`;
    await expire(client.sql, rounds);
    // The sweep of the node may have a kind under way: whoever comes meanwhile deletes nothing.
    if (rounds === Number.POSITIVE_INFINITY) await expect.poll(() => leftAfter(client.sql)).toEqual([]);
    await client.sql`update retention_policies set sign_in_days = 1, administration_days = 1`;
    expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
  }
});

/** A change of a table by hand, and the statement that takes it back. */
type Change = { readonly table: string; readonly change: string; readonly back: string };

const changeOf = (table: string): Change => ({
  table,
  change: `update ${table} set changed = changed + interval '1 second'`,
  back: `update ${table} set changed = changed - interval '1 second'`,
});

const markOf = ([table, column]: [string, string]): Change => ({
  table,
  change: `update ${table} set ${column} = ${column} || '~changed'`,
  back: `update ${table} set ${column} = replace(${column}, '~changed', '')`,
});

test("every table of the folds is compared: the rows that were changed by hand are found, and no others", async () => {
  await using client = oneConnection(postern.databaseUrl);
  const tables = await client.sql<{ table: string }[]>`
    select table_name as table from information_schema.columns
    where table_schema = 'public' and column_name = 'changed' and table_name not like 'password\\_h%' and table_name <> 'passwords'
      and table_name not like 'all\\_%'
    order by table_name`;
  expect(tables.length).toBeGreaterThan(8);
  const byUser = { login_names: "user_id", organization_login_names: "user_id" };
  const metadata = { user_metadata: "value", organization_metadata: "value" };
  const others = Object.entries({
    ...byUser,
    ...metadata,
    project_roles: "display_name",
    client_ids: "owner",
    machine_client_ids: "owner",
    machine_delegations: "owner",
  });
  const changes = [...tables.map(({ table }) => changeOf(table)), ...others.map(markOf)];
  // Half of the tables at a time: each table is seen once changed and once as it was.
  for (const half of [0, 1]) {
    const chosen = changes.filter((_, at) => at % 2 === half);
    const expected = new Map<string, number>();
    for (const { table, change } of chosen) {
      const { count } = await client.sql.unsafe(change);
      // A changed row is an extra one, and the one that it was is missing.
      if (count > 0) expected.set(table, 2 * count);
    }
    const { differences } = await rebuild(client.sql, folds);
    // The terms of a row follow it.
    const found = differences.filter(({ table }) => table !== "terms").map(({ table, rows }) => [table, rows] as const);
    expect(new Map(found)).toEqual(expected);
    for (const { back } of chosen) await client.sql.unsafe(back);
  }
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});
