import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../../../src/config/logger.ts";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { openRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { newToken } from "../../../src/security/token.ts";
import { dueErasures } from "../../../src/services/users/erasure.ts";
import { oneConnection } from "../../events/log_of.ts";
import { openClient } from "../../fixture/database_client.ts";
import { heldJobs } from "../../fixture/many_holders.ts";
import { everyRow, personWithTraces, refusingProvider, word } from "../../fixture/person.ts";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  signedUp,
  startPostern,
} from "../../harness.ts";

const settings = { trustedProxies: ["127.0.0.1"], masterKeys: [randomBytes(32)], adminToken: newToken("pt") };

let postern: Postern;
let runtime: Runtime;
/** An ORG_OWNER who has just signed in. */
let owner: Client;
let ownerId: string;
let provider: Awaited<ReturnType<typeof refusingProvider>>;
beforeAll(async () => {
  provider = await refusingProvider();
  postern = await startPostern({ ...settings, ...provider.settings });
  runtime = await openRuntime(postern.config, { logger: createLogger(postern.config), join: true });
  ({ client: owner, userId: ownerId } = await withRole("ORG_OWNER"));
});
afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const within = (organizationId: string) => ({ "x-service-orgid": organizationId });
const policy = (restoreDays: number, header = {}) =>
  postern.admin.put("/v1/policies/privacy", { policy: { restoreDays } }, header).then(done);

async function withRole(role: string, organizationId = postern.organizationId) {
  const made = await signedUp(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId: made.userId, roles: [role] }, within(organizationId)));
  return made;
}

/** An organization that erases at once, and its owner. */
async function hasty() {
  const organizationId = await organization(postern);
  await policy(0, within(organizationId));
  return { organizationId, ...(await withRole("ORG_OWNER", organizationId)) };
}

async function isReplayed() {
  await using client = oneConnection(postern.databaseUrl);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
}

const everything = async (): Promise<string> =>
  (await everyRow(postern.databaseUrl)).map(({ table, row }) => `${table} ${row}`).join("\n");

const linesWith = (all: string, word: string) =>
  all.split("\n").filter((line) => line.toLowerCase().includes(word.toLowerCase()));

/** Begins the erasures that are due after so many days, as a node does then. */
const afterDays = (days: number) => {
  const clock = () => new Date(Date.now() + days * 86_400_000);
  return dueErasures({ ...runtime.deps, clock }).batch(100);
};

const eventsAbout = async (userId: string, header = {}) =>
  done(await postern.admin.get(`/v1/events?aboutUserId=${userId}&pageSize=1000`, header)).events;
const endOf = async (jobId: string) =>
  expect(done(await postern.admin.get(`/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`)).job).toMatchObject({
    state: "JOB_STATE_ENDED",
  });

test("a user who waits for erasure is gone at once, and comes back as they were, but for their sessions", async () => {
  const { client, userId, username, password } = await signedUp(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }));
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: `Project of ${username}` }));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }));
  done(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] }));
  const before = done(await postern.admin.get(`/v1/users/${userId}`)).user;
  const roles = done(await client.get("/v1/users/me")).roles;

  const erased = done(await owner.post(`/v1/users/${userId}:erase`));
  const days = (Date.parse(erased.erasureDate) - Date.now()) / 86_400_000;
  expect([Math.round(days), erased.jobId]).toEqual([7, undefined]);
  expect((await client.get("/v1/users/me")).status).toBe(401);
  expect(refused(await postern.as().post("/v1/sessions", { loginName: username, password }))).toEqual([
    401,
    "SIGN_IN_FAILED",
  ]);
  expect(refused(await postern.admin.get(`/v1/users/${userId}`))).toEqual([404, "USER_NOT_FOUND"]);
  expect(refused(await postern.admin.get(`/v1/users:byLoginName?loginName=${username}`))).toEqual([
    404,
    "USER_NOT_FOUND",
  ]);
  for (const filter of [`filter.loginName=${username}`, `filter.search=${username}`])
    expect(done(await postern.admin.get(`/v1/users?${filter}`)).users).toEqual([]);
  expect(done(await postern.admin.get(`/v1/projects/${projectId}/user-grants`)).userGrants).toEqual([]);
  expect(done(await postern.admin.get(`/v1/members?filter.userId=${userId}`)).members).toEqual([]);
  expect(refused(await postern.admin.post("/v1/users/machine", { username, name: "Robot" }))).toEqual([
    409,
    "LOGIN_NAME_TAKEN",
  ]);
  await isReplayed();

  // Again: no more time, and no event.
  expect(done(await owner.post(`/v1/users/${userId}:erase`))).toEqual(erased);
  expect(await afterDays(6)).toBe(0);
  done(await owner.post(`/v1/users/${userId}:restore`));
  expect(refused(await owner.post(`/v1/users/${userId}:restore`))).toEqual([400, "ERASURE_NOT_SCHEDULED"]);
  const after = done(await postern.admin.get(`/v1/users/${userId}`)).user;
  expect({ ...after, details: undefined }).toEqual({ ...before, details: undefined });
  const again = done(await postern.as().post("/v1/sessions", { loginName: username, password }));
  expect(done(await postern.as(again.token).get("/v1/users/me")).roles).toEqual(roles);
  expect(done(await postern.admin.get(`/v1/users?filter.search=${username}`)).users).toMatchObject([{ id: userId }]);
  expect(done(await postern.admin.get(`/v1/projects/${projectId}/user-grants`)).userGrants).toMatchObject([{ userId }]);
  await isReplayed();
});

