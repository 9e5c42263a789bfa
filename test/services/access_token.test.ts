import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOptions, driverUrl } from "../../src/postgres/connect.ts";
import { type Answer, machine, type Postern, signedUp, startPostern } from "../harness.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
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
  expect(tokens[0]).toEqual({ id: made.tokenId, userId, details: made.details, name: "", permissions: [] });
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

test("the operator sets how long a token may last, and then every token has an end", async () => {
  await using strict = await startPostern({ accessTokenLifetimeMaxSeconds: 3600 });
  const path = `/v1/users/${strict.adminId}/tokens`;
  for (const body of [{}, { expirationDate: soon(4_000_000) }]) {
    const late = await strict.admin.post(path, body);
    expect(detail(late, "BadRequest").fieldViolations).toMatchObject([
      { field: "expirationDate", reason: "EXPIRATION_LATE", description: "must be within 3600 seconds from now" },
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
