import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  sharedPostern,
  signedUp,
  startPostern,
} from "../../harness.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let postern: Postern;
let sql: postgres.Sql;
beforeAll(async () => {
  postern = await sharedPostern();
  sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await postern?.[Symbol.asyncDispose]();
});

const right = "Blue-Kettle-42";
const fresh = "Green-Teapot-43";
const change = (client: Client, oldPassword: string, newPassword: string, headers = {}) =>
  client.put("/v1/users/me/password", { oldPassword, newPassword }, headers);
const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });

const detail = ({ body }: Answer, name: string) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(`.${name}`));
const refused = (answer: Answer) => [answer.status, detail(answer, "ErrorInfo")?.reason];
const broken = (answer: Answer) =>
  detail(answer, "BadRequest")?.fieldViolations.map(({ field, reason }: { field: string; reason: string }) => [
    field,
    reason,
  ]);
const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};

let listed: { role: string; permissions: string[] }[];
beforeAll(async () => {
  listed = done(await postern.admin.get("/v1/roles")).roles;
});
const permissionsOf = (role: string) => listed.find((one) => one.role === role)?.permissions;

test("GetMe tells a person who it is, where it belongs and what it may", async () => {
  const organizationId = await organization(postern);
  const { userId, username, client } = await signedUp(postern, { organizationId });
  expect(done(await client.get("/v1/users/me"))).toMatchObject({
    user: { id: userId, username, state: "USER_STATE_ACTIVE", human: { givenName: "Ada", phoneVerified: false } },
    organization: { id: organizationId, details: { resourceOwner: organizationId } },
    roles: [],
  });
  const there = { "x-service-orgid": organizationId };
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, there));
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: "Mine" }, there));
  done(await postern.admin.post(`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_OWNER"] }, there));
  const again = done(await signIn(username, right));
  const { roles } = done(await postern.as(again.token).get("/v1/users/me"));
  expect(roles).toHaveLength(2);
  expect(roles).toEqual(
    expect.arrayContaining([
      { role: "ORG_OWNER", organizationId, permissions: permissionsOf("ORG_OWNER") },
      { role: "PROJECT_OWNER", organizationId, projectId, permissions: permissionsOf("PROJECT_OWNER") },
    ]),
  );
});

test("GetMe tells the permissions that a limited token has by each role", async () => {
  const { userId } = await machine(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }));
  const limit = ["project.read", "user.read"];
  const { token } = done(await postern.admin.post(`/v1/users/${userId}/tokens`, { permissions: limit }));
  const { roles } = done(await postern.as(token).get("/v1/users/me"));
  expect(roles).toMatchObject([{ role: "ORG_OWNER", permissions: expect.arrayContaining(limit) }]);
  expect(roles[0].permissions).toHaveLength(2);
});

test("GetMe tells the roles in projects, of every organization, as many as it lists at most", async () => {
  const { userId, client } = await signedUp(postern);
  const elsewhere = await organization(postern);
  const there = { "x-service-orgid": elsewhere };
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: "Shop" }));
  const { projectId: other } = done(await postern.admin.post("/v1/projects", { name: "Shop" }, there));
  for (const key of ["viewer", "editor"]) done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key }));
  const lent = { grantedOrganizationId: elsewhere, roleKeys: ["viewer"] };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${projectId}/grants`, lent));
  const grant = async (body: object, headers = {}) =>
    done(await postern.admin.post(`/v1/users/${userId}/grants`, body, headers)).userGrantId as string;
  await grant({ projectId, roleKeys: ["viewer", "editor"] });
  await grant({ projectId, projectGrantId, roleKeys: ["viewer"] }, there);
  const own = { organizationId: postern.organizationId, projectId };
  const me = done(await client.get("/v1/users/me"));
  expect(me.roles).toEqual([]);
  expect(me.hasMoreProjectRoles).toBe(false);
  expect(me.projectRoles).toHaveLength(3);
  expect(me.projectRoles).toEqual(
    expect.arrayContaining([
      { ...own, roleKey: "editor" },
      { ...own, roleKey: "viewer" },
      { projectId, organizationId: elsewhere, projectGrantId, roleKey: "viewer" },
    ]),
  );

  const many = Array.from({ length: 998 }, (_, at) => `role-${at}`);
  await sql`
    insert into project_roles (owner, project_id, role_key, display_name)
    select ${elsewhere}, ${other}, key, key from unnest(${many}::text[]) key`;
  const userGrantId = await grant({ projectId: other, roleKeys: many.slice(0, 997) }, there);
  const full = done(await client.get("/v1/users/me"));
  expect([full.projectRoles.length, full.hasMoreProjectRoles]).toEqual([1000, false]);
  done(await postern.admin.put(`/v1/user-grants/${userGrantId}`, { roleKeys: many }, there));
  const more = done(await client.get("/v1/users/me"));
  expect([more.projectRoles.length, more.hasMoreProjectRoles]).toEqual([1000, true]);
});