test("only an owner who has just signed in erases users, and only with a reason to outrank them", async () => {
  const { userId } = await signedUp(postern);
  const manager = await withRole("ORG_USER_MANAGER");
  expect(refused(await manager.client.post(`/v1/users/${userId}:erase`))).toEqual([403, "PERMISSION_DENIED"]);
  const token = done(await owner.post(`/v1/users/${ownerId}/tokens`, {})).token;
  for (const verb of ["erase", "restore"])
    expect(refused(await postern.as(token).post(`/v1/users/${userId}:${verb}`))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  expect((await owner.post(`/v1/users/${postern.adminId}:erase`)).status).toBe(403);
  const { client: stranger } = await hasty();
  expect(refused(await stranger.post(`/v1/users/${userId}:erase`))).toEqual([404, "USER_NOT_FOUND"]);
  const alone = await hasty();
  expect(refused(await alone.client.post(`/v1/users/${alone.userId}:erase`))).toEqual([400, "LAST_OWNER"]);
  done(await owner.post(`/v1/users/${userId}:erase`));
});

const traces = (organizationId: string) => personWithTraces(postern, organizationId);

test("after an erasure without time to restore, no table has anything personal of the user", async () => {
  const { organizationId, client } = await hasty();
  const { userId, own, words, at } = await traces(organizationId);
  const other = await signedUp(postern, { organizationId });
  const kept = await eventsAbout(other.userId, at);
  const before = await everything();
  for (const one of Object.values(words)) expect([one, linesWith(before, one)]).not.toEqual([one, []]);
  const events = await eventsAbout(userId, at);
  const key = { "idempotency-key": "erase", "x-forwarded-for": "198.51.100.1" };

  const { jobId, erasureDate, details } = done(await client.post(`/v1/users/${userId}:erase`, {}, key));
  expect([(await own.get("/v1/users/me")).status, erasureDate]).toEqual([401, undefined]);
  await endOf(jobId);
  const after = await everything();
  for (const one of Object.values(words)) expect([one, linesWith(after, one)]).toEqual([one, []]);

  // Nothing else of the events is gone, and whose address it was that erased the user still stands there.
  const left = await eventsAbout(userId, at);
  expect(left[0]).toMatchObject({ type: "user.erased", objectId: userId, origin: { address: "198.51.100.1" } });
  const shape = ({ fact, origin, ...rest }: { fact: object; origin: object }) => rest;
  expect(left.slice(-events.length).map(shape)).toEqual(events.map(shape));
  expect(left.at(-1).fact.user.humanCreated).toMatchObject({ username: "", email: "", phone: "", loginName: "" });
  expect(await eventsAbout(other.userId, at)).toEqual(kept);
  expect(refused(await client.post(`/v1/users/${userId}:erase`))).toEqual([404, "USER_NOT_FOUND"]);
  expect(refused(await client.post(`/v1/users/${userId}:restore`))).toEqual([400, "ERASURE_NOT_SCHEDULED"]);
  expect(done(await client.post(`/v1/users/${userId}:erase`, {}, key)).details).toEqual(details);
  await isReplayed();

  // The name is free, the id is not.
  const robot = { username: words.second, name: "Robot" };
  expect(refused(await postern.admin.post("/v1/users/machine", { ...robot, userId }, at))).toEqual([409, "ID_TAKEN"]);
  done(await postern.admin.post("/v1/users/machine", robot, at));
});

test("when the time to restore is over, the erasure begins, in the name of who asked for it", async () => {
  const { client: second, userId: secondId } = await withRole("ORG_OWNER");
  const { words, userId } = await traces(postern.organizationId);
  await policy(25);
  done(await second.post(`/v1/users/${userId}:erase`));
  await policy(3);
  const { erasureDate } = done(await second.post(`/v1/users/${userId}:erase`));
  expect(Math.round((Date.parse(erasureDate) - Date.now()) / 86_400_000)).toBe(3);
  expect(await afterDays(2)).toBe(0);
  await afterDays(4);
  expect(refused(await second.post(`/v1/users/${userId}:restore`))).toEqual([400, "ERASURE_NOT_SCHEDULED"]);
  const { jobs } = done(await postern.admin.get("/v1/jobs"));
  const job = jobs.find(({ objectId }: { objectId: string }) => objectId === userId);
  expect(job).toMatchObject({ type: "user.deleted", actorId: secondId });
  await endOf(job.id);
  const asked = (await eventsAbout(userId)).filter(({ type }: { type: string }) => type.startsWith("user.eras"));
  expect(asked.map(({ type, actorId }: { type: string; actorId: string }) => [type, actorId])).toEqual([
    ["user.erased", secondId],
    ["user.erasure_scheduled", secondId],
    ["user.erasure_scheduled", secondId],
  ]);
  expect(asked[0].requestId).toBe(asked[1].requestId);
  expect(linesWith(await everything(), words.mail)).toEqual([]);
  await isReplayed();
  done(await postern.admin.delete("/v1/policies/privacy"));
});

test("a user who was deleted earlier is erased at once, also one of an organization that is gone", async () => {
  const person = await traces(postern.organizationId);
  done(await postern.admin.delete(`/v1/users/${person.userId}`));
  expect(linesWith(await everything(), person.words.mail)).not.toEqual([]);
  await endOf(done(await owner.post(`/v1/users/${person.userId}:erase`)).jobId);
  expect(linesWith(await everything(), person.words.mail)).toEqual([]);

  const organizationId = await organization(postern);
  const { words, userId } = await traces(organizationId);
  const waiting = await signedUp(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { instance: true, userId: ownerId, roles: ["INSTANCE_OWNER"] }));
  done(await owner.post(`/v1/users/${waiting.userId}:erase`));
  const { jobId } = done(await postern.admin.delete(`/v1/organizations/${organizationId}`));
  // It does not wait for the days of a user whom nobody can restore any more.
  await afterDays(0);
  await endOf(jobId);
  await endOf(done(await owner.post(`/v1/users/${userId}:erase`)).jobId);
  const after = await everything();
  for (const one of [words.mail, waiting.username]) expect(linesWith(after, one)).toEqual([]);
  await isReplayed();
});

