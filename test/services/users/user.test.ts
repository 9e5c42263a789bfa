import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import {
  type Answer,
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
let people = 0;
const person = (more = {}) => ({
  ...{ username: `person-${++people}`, givenName: "Grace", familyName: "Hopper", email: "grace@example.com" },
  ...more,
});
const human = (body: object, headers = {}, by = postern.admin) => by.post("/v1/users/human", body, headers);
const robot = (username: string, headers = {}, by = postern.admin) =>
  by.post("/v1/users/machine", { username, name: "Robot" }, headers);
const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });
const within = (organizationId: string) => ({ "x-service-orgid": organizationId });
const to = (userId: string, verb: string, by = postern.admin) => by.post(`/v1/users/${userId}:${verb}`);
const stateOf = async (userId: string) => done(await postern.admin.get(`/v1/users/${userId}`)).user.state;

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

test("a human user is created, read and signs in", async () => {
  const body = person({ username: " Grace.Hopper ", password: right });
  const { userId, details } = done(await human(body));
  expect(details).toMatchObject({ sequence: "1", resourceOwner: postern.organizationId });
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user).toEqual({
    ...{ id: userId, details, state: "USER_STATE_ACTIVE", ownLoginName: false, username: "Grace.Hopper" },
    human: {
      givenName: "Grace",
      familyName: "Hopper",
      email: "grace@example.com",
      emailVerified: false,
      phoneVerified: false,
      requiresFactor: false,
    },
  });
  done(await signIn("grace.hopper", right));
  const facts = await sql`select payload::text from events where stream = ${userId}`;
  expect(JSON.stringify(facts)).not.toMatch(/argon2|Kettle/);
});

test("a machine user is created and read", async () => {
  const { userId, details } = done(await robot("machine-one"));
  expect(done(await postern.admin.get(`/v1/users/${userId}`)).user).toEqual({
    ...{
      id: userId,
      details,
      state: "USER_STATE_ACTIVE",
      ownLoginName: false,
      username: "machine-one",
      machine: { name: "Robot" },
    },
  });
});

test("a username is unique in the instance, whatever its case and form", async () => {
  const { userId } = done(await human(person({ username: "Ünique.Name" })));
  const elsewhere = within(await organization(postern));
  for (const username of ["ünique.name", "ÜNIQUE.NAME", "Ünique.Name".normalize("NFD"), "Ｕ\u0308nique.Name"]) {
    const taken = await robot(username, elsewhere);
    expect(refused(taken)).toEqual([409, "LOGIN_NAME_TAKEN"]);
    expect(detail(taken, "ResourceInfo")).toMatchObject({ resourceType: "user", resourceName: userId });
  }
});

test("the refusal names the user in the way only to those who may see it", async () => {
  const organizationId = await organization(postern);
  const manager = await signedUp(postern, { organizationId });
  const roles = ["ORG_USER_MANAGER"];
  done(await postern.admin.post("/v1/members", { userId: manager.userId, roles }, within(organizationId)));
  const foreign = person();
  const { userId } = done(await human(foreign));
  const hidden = await human(person({ username: foreign.username }), {}, manager.client);
  expect(refused(hidden)).toEqual([409, "LOGIN_NAME_TAKEN"]);
  expect(JSON.stringify(hidden.body)).not.toContain(userId);
  const seen = await human(person({ username: manager.username }), {}, manager.client);
  expect(detail(seen, "ErrorInfo").metadata).toMatchObject({ userId: manager.userId });
});

test("of equal usernames that come at once one is taken", async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) => (at % 2 ? robot("Racing-Name") : human(person({ username: "racing-name" })))),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect(refused(answer)).toEqual([409, "LOGIN_NAME_TAKEN"]);
});

test("every wrong field of a user is named", async () => {
  const no = await human({ username: "with blank", givenName: " ", familyName: "x".repeat(201), email: "nowhere" });
  expect(refused(no)).toEqual([400, "VALIDATION_FAILED"]);
  expect(broken(no).map(([field]: string[]) => field)).toEqual(["username", "givenName", "familyName", "email"]);
  const long = await robot("ﷺ".repeat(100));
  expect([refused(long), broken(long)]).toEqual([[400, "VALIDATION_FAILED"], [["username", "USERNAME_TOO_LONG"]]]);
});

