import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { untilStepMs } from "../../../src/services/passwords/even_time.ts";
import { openClient } from "../../fixture/database_client.ts";
import { type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern[Symbol.asyncDispose]());

// Of "password", by libxcrypt.
const bcrypt = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe";

const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });

async function imported(passwordHash: string) {
  const username = `u-${randomBytes(6).toString("hex")}`;
  const person = { username, givenName: "Ada", familyName: "Byron", email: "ada@example.com", passwordHash };
  const { status, body } = await postern.admin.post("/v1/users/human", person);
  expect(status, JSON.stringify(body)).toBe(200);
  return { username, userId: body.userId as string };
}

async function storedHash(userId: string) {
  await using database = openClient(postern.databaseUrl);
  const [row] = await database.client<{ hash: string; imported: boolean }[]>`
    select hash, imported from passwords where user_id = ${userId}`;
  return row;
}

test("a user signs in with the password of an imported hash, and then has a hash of ours", async () => {
  const { username, userId } = await imported(bcrypt);
  expect((await signIn(username, "passwort")).status).toBe(401);
  expect(await storedHash(userId)).toEqual({ hash: bcrypt, imported: true });
  expect((await signIn(username, "password")).status).toBe(200);
  const after = await storedHash(userId);
  expect(after?.hash).toMatch(/^\$argon2id\$/);
  expect(after?.imported).toBe(false);
  expect((await signIn(username, "password")).status).toBe(200);
  expect((await signIn(username, "passwort")).status).toBe(401);
});

test("an imported hash never enters the log", async () => {
  const { userId } = await imported(bcrypt);
  const { body } = await postern.admin.get(`/v1/events?objectId=${userId}`);
  expect(body.events).toHaveLength(1);
  expect(JSON.stringify(body)).not.toContain("$2b$");
});

test("a password with an imported hash is changed by its user, and counts as used before", async () => {
  const { username } = await imported(bcrypt);
  const client = postern.as((await signIn(username, "password")).body.token);
  const changed = await client.put("/v1/users/me/password", {
    oldPassword: "password",
    newPassword: "Green-Teapot-77",
  });
  expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  expect((await signIn(username, "Green-Teapot-77")).status).toBe(200);
  expect((await signIn(username, "password")).status).toBe(401);
});

test("wrong guesses at an imported hash lock as any others do", async () => {
  const { username } = await imported(bcrypt);
  const guesses = Array.from({ length: 12 }, () => signIn(username, "passwort"));
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  expect(statuses.filter((status) => status !== 401 && status !== 429)).toEqual([]);
  expect((await signIn(username, "password")).status).toBe(429);
});

test("failed sign-ins are answered in steps of a second while there are imported hashes", () => {
  expect([0, 1, 40, 999, 1000, 1640].map((elapsed) => elapsed + untilStepMs(elapsed))).toEqual([
    ...[1000, 1000, 1000, 1000, 2000, 2000],
  ]);
});

test("an application keeps its client id and the hash of its secret, and neither is given out twice", async () => {
  const { projectId } = (await postern.admin.post("/v1/projects", { name: "From elsewhere" })).body;
  const path = `/v1/projects/${projectId}/applications/oidc`;
  const clientSecretHash = createHash("sha256").update("the secret elsewhere").digest("hex").toUpperCase();
  const created = await postern.admin.post(path, { name: "One", clientId: "https://one.example/", clientSecretHash });
  expect(created.body).toMatchObject({ clientId: "https://one.example/" });
  expect(created.body.clientSecret).toBeUndefined();
  await using database = openClient(postern.databaseUrl);
  const [secret] = await database.client`
    select encode(hash, 'hex') as hash from client_secrets where app_id = ${created.body.appId}`;
  expect(secret?.hash).toBe(clientSecretHash.toLowerCase());
  const generated = (await postern.admin.post(path, { name: "Two" })).body;
  for (const { appId } of [created.body, generated])
    await postern.admin.delete(`/v1/projects/${projectId}/applications/${appId}`);
  for (const clientId of ["https://one.example/", generated.clientId]) {
    const again = await postern.admin.post(path, { name: "Again", clientId });
    expect([again.status, again.body.details[0].reason]).toEqual([409, "ID_TAKEN"]);
  }
});