test("nothing else changes an event, and the one function that does changes nothing but what is erased", async () => {
  const { userId } = await signedUp(postern);
  await using database = openClient(postern.databaseUrl);
  const sql = database.client;
  const isRefused = (statement: string) => expect(sql.unsafe(statement)).rejects.toThrow(/are never changed/);
  await isRefused(`update events set payload = '{}' where stream = '${userId}'`);
  await isRefused(`update events set about_user_id = null where stream = '${userId}'`);
  await isRefused(`delete from events where stream = '${userId}'`);
  await isRefused("truncate events");
  const personal = JSON.stringify({ "user.human_created": ["username"] });
  await isRefused(`select erase_events('${userId}', '${personal}', null, 100)`);
  const [row] = await sql<{ is: boolean[] }[]>`
    select array[is_blanked('{"a": "x", "b": 1}', '{"a": ""}'), is_blanked('{"a": "x"}', '{"a": "y"}'),
      is_blanked('{"a": "x"}', '{"a": "x", "c": ""}'), is_blanked('{"a": 1}', '{"a": 2}'),
      is_blanked('{"a": {"b": "x"}}', '{"a": {"b": "z"}}'), is_blanked(null, '{}')] as is`;
  expect(row?.is).toEqual([true, false, false, false, false, false]);
});

test("a person of very many events is erased in batches, and a machine as well", async () => {
  const { organizationId, client } = await hasty();
  const at = within(organizationId);
  const { userId, username } = await machine(postern, { organizationId });
  await using database = openClient(postern.databaseUrl);
  const name = word();
  await database.client`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select owner, stream, version + i, 'user.machine_changed', jsonb_build_object('name', ${name}::text), 'many', now()
    from events cross join generate_series(1, 1200) i where stream = ${userId} and version = 1`;
  await database.client`update users set version = 1201, name = ${name} where user_id = ${userId}`;
  const { jobId } = await (async () => {
    await using _held = await heldJobs(postern);
    const begun = done(await client.post(`/v1/users/${userId}:erase`));
    expect(done(await postern.admin.get(`/v1/jobs/${begun.jobId}`, at)).job).toMatchObject({
      state: "JOB_STATE_RUNNING",
    });
    await isReplayed();
    return begun;
  })();
  await endOf(jobId);
  const after = await everything();
  expect([linesWith(after, name), linesWith(after, username)]).toEqual([[], []]);
  await isReplayed();
}, 120_000);