test("a first password must meet the policy, and contain none of the names given", async () => {
  const short = await human(person({ password: "Aa1-" }));
  expect([refused(short), broken(short)]).toEqual([[400, "PASSWORD_POLICY"], [["password", "PASSWORD_TOO_SHORT"]]]);
  const named = await human(person({ password: "Hopper-Kettle-42" }));
  expect(broken(named)).toEqual([["password", "PASSWORD_CONTAINS_NAME"]]);
});

test("a user created with a phone has it unverified", async () => {
  const { userId } = done(await human(person({ phone: "+41 79 300 00 01" })));
  const { user } = done(await postern.admin.get(`/v1/users/${userId}`));
  expect(user.human).toMatchObject({ phone: "+41793000001", phoneVerified: false });
  expect(refused(await human(person({ phone: "12" })))).toEqual([400, "PHONE_INVALID"]);
});

test("users are listed by username, page by page, of one organization", async () => {
  const there = within(await organization(postern));
  for (const username of ["list-c", "list-a", "list-b"]) done(await robot(username, there));
  const first = done(await postern.admin.get("/v1/users?pageSize=2", there));
  const rest = done(await postern.admin.get(`/v1/users?pageSize=2&pageToken=${first.nextPageToken}`, there));
  const names = [...first.users, ...rest.users].map(({ username }: { username: string }) => username);
  expect([names, rest.nextPageToken]).toEqual([["list-a", "list-b", "list-c"], ""]);
  expect(refused(await postern.admin.get("/v1/users?pageToken=nonsense", there))).toEqual([400, "PAGE_TOKEN_INVALID"]);
});

test("a password set by an administrator ends every session and meets the policy", async () => {
  const { userId, username, client } = await signedUp(postern);
  const set = (newPassword: string) => postern.admin.put(`/v1/users/${userId}/password`, { newPassword });
  expect(broken(await set("short"))).toContainEqual(["newPassword", "PASSWORD_TOO_SHORT"]);
  done(await client.get("/v1/users/me"));
  expect(done(await set("Green-Teapot-43")).details).toMatchObject({ sequence: "2" });
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  expect(refused(await signIn(username, right))).toEqual([401, "SIGN_IN_FAILED"]);
  done(await signIn(username, "Green-Teapot-43"));
  const { userId: robotId } = await machine(postern);
  const no = await postern.admin.put(`/v1/users/${robotId}/password`, { newPassword: right });
  expect(refused(no)).toEqual([400, "USER_NOT_HUMAN"]);
});

test("a password set does not unlock, and begins the count of wrong ones anew", async () => {
  const { userId, username } = await signedUp(postern);
  for (let guess = 0; guess < 9; guess++) await signIn(username, "Wrong-Kettle");
  done(await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-43" }));
  for (let guess = 0; guess < 9; guess++) await signIn(username, "Wrong-Kettle");
  done(await signIn(username, "Green-Teapot-43"));
  for (let guess = 0; guess < 10; guess++) await signIn(username, "Wrong-Kettle");
  done(await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: right }));
  expect(await stateOf(userId)).toBe("USER_STATE_LOCKED");
  expect((await signIn(username, right)).status).toBe(401);
  expect(done(await to(userId, "unlock")).details.sequence).toBe("5");
  expect(await stateOf(userId)).toBe("USER_STATE_ACTIVE");
  done(await signIn(username, right));
  expect(done(await to(userId, "unlock")).details.sequence).toBe("5");
});

