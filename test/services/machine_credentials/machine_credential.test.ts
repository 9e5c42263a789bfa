import { createPrivateKey, createPublicKey, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keyGenerator } from "../../../src/services/machine_credentials/key_file.ts";
import { loseDeadlocks } from "../../fixture/deadlocks.ts";
import { newJwk } from "../../fixture/jwk.ts";
import { type Answer, machine, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const newMachine = async (organizationId?: string) =>
  (await machine(postern, organizationId === undefined ? {} : { organizationId })).userId;
const newSecret = (userId: string, body = {}, by = postern.admin) => by.post(`/v1/users/${userId}/secrets`, body);
const addKey = (userId: string, body: object = { publicKey: newJwk() }, by = postern.admin) =>
  by.post(`/v1/users/${userId}/keys`, body);
const listed = async (userId: string, by = postern.admin) => done(await by.get(`/v1/users/${userId}/credentials`));
const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

test("a secret is shown once and kept as a hash, and a machine has one client id for all of its credentials", async () => {
  const userId = await newMachine();
  expect(await listed(userId)).toEqual({ credentials: [] });
  const made = done(await newSecret(userId));
  expect(made).toMatchObject({ clientSecret: expect.stringMatching(/^cs_/), details: { sequence: "1" } });
  const key = done(await addKey(userId, { publicKey: newJwk("k1"), accessTokenType: "OIDC_TOKEN_TYPE_JWT" }));
  expect(key).toEqual({ ...key, clientId: made.clientId, kid: "k1" });
  expect(key).not.toHaveProperty("keyFile");
  const { events } = done(await postern.admin.get(`/v1/events?aboutUserId=${userId}`));
  expect(events.map(({ type }: { type: string }) => type).reverse()).toEqual([
    "user.machine_created",
    "access_token.created",
    "user.client_id_assigned",
    "machine_credential.created",
    "machine_credential.created",
  ]);
  const { credentials, clientId } = await listed(userId);
  const all = { userId, creatorId: postern.adminId };
  expect(clientId).toBe(made.clientId);
  expect(credentials).toEqual([
    { ...all, id: made.credentialId, details: made.details, accessTokenType: "OIDC_TOKEN_TYPE_BEARER" },
    {
      ...all,
      ...{ id: key.credentialId, details: key.details, accessTokenType: "OIDC_TOKEN_TYPE_JWT" },
      publicKey: expect.objectContaining({ kid: "k1", kty: "EC" }),
    },
  ]);
  const stored = await ask(postern.databaseUrl, "select payload::text from events where type like 'machine_cred%'");
  expect(JSON.stringify([credentials, stored])).not.toContain(made.clientSecret);
});

test("a secret replaces the one before at once, or after an overlap, and there are never more than two", async () => {
  const userId = await newMachine();
  const first = done(await newSecret(userId));
  expect(first).not.toHaveProperty("previousSecretExpirationDate");
  const second = done(await newSecret(userId, { overlap: "60s" }));
  const until = Date.parse(second.previousSecretExpirationDate) - Date.parse(second.details.changeDate);
  expect(until).toBe(60_000);
  const idsOf = async () => (await listed(userId)).credentials.map(({ id }: { id: string }) => id);
  expect(await idsOf()).toEqual([first.credentialId, second.credentialId]);
  const third = done(await newSecret(userId, { overlap: "60s" }));
  expect(await idsOf()).toEqual([second.credentialId, third.credentialId]);
  const fourth = done(await newSecret(userId));
  expect(await idsOf()).toEqual([fourth.credentialId]);
  expect(refused(await newSecret(userId, { overlap: "2592001s" }))).toEqual([400, "VALIDATION_FAILED"]);
});

test("of secrets created at once, one lasts", async () => {
  const userId = await newMachine();
  done(await addKey(userId));
  const lasting = async () =>
    (await listed(userId)).credentials.filter(
      (one: Record<string, unknown>) => !("publicKey" in one || "expirationDate" in one),
    );
  for (const overlap of ["0s", "60s", "0s", "60s"]) {
    await Promise.all([1, 2, 3].map(async () => done(await newSecret(userId, { overlap }))));
    const last = await lasting();
    expect(last.length).toBe(1);
    for (const { id } of (await listed(userId)).credentials.slice(1))
      await postern.admin.delete(`/v1/users/${userId}/credentials/${id}`);
  }
});

test("a machine has at most 20 keys, however many are added at once", async () => {
  const userId = await newMachine();
  done(await newSecret(userId));
  const where = `user_id = '${userId}'`;
  await using _ = await loseDeadlocks(postern.databaseUrl, { table: "machine_credentials", where, times: 3 });
  const keyed = Array.from({ length: 25 }, () => {
    const [body, header] = [{ publicKey: newJwk() }, { "idempotency-key": randomUUID() }];
    return () => postern.admin.post(`/v1/users/${userId}/keys`, body, header);
  });
  const addAll = () => Promise.all(keyed.map((add) => add()));
  // Nobody is told of a key that was removed again, nor by the answer to a repetition.
  const answers = [...(await addAll()), ...(await addAll())];
  const told = answers.filter(({ status }) => status === 200).map(({ body }) => body.credentialId);
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect(refused(answer)).toEqual([400, "MACHINE_KEY_LIMIT"]);
  const keys = (await listed(userId)).credentials.filter((one: object) => "publicKey" in one);
  expect(keys.map(({ id }: { id: string }) => id).sort()).toEqual([...new Set(told)].sort());
  expect(keys.length).toBeLessThanOrEqual(20);
});

test("keys are generated one at a time, and none for a call that is gone", async () => {
  const [generate, leaving] = [keyGenerator(), new AbortController()];
  const first = generate(new AbortController().signal);
  const second = generate(leaving.signal);
  leaving.abort(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  expect((await first).privateKey).toContain("BEGIN PRIVATE KEY");
});

test("a generated key comes once in a file with all that a client needs", async () => {
  const userId = await newMachine();
  const expirationDate = soon(3_600_000);
  const made = done(await addKey(userId, { expirationDate }));
  const file = JSON.parse(made.keyFile);
  expect(file).toEqual({
    ...{ clientId: made.clientId, keyId: made.kid, algorithm: "RS256", expirationDate },
    issuer: expect.stringMatching(/^http:\/\/localhost:\d+$/),
    tokenEndpoint: `${file.issuer}/oauth/token`,
    privateKey: expect.stringContaining("BEGIN PRIVATE KEY"),
  });
  const { credentials } = await listed(userId);
  const { n, e } = createPublicKey(createPrivateKey(file.privateKey)).export({ format: "jwk" });
  expect(credentials[0].publicKey).toMatchObject({ n, e, kty: "RSA", kid: made.kid, alg: "RS256" });
  expect(JSON.stringify(credentials)).not.toContain("PRIVATE");
});

test("a key must be a usable public key of the future", async () => {
  const userId = await newMachine();
  const wrong = await addKey(userId, {
    publicKey: { kty: "EC", crv: "P-256", x: "AQAB" },
    expirationDate: soon(-1000),
  });
  expect(refused(wrong)).toEqual([400, "VALIDATION_FAILED"]);
  const fields = wrong.body.details.flatMap((one: { fieldViolations?: { field: string }[] }) =>
    (one.fieldViolations ?? []).map(({ field }) => field),
  );
  expect(fields.sort()).toEqual(["expirationDate", "publicKey.y"]);
});

test("only machines have credentials, and none creates its own", async () => {
  const person = await signedUp(postern);
  expect(refused(await newSecret(person.userId))).toEqual([400, "USER_NOT_MACHINE"]);
  expect(refused(await addKey(person.userId))).toEqual([400, "USER_NOT_MACHINE"]);
  const { userId, client } = await machine(postern);
  expect(refused(await newSecret(userId, {}, client))).toEqual([403, "PERMISSION_DENIED"]);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }));
  const owner = postern.as(done(await postern.admin.post(`/v1/users/${userId}/tokens`)).token);
  expect(refused(await newSecret(userId, {}, owner))).toEqual([400, "OWN_MACHINE_CREDENTIAL"]);
  expect(refused(await addKey(userId, {}, owner))).toEqual([400, "OWN_MACHINE_CREDENTIAL"]);
  expect(await listed(userId, owner)).toEqual({ credentials: [] });
});