test("GetMe tells the roles of one's own organization first, whatever others grant, and those of one project", async () => {
  const organizationId = await organization(postern);
  const { userId, client } = await signedUp(postern, { organizationId });
  const many = Array.from({ length: 1000 }, (_, at) => `role-${at}`);
  const givers = [await organization(postern), organizationId, await organization(postern)];
  const projects = [];
  for (const giver of givers) {
    const there = { "x-service-orgid": giver };
    const { projectId } = done(await postern.admin.post("/v1/projects", { name: "Shop" }, there));
    const roleKeys = giver === organizationId ? ["viewer"] : many;
    await sql`
      insert into project_roles (owner, project_id, role_key, display_name)
      select ${giver}, ${projectId}, key, key from unnest(${roleKeys}::text[]) key`;
    done(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys }, there));
    const roles = ["PROJECT_OWNER"];
    done(await postern.admin.post(`/v1/projects/${projectId}/members`, { userId, roles }, there));
    projects.push(projectId);
  }
  const [before, own, after] = projects;
  const ownRole = { projectId: own, organizationId, roleKey: "viewer" };
  const me = done(await client.get("/v1/users/me"));
  expect([me.projectRoles[0], me.projectRoles.length, me.hasMoreProjectRoles]).toEqual([ownRole, 1000, true]);
  expect(me.roles[0]).toMatchObject({ role: "PROJECT_OWNER", organizationId, projectId: own });
  expect([me.roles.length, me.hasMoreRoles]).toEqual([3, false]);
  const inOwn = done(await client.get(`/v1/users/me?projectId=${own}`));
  expect([inOwn.projectRoles, inOwn.hasMoreProjectRoles]).toEqual([[ownRole], false]);
  for (const projectId of [before, after]) {
    const { projectRoles, hasMoreProjectRoles } = done(await client.get(`/v1/users/me?projectId=${projectId}`));
    expect([projectRoles.length, hasMoreProjectRoles]).toEqual([1000, false]);
    expect(new Set(projectRoles.map((one: { projectId: string }) => one.projectId))).toEqual(new Set([projectId]));
  }
  expect(done(await client.get("/v1/users/me?projectId=none")).projectRoles).toEqual([]);
});

test("GetMe serves machines and the administrator of the instance as well", async () => {
  const { userId, client } = await machine(postern);
  expect(done(await client.get("/v1/users/me")).user).toMatchObject({ id: userId, machine: { name: "Robot" } });
  const administrator = postern.as(postern.config.adminToken);
  expect(done(await administrator.get("/v1/users/me")).roles).toEqual([
    { role: "INSTANCE_OWNER", permissions: permissionsOf("INSTANCE_OWNER") },
  ]);
});

test("a changed password signs in and the old one does not", async () => {
  const { userId, username, client } = await signedUp(postern);
  const { details } = done(await change(client, right, fresh));
  expect(details).toMatchObject({ sequence: "2", resourceOwner: postern.organizationId });
  expect(Object.keys(details).sort()).toEqual(["changeDate", "creationDate", "resourceOwner", "sequence"]);
  expect(refused(await signIn(username, right))).toEqual([401, "SIGN_IN_FAILED"]);
  done(await signIn(username, fresh));
  const [fact] = await sql`select payload from events where stream = ${userId} and type = 'user.password_changed'`;
  expect(JSON.stringify(fact)).not.toMatch(/argon2|Teapot|Kettle/);
});

