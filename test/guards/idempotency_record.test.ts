import { randomBytes, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { CreateAccessTokenRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";
import { type Call, type Caller, keys } from "../../src/deps.ts";
import { reasonOf, refuse } from "../../src/errors.ts";
import { expiredRecords } from "../../src/events/sweep.ts";
import { type DoneBefore, idempotency } from "../../src/guards/idempotency.ts";
import { keyring } from "../../src/security/seal.ts";
import { startServer } from "../../src/server/server.ts";
import { startChild } from "../fixture/child_server.ts";
import { type Fixture, fixtureOf } from "../fixture/organization.ts";
import { type Answer, clientOf, machine, organization, type Postern, signedUp, startPostern } from "../harness.ts";
import { openProbe, type Probe, sleeper, slowCommits } from "../probe.ts";

let postern: Postern;
let probe: Probe;
let fixture: Fixture;

beforeAll(async () => {
  postern = await startPostern();
  probe = openProbe(postern.databaseUrl);
  fixture = await fixtureOf(postern, postern.organizationId);
});
afterAll(async () => {
  await probe[Symbol.asyncDispose]();
  await postern[Symbol.asyncDispose]();
});

const keyed = (key: string = randomUUID()) => ({ "idempotency-key": key });
const named = (what: string) => ({ name: `${what} ${randomUUID()}` });
const reasonIn = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const recordsOf = async (key: string) => probe.sql`select request, answer from idempotency where key = ${key}`;

/** Makes an application, whose secret is shown once. */
const makeApp = ({ admin }: Pick<Postern, "admin">, headers: Record<string, string>, body: object) =>
  admin.post(`/v1/projects/${fixture.projectId}/applications/oidc`, body, headers);

/** Another node on the same database, or the same one after a restart. */
async function node(overrides: Partial<Postern["config"]> = {}) {
  const server = await startServer({ ...postern.config, ...overrides });
  const admin = clientOf(server.url, postern.config.adminToken);
  return { admin, url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("the secret that is shown once is answered again, and rests sealed", async () => {
  const key = randomUUID();
  const body = named("app");
  const first = await makeApp(postern, keyed(key), body);
  expect(first.body.clientSecret).toMatch(/./);
  expect((await makeApp(postern, keyed(key), body)).body).toEqual(first.body);
  const [record] = await recordsOf(key);
  for (const column of [record?.answer, record?.request])
    for (const plain of [first.body.clientSecret, first.body.clientId, body.name])
      expect(column.includes(plain)).toBe(false);
});

test("a write that changes nothing is recorded like others", async () => {
  const userId = await fixture.newUser();
  const key = randomUUID();
  const first = await postern.admin.post(`/v1/users/${userId}:reactivate`, {}, keyed(key));
  await postern.admin.post(`/v1/users/${userId}:deactivate`);
  const again = await postern.admin.post(`/v1/users/${userId}:reactivate`, {}, keyed(key));
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect((await postern.admin.get(`/v1/users/${userId}`)).body.user.state).toBe("USER_STATE_INACTIVE");
  expect(await recordsOf(key)).toHaveLength(1);
});

test("a write that is refused leaves no record: with the cause gone it is done", async () => {
  const key = randomUUID();
  const body = named("project");
  const inTheWay = await postern.admin.post("/v1/projects", body);
  expect(reasonIn(await postern.admin.post("/v1/projects", body, keyed(key)))).toEqual([409, "PROJECT_NAME_TAKEN"]);
  expect(await recordsOf(key)).toHaveLength(0);
  await postern.admin.delete(`/v1/projects/${inTheWay.body.projectId}`);
  expect((await postern.admin.post("/v1/projects", body, keyed(key))).status).toBe(200);
});

test("a key belongs to its caller and its operation", async () => {
  const key = keyed();
  const other = await machine(postern);
  await postern.admin.post("/v1/members", { userId: other.userId, roles: ["ORG_OWNER"] });
  const ids = new Set<string>();
  for (const { client } of [{ client: postern.admin }, other]) {
    const project = await client.post("/v1/projects", named("project"), key);
    const user = await client.post("/v1/users/machine", { username: randomUUID(), name: "Robot" }, key);
    expect([project.status, user.status]).toEqual([200, 200]);
    ids.add(project.body.projectId).add(user.body.userId);
  }
  expect(ids.size).toBe(4);
});

test("the organization that the header names is a part of the request; the caller's own may be named or not", async () => {
  const key = randomUUID();
  const body = named("project");
  const elsewhere = { ...keyed(key), "x-service-orgid": await organization(postern) };
  const first = await postern.admin.post("/v1/projects", body, keyed(key));
  const own = await postern.admin.post("/v1/projects", body, {
    ...keyed(key),
    "x-service-orgid": postern.organizationId,
  });
  expect(own.body).toEqual(first.body);
  expect(reasonIn(await postern.admin.post("/v1/projects", body, elsewhere))).toEqual([400, "IDEMPOTENCY_KEY_REUSED"]);
});

test("what validation trims makes no other request, and neither does the order of JSON fields", async () => {
  const key = keyed();
  const username = randomUUID();
  const first = await postern.admin.post("/v1/users/machine", { username, name: "Robot" }, key);
  const again = await postern.admin.post("/v1/users/machine", { name: " Robot ", username }, key);
  expect([again.status, again.body]).toEqual([200, first.body]);
});

test.each([["a b"], ["x".repeat(201)], ["caf\u00e9"], [""]])("the key %j is refused by its name", async (key) => {
  const answer = await postern.admin.post("/v1/projects", named("project"), keyed(key));
  expect([answer.status, answer.body.details[1]?.fieldViolations]).toEqual([
    400,
    [expect.objectContaining({ field: "idempotency-key", reason: "IDEMPOTENCY_KEY_MALFORMED" })],
  ]);
});

test("on reads and on CreateSession a key means nothing, not even a malformed one", async () => {
  const { username, password } = await signedUp(postern);
  for (const key of [randomUUID(), "a b"]) {
    expect((await postern.admin.get("/v1/users/me", keyed(key))).status).toBe(200);
    const signIn = () => postern.as().post("/v1/sessions", { loginName: username, password }, keyed(key));
    const [one, two] = [await signIn(), await signIn()];
    expect([one.status, two.status]).toEqual([200, 200]);
    expect(one.body.sessionId).not.toBe(two.body.sessionId);
    expect(await recordsOf(key)).toHaveLength(0);
  }
});

test("the answer stays the same after its object was deleted", async () => {
  const key = keyed();
  const body = named("app");
  const first = await makeApp(postern, key, body);
  await postern.admin.delete(`/v1/projects/${fixture.projectId}/applications/${first.body.appId}`);
  expect((await makeApp(postern, key, body)).body).toEqual(first.body);
});

test("a deletion repeated on a node that never saw its object is answered as before, if the caller still may", async () => {
  const user = `/v1/users/${await fixture.newUser()}`;
  const session = `/v1/sessions/${await fixture.newSession()}`;
  const grant = `/v1/user-grants/${await fixture.newUserGrant()}`;
  const key = keyed();
  const first = await Promise.all([user, session, grant].map((path) => postern.admin.delete(path, key)));
  const { client: stranger } = await machine(postern);
  await using other = await node();
  for (const [at, path] of [user, session, grant].entries()) {
    const again = await other.admin.delete(path, key);
    expect([again.status, again.body]).toEqual([200, first[at]?.body]);
    expect((await other.admin.delete(path, keyed())).status).toBe(404);
    expect((await clientOf(other.url, stranger.token).delete(path, key)).status).toBe(403);
  }
});

test("of duplicates on two nodes one has its effect, and all have its answer", async () => {
  await using other = await node();
  for (let round = 0; round < 5; round++) {
    const { client, userId, password } = await signedUp(postern);
    const nodes = [postern.as, (token?: string) => clientOf(other.url, token)];
    const key = keyed();
    const body = { oldPassword: password, newPassword: "Green-Teapot-77" };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => nodes[n % 2]?.(client.token).put("/v1/users/me/password", body, key)),
    );
    for (const answer of answers) expect([answer?.status, answer?.body]).toEqual([200, answers[0]?.body]);
    expect(
      await probe.sql`select from events where stream = ${userId} and type = 'user.password_changed'`,
    ).toHaveLength(1);
  }
});

test("after a rotation of the master key the first answer still comes", async () => {
  await using own = await startPostern();
  const key = keyed();
  const body = { username: randomUUID(), name: "Robot" };
  const { userId } = (await own.admin.post("/v1/users/machine", body, key)).body;
  const first = await own.admin.post(`/v1/users/${userId}/tokens`, {}, key);
  const masterKeys = [randomBytes(32), ...(own.config.masterKeys ?? [])];
  await using rotated = await startServer({ ...own.config, masterKeys });
  const admin = clientOf(rotated.url, own.config.adminToken);
  const again = await admin.post(`/v1/users/${userId}/tokens`, {}, key);
  expect([again.status, again.body]).toEqual([200, first.body]);
  const other = { ...body, name: "Another" };
  expect(reasonIn(await admin.post("/v1/users/machine", other, key))).toEqual([400, "IDEMPOTENCY_KEY_REUSED"]);
});

test("a record is kept for a day and not for longer", async () => {
  const [young, old] = [randomUUID(), randomUUID()];
  const body = { young: named("project"), old: named("project") };
  const first = await postern.admin.post("/v1/projects", body.young, keyed(young));
  const project = await postern.admin.post("/v1/projects", body.old, keyed(old));
  const age = (key: string, hours: number) =>
    probe.sql`update idempotency set created = created - ${`${hours} hours`}::interval where key = ${key}`;
  await age(young, 23.9);
  await age(old, 24.1);
  await expiredRecords(probe.sql, () => new Date(), { idempotencyRetentionSeconds: 86_400 }).batch(500);
  expect((await postern.admin.post("/v1/projects", body.young, keyed(young))).body).toEqual(first.body);
  const anew = await postern.admin.post("/v1/projects", body.old, keyed(old));
  expect([anew.status, anew.body.details[0].metadata.projectId]).toEqual([409, project.body.projectId]);
});

test("a node killed between the effect and its answer: the repeated call has no second effect, and the answer", async () => {
  await using own = await startPostern();
  await using beside = openProbe(own.databaseUrl);
  const { projectId } = (await own.admin.post("/v1/projects", named("project"))).body;
  const path = `/v1/projects/${projectId}/applications/oidc`;
  const body = named("app");
  const key = keyed();
  await slowCommits(beside, 1);
  await using child = await startChild(own.config);
  const cut = clientOf(child.url, own.config.adminToken).post(path, body, key);
  cut.catch(() => {});
  await sleeper(beside);
  await child.kill();
  await expect(cut).rejects.toThrow();
  await vi.waitFor(async () => expect(await beside.sql`select from idempotency`).toHaveLength(1), 60_000);
  await beside.sql`drop trigger slow on events`;
  const again = await own.admin.post(path, body, key);
  expect([again.status, again.body.clientSecret]).toEqual([200, expect.stringMatching(/./)]);
  const [application, ...more] = (await own.admin.get(`/v1/projects/${projectId}/applications`)).body.applications;
  expect([application.id, more]).toEqual([again.body.appId, []]);
  expect((await own.admin.post(path, body, key)).body).toEqual(again.body);
});

test("a caller who hangs up in the middle finds the answer by asking again", async () => {
  await using own = await startPostern();
  await using beside = openProbe(own.databaseUrl);
  await slowCommits(beside, 0.5);
  const body = named("project");
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${own.admin.token}`, "content-type": "application/json", ...keyed() };
  const ask = (signal: AbortSignal | null) =>
    fetch(`${own.url}/v1/projects`, { method: "POST", headers, body: JSON.stringify(body), signal });
  const cut = ask(leaving.signal);
  cut.catch(() => {});
  await sleeper(beside);
  leaving.abort();
  await expect(cut).rejects.toThrow();
  const again = await ask(null);
  expect([again.status, Object.keys((await again.json()) as object)]).toEqual([200, ["projectId", "details"]]);
  expect(await beside.sql`select from projects where name = ${body.name}`).toHaveLength(1);
});

test("a call that fails after its write is not answered with its own record, as a repetition that was overtaken is", async () => {
  let record: DoneBefore | undefined;
  const { once } = idempotency(UserService.method.createAccessToken, {
    recordOf: async () => record,
    keyring: keyring([randomBytes(32)]),
    clock: () => new Date(),
  });
  const outcomeOf = async (isOwn: boolean) => {
    record = undefined;
    const caller = { userId: "ada", organization: "acme" } as Caller;
    const values = createContextValues().set(keys.caller, caller);
    const call: Call = { values, signal: new AbortController().signal, requestHeader: new Headers(keyed()) };
    const failing = async () => {
      const { request, seal } = values.get(keys.idempotency) ?? expect.unreachable();
      record = { request, answer: seal({ tokenId: "1" }) };
      values.set(keys.written, isOwn);
      throw refuse.because("UNAVAILABLE", { retrySeconds: 1 });
    };
    const request = create(CreateAccessTokenRequestSchema, { userId: "bob" });
    return once<unknown>(failing, { request, call }, (answer) => answer).catch(reasonOf);
  };
  expect(await outcomeOf(false)).toMatchObject({ tokenId: "1" });
  expect(await outcomeOf(true)).toBe("UNAVAILABLE");
});