test("a deactivated user neither calls nor signs in until it is reactivated", async () => {
  const { userId, username, client } = await signedUp(postern);
  const { token } = done(await postern.admin.post(`/v1/users/${userId}/tokens`));
  const { details } = done(await to(userId, "deactivate"));
  expect(done(await to(userId, "deactivate")).details).toEqual(details);
  expect(await stateOf(userId)).toBe("USER_STATE_INACTIVE");
  for (const caller of [client, postern.as(token)])
    expect(refused(await caller.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  expect(refused(await signIn(username, right))).toEqual([401, "SIGN_IN_FAILED"]);
  expect(done(await to(userId, "reactivate")).details.sequence).toBe("3");
  expect(done(await to(userId, "reactivate")).details.sequence).toBe("3");
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  done(await postern.as(token).get("/v1/users/me"));
  done(await signIn(username, right));
});

test("a deleted user is gone with its sessions, tokens, memberships, grants and credentials", async () => {
  const organizationId = await organization(postern);
  const { userId, username, client } = await signedUp(postern, { organizationId });
  const { token } = done(await postern.admin.post(`/v1/users/${userId}/tokens`));
  const [here, there] = [{}, within(organizationId)];
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, there));
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: `Of ${username}` }, here));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "reader", displayName: "Reader" }));
  done(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] }, here));
  expect(done(await postern.admin.delete(`/v1/users/${userId}`)).details).toMatchObject({ sequence: "2" });
  for (const caller of [client, postern.as(token)])
    expect(refused(await caller.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  for (const table of [
    ...["users", "login_names", "sessions", "access_tokens", "bearers", "members", "user_grants"],
    ...["passwords", "password_history", "password_attempts", "password_change_attempts", "phone_codes", "mail_codes"],
    "known_browsers",
  ])
    expect([table, await sql`select from ${sql(table)} where user_id = ${userId}`]).toEqual([table, []]);
  const facts = await sql`select type from events
    where xid = (select xid from events where stream = ${userId} and type = 'user.deleted') order by type`;
  expect(facts.map(({ type }) => type)).toEqual([
    ...["access_token.revoked", "member.removed", "session.ended", "user.deleted", "user_grant.removed"],
  ]);
  for (const answer of await Promise.all([
    ...[postern.admin.get(`/v1/users/${userId}`), postern.admin.delete(`/v1/users/${userId}`)],
    ...[to(userId, "deactivate"), to(userId, "reactivate"), to(userId, "unlock")],
    postern.admin.put(`/v1/users/${userId}/password`, { newPassword: right }),
    ...[postern.admin.get(`/v1/users/${userId}/tokens`), postern.admin.post(`/v1/users/${userId}/tokens`)],
    postern.admin.get(`/v1/sessions?userId=${userId}`),
  ]))
    expect(refused(answer)).toEqual([404, "USER_NOT_FOUND"]);
  done(await robot(username));
});

test("the last active owner of the instance can be neither deleted nor deactivated", async () => {
  await using own = await startPostern();
  expect(refused(await own.admin.delete(`/v1/users/${own.adminId}`))).toEqual([400, "LAST_OWNER"]);
  expect(refused(await own.admin.post(`/v1/users/${own.adminId}:deactivate`))).toEqual([400, "LAST_OWNER"]);
  const second = await machine(own);
  done(await own.admin.post("/v1/members", { instance: true, userId: second.userId, roles: ["INSTANCE_OWNER"] }));
  done(await own.admin.post(`/v1/users/${second.userId}:deactivate`));
  expect(refused(await own.admin.delete(`/v1/users/${own.adminId}`))).toEqual([400, "LAST_OWNER"]);
  done(await own.admin.post(`/v1/users/${second.userId}:reactivate`));
  const ends = await Promise.all([
    own.admin.delete(`/v1/users/${second.userId}`),
    second.client.delete(`/v1/users/${own.adminId}`),
  ]);
  expect(ends.map(({ status }) => status).toSorted()[0]).toBe(200);
  expect(ends.filter(({ status }) => status === 200)).toHaveLength(1);
});

test("a user deleted while it signs in and gets tokens leaves nothing behind", async () => {
  const { userId, username } = await signedUp(postern);
  await Promise.all([
    ...Array.from({ length: 5 }, () => signIn(username, right)),
    ...Array.from({ length: 5 }, () => postern.admin.post(`/v1/users/${userId}/tokens`)),
    postern.admin.delete(`/v1/users/${userId}`),
  ]);
  for (const table of ["users", "sessions", "access_tokens", "bearers", "passwords"])
    expect([table, await sql`select from ${sql(table)} where user_id = ${userId}`]).toEqual([table, []]);
});