test("the other sessions of the caller end, its own and its access tokens go on", async () => {
  const { userId, username, client } = await signedUp(postern);
  const other = postern.as(done(await signIn(username, right)).token);
  const token = postern.as(done(await postern.admin.post(`/v1/users/${userId}/tokens`)).token);
  done(await other.get("/v1/users/me"));
  done(await change(client, right, fresh));
  expect(refused(await other.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  done(await client.get("/v1/users/me"));
  done(await token.get("/v1/users/me"));
  expect(done(await client.get("/v1/sessions")).sessions).toHaveLength(1);

  done(await change(token, fresh, `${fresh}!`));
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
});

test("a wrong old password, the same one again, and a machine are refused", async () => {
  const { client } = await signedUp(postern);
  const wrong = await change(client, "Wrong-Kettle-42", "short");
  expect([refused(wrong), broken(wrong)]).toEqual([[400, "PASSWORD_MISMATCH"], [["oldPassword", "PASSWORD_MISMATCH"]]]);
  const same = await change(client, right, right);
  expect([refused(same), broken(same)]).toEqual([[400, "PASSWORD_UNCHANGED"], [["newPassword", "PASSWORD_UNCHANGED"]]]);
  const robot = await machine(postern);
  expect(refused(await change(robot.client, right, fresh))).toEqual([400, "USER_NOT_HUMAN"]);
  expect(refused(await change(postern.as(), right, fresh))).toEqual([401, "UNAUTHENTICATED"]);
});

test("empty passwords are refused together", async () => {
  const { client } = await signedUp(postern);
  const empty = await change(client, "", "");
  expect(refused(empty)).toEqual([400, "VALIDATION_FAILED"]);
  expect(broken(empty).map(([field]: string[]) => field)).toEqual(["oldPassword", "newPassword"]);
});

test("a user without a password has none to change", async () => {
  const person = { username: "nopassword", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const { userId } = done(await postern.admin.post("/v1/users/human", person));
  const { token } = done(await postern.admin.post(`/v1/users/${userId}/tokens`));
  expect(refused(await change(postern.as(token), right, fresh))).toEqual([400, "PASSWORD_MISSING"]);
  expect(refused(await signIn("nopassword", right))).toEqual([401, "SIGN_IN_FAILED"]);
});

for (const [password, rules] of [
  ["a", ["PASSWORD_TOO_SHORT", "PASSWORD_NO_UPPER", "PASSWORD_NO_DIGIT", "PASSWORD_NO_SYMBOL"]],
  ["🙂", ["PASSWORD_TOO_SHORT", "PASSWORD_NO_UPPER", "PASSWORD_NO_LOWER", "PASSWORD_NO_DIGIT"]],
  ["password", ["PASSWORD_NO_UPPER", "PASSWORD_NO_DIGIT", "PASSWORD_NO_SYMBOL", "PASSWORD_TOO_COMMON"]],
  ["P@ssw0rd!", ["PASSWORD_TOO_COMMON"]],
  ["xX9-byron-0Xx", ["PASSWORD_CONTAINS_NAME"]],
  [`Aa1-${"é".repeat(500)}`, ["PASSWORD_TOO_LONG"]],
] as const)
  test(`${password.slice(0, 20)} breaks ${rules.join(", ")}, all said at once`, async () => {
    const { client } = await signedUp(postern);
    const answer = await change(client, right, password);
    expect(refused(answer)).toEqual([400, "PASSWORD_POLICY"]);
    expect(broken(answer)).toEqual(rules.map((rule) => ["newPassword", rule]));
  });

test("broken rules cost a guess only when the old password is wrong, and tell nothing then", async () => {
  const { userId, client } = await signedUp(postern);
  expect(refused(await change(client, "Wrong-Kettle-42", "a"))).toEqual([400, "PASSWORD_MISMATCH"]);
  expect(await changeAttempts(userId)).toBe(1);
  expect(refused(await change(client, right, "a"))).toEqual([400, "PASSWORD_POLICY"]);
  expect(await changeAttempts(userId)).toBe(0);
});

test("an old password of more bytes than any has is wrong", async () => {
  const { client } = await signedUp(postern);
  expect(refused(await change(client, "é".repeat(501), fresh))).toEqual([400, "PASSWORD_MISMATCH"]);
});

test("passwords of more characters than any has are named, and guess nothing", async () => {
  const { userId, client } = await signedUp(postern);
  const answer = await change(client, "x".repeat(1001), "x".repeat(1001));
  expect(refused(answer)).toEqual([400, "VALIDATION_FAILED"]);
  expect(broken(answer)).toEqual([
    ["oldPassword", "STRING_MAX_LEN"],
    ["newPassword", "STRING_MAX_LEN"],
  ]);
  expect(await changeAttempts(userId)).toBe(0);
});

test("length counts characters, and the same characters typed otherwise are the same password", async () => {
  const { username, client } = await signedUp(postern);
  const composed = "Ünïcödé-🙂7";
  done(await change(client, right, composed.normalize("NFD")));
  done(await signIn(username, composed.normalize("NFC")));
  expect(refused(await change(client, composed, composed.normalize("NFD")))).toEqual([400, "PASSWORD_UNCHANGED"]);
});

test("wrong old passwords keep even the right one from being changed for a while, and leave signing in alone", async () => {
  const { userId, username, client } = await signedUp(postern);
  const blockedForSeconds = async () => {
    for (let guess = 0; guess < 10; guess++)
      expect(refused(await change(client, `Wrong-Kettle-${guess}`, fresh))).toEqual([400, "PASSWORD_MISMATCH"]);
    const answer = await change(client, right, fresh);
    expect(refused(answer)).toEqual([429, "PASSWORD_ATTEMPTS"]);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d+$/);
    // As if so much time had passed.
    const [row] = await sql<{ seconds: number }[]>`
      with before as (select blocked_until from password_change_attempts where user_id = ${userId})
      update password_change_attempts set blocked_until = now() - interval '1 second' where user_id = ${userId}
      returning extract(epoch from (select blocked_until from before) - now())::integer as seconds`;
    return row?.seconds ?? 0;
  };
  const minutes = [];
  for (let times = 0; times < 4; times++) minutes.push(Math.round((await blockedForSeconds()) / 300) * 5);
  expect(minutes).toEqual([15, 30, 60, 60]);
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.state).toBe("USER_STATE_ACTIVE");
  done(await signIn(username, right));
  done(await change(client, right, fresh));
  expect(await changeAttempts(userId)).toBe(0);
});

test("strangers who guess at sign-in do not keep somebody who is signed in from changing the password", async () => {
  const { username, client } = await signedUp(postern);
  for (let guess = 0; guess < 10; guess++) await signIn(username, "Wrong-Kettle-42");
  expect(refused(await signIn(username, right))).toEqual([429, "PASSWORD_ATTEMPTS"]);
  done(await change(client, right, fresh));
});

test("guesses here and at sign-in count apart, and a right one begins anew", async () => {
  const { userId, username, client } = await signedUp(postern);
  for (let guess = 0; guess < 4; guess++) await change(client, "Wrong-Kettle-42", fresh);
  for (let guess = 0; guess < 5; guess++) await signIn(username, "Wrong-Kettle-42");
  expect([await attempts(userId), await changeAttempts(userId)]).toEqual([5, 4]);
  expect(refused(await change(client, right, right))).toEqual([400, "PASSWORD_UNCHANGED"]);
  expect([await attempts(userId), await changeAttempts(userId)]).toEqual([5, 0]);
  done(await change(client, right, fresh));
  expect([await attempts(userId), await changeAttempts(userId)]).toEqual([0, 0]);
});

test("of guesses that come at once no more are checked than one after the other", async () => {
  const { userId, username, client } = await signedUp(postern);
  const guesses = Array.from({ length: 24 }, (_, at) => change(client, `Wrong-Kettle-${at}`, fresh));
  const answers = (await Promise.all(guesses)).map((answer) => refused(answer).join(" "));
  expect(answers.filter((answer) => answer === "400 PASSWORD_MISMATCH")).toHaveLength(10);
  expect(answers.filter((answer) => answer === "429 PASSWORD_ATTEMPTS")).toHaveLength(14);
  done(await signIn(username, right));
  expect(await sql`select from events where stream = ${userId} and type = 'user.locked'`).toHaveLength(0);
});

test("where sign-ins never lock, wrong old passwords are limited all the same", async () => {
  const organizationId = await organization(postern);
  const there = { "x-service-orgid": organizationId };
  done(await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 0 } }, there));
  const { client } = await signedUp(postern, { organizationId });
  for (let guess = 0; guess < 10; guess++) await change(client, "Wrong-Kettle-42", fresh);
  expect(refused(await change(client, right, fresh))).toEqual([429, "PASSWORD_ATTEMPTS"]);
});