test("a credential that a lesser administrator created ends when its machine gets more", async () => {
  const organizationId = await organization(postern);
  const here = { "x-service-orgid": organizationId };
  const { userId: managerId, client: manager } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId: managerId, roles: ["ORG_USER_MANAGER"] }, here));
  const userId = await newMachine(organizationId);
  done(await newSecret(userId, {}, manager));
  done(await addKey(userId, undefined, manager));
  const kept = done(await addKey(userId));
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, here));
  const { credentials } = await listed(userId);
  expect(credentials.map(({ id }: { id: string }) => id)).toEqual([kept.credentialId]);
  expect(refused(await newSecret(userId, {}, manager))).toEqual([403, "PERMISSION_DENIED"]);
});

test("credentials end with their machine, whose client id is never given again", async () => {
  const userId = await newMachine();
  const { clientId } = done(await newSecret(userId));
  done(await addKey(userId));
  done(await postern.admin.delete(`/v1/users/${userId}`));
  const left = await ask(
    postern.databaseUrl,
    `select (select count(*) from machine_credentials where user_id = '${userId}')::integer as credentials,
      (select count(*) from machine_client_ids where client_id = '${clientId}')::integer as ids,
      (select count(*) from used_client_ids where client_id = '${clientId}')::integer as used`,
  );
  expect(left).toEqual([{ credentials: 0, ids: 0, used: 1 }]);
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: `of ${userId}` }));
  const taken = await postern.admin.post(`/v1/projects/${projectId}/applications/api`, { name: "API", clientId });
  expect(refused(taken)).toEqual([409, "ID_TAKEN"]);
});

test("a node of before the upgrade that deletes a machine leaves no client id behind, and it stays used up", async () => {
  const robot = { username: `robot-${randomUUID()}`, name: "Robot" };
  const { userId } = done(await postern.admin.post("/v1/users/machine", robot));
  const { clientId, credentialId } = done(await newSecret(userId));
  done(await postern.admin.delete(`/v1/users/${userId}/credentials/${credentialId}`));
  // Such a node knows the directory of names only.
  const ended = `with gone as (delete from login_names where user_id = '${userId}') delete from users where user_id = '${userId}'`;
  await ask(postern.databaseUrl, ended);
  const left = await ask(
    postern.databaseUrl,
    `select (select count(*) from machine_client_ids where client_id = '${clientId}')::integer as ids,
      (select count(*) from used_client_ids where client_id = '${clientId}')::integer as used`,
  );
  expect(left).toEqual([{ ids: 0, used: 1 }]);
});
