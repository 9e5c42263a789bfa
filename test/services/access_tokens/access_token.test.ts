import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorText } from "../../../src/messages/catalogue.ts";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { openClient } from "../../fixture/database_client.ts";
import { withTokens } from "../../fixture/many_tokens.ts";
import {
  type Answer,
  type Client,
  machine,
  type Postern,
  sharedPostern,
  signedUp,
  startPostern,
} from "../../harness.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const make = (userId: string, body = {}, by = postern.admin) => by.post(`/v1/users/${userId}/tokens`, body);
const detail = ({ body }: Answer, name: string) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(`.${name}`));
const refused = (answer: Answer) => [answer.status, detail(answer, "ErrorInfo")?.reason];
const done = (answer: Answer) => {
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
};
const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

test("a token is shown once, stored as a hash, and calls until it is revoked", async () => {
  const { userId } = await machine(postern);
  const made = done(await make(userId));
  expect(made).toMatchObject({ token: expect.stringMatching(/^pt_/), details: { sequence: "1" } });
  const client = postern.as(made.token);
  done(await client.get("/v1/users/me"));
  const { tokens } = done(await client.get(`/v1/users/${userId}/tokens`));
  const { lastUsedDate: _, lastUsedOrigin: __, ...shown } = tokens[0];
  const creatorId = postern.adminId;
  expect(shown).toEqual({ id: made.tokenId, userId, details: made.details, name: "", permissions: [], creatorId });
  expect(JSON.stringify(tokens)).not.toContain(made.token);
  const sql = postgres(driverUrl(postern.databaseUrl), { ...clientOptions(postern.databaseUrl, log), max: 1 });
  const stored = await sql`select payload::text from events where stream = ${made.tokenId}`;
  await sql.end();
  expect(JSON.stringify(stored)).not.toContain(made.token);

  const path = `/v1/users/${userId}/tokens/${made.tokenId}`;
  expect(done(await postern.admin.delete(path)).details).toMatchObject({ sequence: "2" });
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  expect(refused(await postern.admin.delete(path))).toEqual([404, "TOKEN_NOT_FOUND"]);
});

test("the list names who created a token, also where one made another, and when each was last used", async () => {
  const { userId, client, tokenId } = await machine(postern);
  const unused = done(await make(userId, {}, client)).tokenId;
  const list = async () => {
    const { tokens } = done(await postern.admin.get(`/v1/users/${userId}/tokens`));
    return new Map<string, { creatorId: string; lastUsedDate?: string }>(
      tokens.map((one: { id: string }) => [one.id, one]),
    );
  };
  await expect.poll(async () => (await list()).get(tokenId)?.lastUsedDate, { timeout: 30_000 }).toBeDefined();
  const tokens = await list();
  expect([...tokens.values()].map(({ creatorId }) => creatorId)).toEqual([postern.adminId, postern.adminId]);
  expect(Math.abs(Date.parse(tokens.get(tokenId)?.lastUsedDate ?? "") - Date.now())).toBeLessThan(600_000);
  expect(tokens.get(unused)).not.toHaveProperty("lastUsedDate");
});

test("the use of a token is noted once an hour, whatever it does, and a token of an earlier release has the creator in the log", async () => {
  const postern = await startPostern({ cacheSeconds: 0 });
  await using _ = postern;
  await using opened = openClient(postern.databaseUrl);
  const sql = opened.client;
  const { userId, client, tokenId } = await machine(postern);
  const noted = async () => (await sql`select last_used, xmin from bearers where token_id = ${tokenId}`)[0];
  done(await client.get("/v1/users/me"));
  await expect.poll(async () => (await noted())?.last_used, { timeout: 30_000 }).not.toBeNull();
  const before = await noted();
  for (let n = 0; n < 20; n++) done(await client.get("/v1/users/me"));
  expect(await noted()).toEqual(before);
  await sql`update bearers set last_used = now() - interval '61 minutes' where token_id = ${tokenId}`;
  done(await client.get("/v1/users/me"));
  await expect.poll(async () => (await noted())?.last_used > before?.last_used, { timeout: 30_000 }).toBe(true);
  await sql`update access_tokens set creator_id = null where token_id = ${tokenId}`;
  expect(done(await client.get(`/v1/users/${userId}/tokens`)).tokens[0].creatorId).toBe(postern.adminId);
});

test("a token ends with its time, which must be to come", async () => {
  const { userId } = await machine(postern);
  const past = await make(userId, { expirationDate: soon(-1000) });
  expect(refused(past)).toEqual([400, "VALIDATION_FAILED"]);
  expect(detail(past, "BadRequest").fieldViolations).toMatchObject([{ field: "expirationDate" }]);
  // A busy machine may take longer for the calls than the token lasts.
  for (let ms = 700; ; ms *= 4) {
    const expirationDate = soon(ms);
    const made = await make(userId, { expirationDate });
    const client = postern.as(made.body.token);
    const answer = await client.get("/v1/users/me");
    const { tokens } = done(await postern.admin.get(`/v1/users/${userId}/tokens`));
    if (Date.now() >= Date.parse(expirationDate)) continue;
    done(made);
    done(answer);
    expect(Date.parse(tokens[0].expirationDate)).toBe(Date.parse(expirationDate));
    while (Date.now() <= Date.parse(expirationDate)) await pause(50);
    return expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  }
});

