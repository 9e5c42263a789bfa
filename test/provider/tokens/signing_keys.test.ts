import { randomBytes } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Call, newId } from "../../../src/deps.ts";
import { openLog } from "../../../src/events/log.ts";
import { signJwt } from "../../../src/provider/tokens/jwt.ts";
import { type SigningKeys, signingKeys } from "../../../src/provider/tokens/signing_keys.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { secretsOf } from "../../../src/security/secrets.ts";
import { freshDatabase, type TestDatabase } from "../../database.ts";
import { openClient } from "../../fixture/database_client.ts";
import { ask } from "../../postgres/embedded/holder.ts";

const cheap = { concurrency: 1, queue: 8, memoryKib: 64, iterations: 1, parallelism: 1 };

// Beside a service, whose chores rotate keys too, it would be chance who does.
let database: TestDatabase;
let opened: ReturnType<typeof openClient>;
beforeAll(async () => {
  database = await freshDatabase();
  opened = openClient(database.url);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

const [old, fresh] = [randomBytes(32), randomBytes(32)];
let instance = 0;
beforeEach(async () => {
  instance += 1;
  await ask(database.url, "delete from signing_keys");
});

/** The keys as a node with these master keys has them, which has read none yet. */
function nodeWith(...masterKeys: readonly Buffer[]): SigningKeys {
  const sql = opened.client;
  const originOf = () => ({ actor: undefined, requestId: newId(), signal: undefined, idempotency: undefined });
  const log = openLog<Call>({ sql, folds, ids: newId, originOf });
  const secrets = secretsOf(masterKeys, cheap);
  return signingKeys({ log, sql, clock: () => new Date(), ids: newId, secrets, instanceId: `instance ${instance}` });
}

const kidOf = async (keys: SigningKeys) => (await keys.signer("RS256")).kid;
const published = async (keys: SigningKeys) =>
  (await keys.published()).filter(({ alg }) => alg === "RS256").map(({ kid }) => kid);
const age = (days: number) =>
  ask(database.url, `update signing_keys set signs_from = signs_from - interval '${days} days'`);

test("the next key is published for a day before it signs, and the one before it long after", async () => {
  const first = await kidOf(nodeWith(old));
  expect(await nodeWith(old).rotate()).toBe(0);
  const token = await signJwt(nodeWith(old), { type: "JWT", algorithm: "RS256", claims: { sub: "ada" } });
  await age(90);
  expect([await nodeWith(old).rotate(), await nodeWith(old).rotate()]).toEqual([2, 0]);
  const [, second] = await published(nodeWith(old));
  expect([await kidOf(nodeWith(old)), await published(nodeWith(old))]).toEqual([first, [first, second]]);
  await age(2);
  expect([await kidOf(nodeWith(old)), await published(nodeWith(old))]).toEqual([second, [first, second]]);
  await jwtVerify(token, createLocalJWKSet({ keys: [...(await nodeWith(old).published())] }));
  await age(91);
  expect(await published(nodeWith(old))).toEqual([second]);
});

test("nodes that rotate at once make one key", async () => {
  await nodeWith(old).published();
  await age(90);
  await Promise.all(Array.from({ length: 5 }, () => nodeWith(old).rotate()));
  expect((await published(nodeWith(old))).length).toBe(2);
});

test("after a rotation of the master key the same key signs, also when the old master key is gone", async () => {
  const first = await kidOf(nodeWith(old));
  expect(await kidOf(nodeWith(fresh, old))).toBe(first);
  expect(await nodeWith(fresh, old).rotate()).toBe(2);
  expect(await kidOf(nodeWith(fresh))).toBe(first);
});

test("with a lost master key another key signs at once", async () => {
  const first = await kidOf(nodeWith(old));
  const second = await kidOf(nodeWith(fresh));
  expect(second).not.toBe(first);
  expect([await kidOf(nodeWith(fresh)), await published(nodeWith(fresh))]).toEqual([second, [first, second]]);
});