test("a full queue counts no wrong old password", async () => {
  await using slow = await startPostern({
    hashConcurrency: 1,
    hashQueue: 1,
    hashMemoryKib: 19_456,
    hashIterations: 40,
  });
  const { userId, client } = await signedUp(slow);
  const answers = await Promise.all(Array.from({ length: 12 }, () => change(client, "Wrong-Kettle-42", fresh)));
  const checked = answers.filter((answer) => refused(answer)[1] === "PASSWORD_MISMATCH");
  expect(checked.length).toBeLessThan(10);
  const own = postgres(driverUrl(slow.databaseUrl), { ...clientOptions(slow.databaseUrl, log), max: 1 });
  const counted = await own`
    select attempts, blocked_until as until from password_change_attempts where user_id = ${userId}`;
  await own.end();
  expect([...counted]).toEqual([{ attempts: checked.length, until: null }]);
});

test("earlier passwords come back only beyond the depth of the history", async () => {
  const organizationId = await organization(postern);
  const there = { "x-service-orgid": organizationId };
  const policy = { minimumLength: 8, historyDepth: 2 };
  done(await postern.admin.put("/v1/policies/password", { policy }, there));
  const { userId, client } = await signedUp(postern, { organizationId });
  const [first, second, third, fourth] = [right, "Second-Kettle", "Third-Kettle", "Fourth-Kettle"] as const;
  done(await change(client, first, second));
  done(await change(client, second, third));
  for (const earlier of [first, second]) {
    const answer = await change(client, third, earlier);
    expect([refused(answer), broken(answer)]).toEqual([[400, "PASSWORD_REUSED"], [["newPassword", "PASSWORD_REUSED"]]]);
  }
  done(await change(client, third, fourth));
  done(await change(client, fourth, first));
  expect(await sql`select from password_history where user_id = ${userId}`).toHaveLength(2);
});

test("of changes that come at once one is made", async () => {
  const { client } = await signedUp(postern);
  const answers = await Promise.all(Array.from({ length: 6 }, (_, at) => change(client, right, `${fresh}-${at}`)));
  const made = answers.filter(({ status }) => status === 200);
  expect(made).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect(refused(answer)).toEqual([400, "PASSWORD_MISMATCH"]);
});

test("a change repeated with its idempotency key answers the same", async () => {
  const { client } = await signedUp(postern);
  const key = { "idempotency-key": "change-1" };
  const first = done(await change(client, right, fresh, key));
  expect(done(await change(client, right, fresh, key))).toEqual(first);
});

async function attempts(userId: string): Promise<number> {
  const [row] = await sql<{ attempts: number }[]>`select attempts from password_attempts where user_id = ${userId}`;
  return row?.attempts ?? 0;
}

async function changeAttempts(userId: string): Promise<number> {
  const [row] = await sql<{ attempts: number }[]>`
    select attempts from password_change_attempts where user_id = ${userId}`;
  return row?.attempts ?? 0;
}