test("a repeated request is answered by its record also when its expiration date has passed meanwhile", async () => {
  const { userId } = await machine(postern);
  const key = { "idempotency-key": randomUUID() };
  const path = `/v1/users/${userId}/tokens`;
  let expirationDate = "";
  let first: Answer | undefined;
  // A busy machine may take longer for the call than the time that it asks for.
  for (let ms = 500; first?.status !== 200; ms *= 2) {
    expirationDate = soon(ms);
    first = await postern.admin.post(path, { expirationDate }, key);
  }
  while (Date.now() <= Date.parse(expirationDate)) await pause(50);
  expect(done(await postern.admin.post(path, { expirationDate }, key))).toEqual(first.body);
  const late = await postern.admin.post(path, { expirationDate }, { "idempotency-key": randomUUID() });
  expect(detail(late, "BadRequest").fieldViolations).toMatchObject([{ reason: "EXPIRATION_PAST" }]);
});

test("a token is listed with its name, its end and the permissions that it is limited to", async () => {
  const { userId } = await machine(postern);
  const expirationDate = "2999-01-01T00:00:00Z";
  const asked = { expirationDate, permissions: ["user.read", "event.read"] };
  done(await make(userId, { name: "  nightly export ", ...asked }));
  const [token] = done(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens;
  expect(token).toMatchObject({ name: "nightly export", ...asked });
  const wrong = await make(userId, { permissions: ["user.read", "everything"] });
  expect(detail(wrong, "BadRequest").fieldViolations).toMatchObject([{ field: "permissions[1]" }]);
});

test("a token may last to the end of the year 9999, and is listed; one that was stored with a later end is listed too", async () => {
  const { userId } = await machine(postern);
  const list = async () => done(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens;
  for (const expirationDate of ["9999-12-31T23:59:59.9999995Z", "9999-12-31T23:59:59.999999999Z"]) {
    done(await make(userId, { expirationDate }));
    expect((await list())[0].expirationDate).toBe("9999-12-31T23:59:59.999Z");
  }
  for (const expirationDate of ["10000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"])
    expect(refused(await make(userId, { expirationDate }))).toEqual([400, "VALIDATION_FAILED"]);
  await using database = openClient(postern.databaseUrl);
  await database.client`update access_tokens set expiration_date = '10000-01-01 00:00:00+00' where user_id = ${userId}`;
  expect((await list())[0].expirationDate).toBe("9999-12-31T23:59:59.999Z");
});

test("the operator sets how long a token may last, and then every token has an end", async () => {
  await using strict = await startPostern({ accessTokenLifetimeMaxSeconds: 3600 });
  const robot = { username: "robot", name: "Robot" };
  const path = `/v1/users/${done(await strict.admin.post("/v1/users/machine", robot)).userId}/tokens`;
  for (const body of [{}, { expirationDate: soon(4_000_000) }]) {
    const late = await strict.admin.post(path, body);
    expect(detail(late, "BadRequest").fieldViolations).toMatchObject([
      { field: "expirationDate", reason: "EXPIRATION_LATE", description: errorText("TOKEN_LIFETIME", { max: 3600 }) },
    ]);
  }
  done(await strict.admin.post(path, { expirationDate: soon(3_000_000) }));
});

test("tokens are listed newest first, page by page", async () => {
  const { userId, tokenId } = await machine(postern);
  const made = [tokenId, done(await make(userId)).tokenId, done(await make(userId)).tokenId];
  const first = done(await postern.admin.get(`/v1/users/${userId}/tokens?pageSize=2`));
  const rest = done(await postern.admin.get(`/v1/users/${userId}/tokens?pageSize=2&pageToken=${first.nextPageToken}`));
  const ids = [...first.tokens, ...rest.tokens].map(({ id }: { id: string }) => id);
  expect([ids, rest.nextPageToken]).toEqual([made.toReversed(), ""]);
});

test("one's own tokens need no permission, another's do, and a token belongs to its user", async () => {
  const [one, other] = [await signedUp(postern), await machine(postern)];
  const own = done(await make(one.userId, {}, one.client));
  expect(refused(await make(other.userId, {}, one.client))).toEqual([403, "PERMISSION_DENIED"]);
  const foreign = `/v1/users/${one.userId}/tokens/${other.tokenId}`;
  expect(refused(await one.client.delete(foreign))).toEqual([404, "TOKEN_NOT_FOUND"]);
  done(await one.client.delete(`/v1/users/${one.userId}/tokens/${own.tokenId}`));
});

test("a token made again with its idempotency key is the same token", async () => {
  const { userId } = await machine(postern);
  const key = { "idempotency-key": "token-1" };
  const first = done(await postern.admin.post(`/v1/users/${userId}/tokens`, {}, key));
  expect(done(await postern.admin.post(`/v1/users/${userId}/tokens`, {}, key))).toEqual(first);
});

test("a user has 1,000 tokens at most: one more is refused until one is revoked, and those that expired do not count", async () => {
  const { userId } = await machine(postern);
  // One of them is there already.
  await withTokens(postern.databaseUrl, userId, 998);
  await withTokens(postern.databaseUrl, userId, 50, { expired: true });
  const { tokenId } = done(await make(userId, { expirationDate: soon(3_600_000) }));
  for (const more of [{}, { expirationDate: soon(3_600_000) }])
    expect(refused(await make(userId, more))).toEqual([400, "ACCESS_TOKEN_LIMIT"]);
  done(await make((await machine(postern)).userId));
  done(await postern.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`));
  done(await make(userId));
  expect(refused(await make(userId))).toEqual([400, "ACCESS_TOKEN_LIMIT"]);
});

const works = async (token: string) => (await postern.as(token).get("/v1/users/me")).status === 200;
const revoke = (by: Client, userId: string, tokenId: string) => by.delete(`/v1/users/${userId}/tokens/${tokenId}`);

test("a machine makes its successor, which ends no later than the token that made it", async () => {
  const { userId } = await machine(postern);
  const end = soon(3_000_000);
  const robot = postern.as(done(await make(userId, { expirationDate: end })).token);
  for (const body of [{}, { expirationDate: soon(4_000_000) }]) {
    const late = await make("me", body, robot);
    expect(refused(late)).toEqual([400, "VALIDATION_FAILED"]);
    expect(late.body.message).toBe(errorText("VALIDATION_FAILED", { fields: "expirationDate" }));
    expect(detail(late, "BadRequest").fieldViolations).toMatchObject([
      {
        field: "expirationDate",
        reason: "EXPIRATION_LATE",
        description: errorText("EXPIRATION_AFTER_MAKER", { until: end }),
      },
    ]);
  }
  for (const expirationDate of [end, soon(2_000_000)]) done(await make("me", { expirationDate }, robot));
});

test("a token ends with the one that made it, and so does what it made", async () => {
  const { userId, tokenId, client } = await machine(postern);
  const child = done(await make("me", {}, client)).token;
  const grandchild = done(await make("me", {}, postern.as(child))).token;
  const other = done(await make(userId)).token;
  done(await revoke(postern.admin, userId, tokenId));
  await expect.poll(async () => [await works(child), await works(grandchild)]).toEqual([false, false]);
  expect(await works(other)).toBe(true);
  expect(done(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens).toHaveLength(1);
});

test("a successor that revokes its maker takes its place", async () => {
  const { userId, tokenId: root, client } = await machine(postern);
  const second = done(await make("me", {}, client));
  const third = done(await make("me", {}, postern.as(second.token)));
  const beside = done(await make("me", {}, postern.as(second.token))).token;
  done(await revoke(postern.as(third.token), "me", second.tokenId));
  await expect.poll(async () => [await works(second.token), await works(beside)]).toEqual([false, false]);
  expect(await works(third.token)).toBe(true);
  // It ends with the token that made its maker all the same.
  done(await revoke(postern.admin, userId, root));
  await expect.poll(() => works(third.token)).toBe(false);
});

test("what a token makes while it is revoked does not outlive it", async () => {
  for (let round = 0; round < 10; round++) {
    const { userId, tokenId, client } = await machine(postern);
    const [made, gone] = await Promise.all([make("me", {}, client), revoke(postern.admin, userId, tokenId)]);
    done(gone);
    if (made.status === 200) await expect.poll(() => works(made.body.token)).toBe(false);
    else expect(refused(made)).toEqual([401, "TOKEN_INVALID"]);
    expect(done(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens).toEqual([]);
  }
});

test("a password that an administrator sets ends the tokens of the user, and one's own change does not", async () => {
  const { userId, password, client } = await signedUp(postern);
  const token = done(await make(userId)).token;
  const passwords = { oldPassword: password, newPassword: "Green-Teapot-43" };
  done(await client.put("/v1/users/me/password", passwords));
  expect(await works(token)).toBe(true);
  done(await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-44" }));
  await expect.poll(() => works(token)).toBe(false);
  expect(done(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens).toEqual([]);
});

test("who sets its own password by a token keeps that one alone", async () => {
  const { userId } = await signedUp(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }));
  const [kept, ended] = [done(await make(userId)).token, done(await make(userId)).token];
  done(await postern.as(kept).put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-44" }));
  await expect.poll(() => works(ended)).toBe(false);
  expect(await works(kept)).toBe(true);
});

test("what a session makes while it ends does not outlive it", async () => {
  for (let round = 0; round < 5; round++) {
    const { userId, client } = await signedUp(postern);
    let isSet = false;
    const makesOn = async () => {
      while (!isSet) await make("me", {}, client);
    };
    const making = Array.from({ length: 6 }, makesOn);
    const path = `/v1/users/${userId}/password`;
    // A token that came meanwhile may win the race.
    await expect.poll(async () => (await postern.admin.put(path, { newPassword: "Green-Teapot-44" })).status).toBe(200);
    isSet = true;
    await Promise.all(making);
    expect(done(await postern.admin.get(`/v1/users/${userId}/tokens`)).tokens).toEqual([]);
  }
});
