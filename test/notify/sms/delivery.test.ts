import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { doctor } from "../../../src/maintenance/doctor.ts";
import { type Cluster, newDatabase, openTransaction, startCluster } from "../../cluster.ts";
import { type Answer, type Postern, signedUp, startPostern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { idsOf, type Provider, type Received, startProvider } from "../provider.ts";

let cluster: Cluster;
let provider: Provider;
/** The numbers whose SMS the provider does not take for now. */
const refused = new Set<string>();
let nodes: Postern[];
const nodeOn = (databaseUrl: string, more: Partial<Config> = {}) => {
  const webhook = { smsSender: "webhook", smsWebhookUrl: provider.url, smsWebhookSecret: Buffer.alloc(32) } as const;
  return startPostern({ databaseUrl, ...webhook, ...more });
};

beforeAll(async () => {
  cluster = await startCluster();
  provider = await startProvider((response, received) => {
    response.statusCode = refused.has(numberOf(received)) ? 503 : 204;
    response.end();
  });
  const databaseUrl = await newDatabase(cluster, "service");
  const first = await nodeOn(databaseUrl);
  nodes = [first, await nodeOn(databaseUrl, { ...first.config, port: 0 })];
});
afterAll(async () => {
  for (const node of nodes ?? []) await node[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

let numbers = 0;
const newNumber = () => `+4179${String(3_000_000 + ++numbers)}`;
const answered = ({ status, body }: Answer) => expect([status, body]).toEqual([200, expect.anything()]);
const numberOf = ({ body }: Received): string => JSON.parse(body).data.to;
const sentTo = (phone: string) => provider.received.filter((one) => numberOf(one) === phone);
const asked = <T extends object>(statement: string) => ask<T>(nodes[0]?.databaseUrl ?? "", statement);

type CodeRequests = { phones?: readonly string[]; through?: (nth: number) => Postern | undefined };

/** Asks for a code for each user, all at once; answers the numbers. */
async function askAtOnce(
  userIds: readonly string[],
  { phones, through }: CodeRequests = {},
): Promise<readonly string[]> {
  const numbers = phones ?? userIds.map(newNumber);
  const change = async (userId: string, nth: number) => {
    const node = (through ? through(nth) : nodes[0]) ?? expect.unreachable();
    answered(await node.admin.post(`/v1/users/${userId}/phone`, { phone: numbers[nth] }));
  };
  await Promise.all(userIds.map(change));
  return numbers;
}

const users = async (count: number) => {
  const [postern = expect.unreachable()] = nodes;
  const people = await Promise.all(Array.from({ length: count }, () => signedUp(postern)));
  return people.map(({ userId }) => userId);
};

const unsettled = async () => {
  const [row] = await asked<{ unsettled: boolean }>(
    "select bool_or(not is_settled(epoch, xid)) as unsettled from events",
  );
  return row?.unsettled;
};

// Transactions of every database of a server count for the order of the log of events.
test("SMS leave while a transaction of another database stays open, ten written at once too", async () => {
  const userIds = await users(10);
  await using _open = await openTransaction(cluster.url);
  const phones = await askAtOnce(userIds);
  await vi.waitFor(() => expect(phones.map((phone) => sentTo(phone).length)).toEqual(phones.map(() => 1)), 60_000);
  expect(await unsettled()).toBe(true);
});

test("SMS written on two nodes leave once each while a transaction of another database stays open", async () => {
  const userIds = await users(20);
  await using _open = await openTransaction(cluster.url);
  const phones = await askAtOnce(userIds, { through: (nth) => nodes[nth % 2] });
  await vi.waitFor(() => expect(phones.every((phone) => sentTo(phone).length > 0)).toBe(true), 60_000);
  expect(await unsettled()).toBe(true);
  expect(new Set(idsOf(provider.received)).size).toBe(provider.received.length);
});

test("a user created with a phone gets its code while a transaction of another database stays open", async () => {
  const [postern = expect.unreachable()] = nodes;
  await using _open = await openTransaction(cluster.url);
  const phone = newNumber();
  const person = { username: `p${phone}`, givenName: "Ada", familyName: "Byron", email: "ada@example.com", phone };
  answered(await postern.admin.post("/v1/users/human", person));
  await vi.waitFor(() => expect(sentTo(phone)).toHaveLength(1), 60_000);
  expect(await unsettled()).toBe(true);
});

/** Asks for codes that the provider never takes, until it has refused each once. */
async function askInVain(userIds: readonly string[]): Promise<void> {
  const phones = userIds.map(newNumber);
  for (const phone of phones) refused.add(phone);
  await askAtOnce(userIds, { phones });
  await vi.waitFor(() => expect(phones.every((phone) => sentTo(phone).length > 0)).toBe(true), 60_000);
}

test("what waits for the provider is not sent once the phone is removed or replaced, or the user deleted or deactivated", async () => {
  const [postern = expect.unreachable()] = nodes;
  const [removed = "", replaced = "", deleted = "", deactivated = ""] = await users(4);
  await askInVain([removed, replaced, deleted, deactivated]);
  answered(await postern.admin.delete(`/v1/users/${removed}/phone`));
  const [newer = ""] = await askAtOnce([replaced]);
  answered(await postern.admin.delete(`/v1/users/${deleted}`));
  answered(await postern.admin.post(`/v1/users/${deactivated}:deactivate`));
  // The provider still refuses the old numbers, so their messages go only because nobody needs them.
  await asked("update sms_messages set due = now()");
  await vi.waitFor(async () => expect(await asked("select from sms_messages")).toHaveLength(0), 60_000);
  expect(sentTo(newer)).toHaveLength(1);
});

test("a rebuild writes no message, and no event holds what is sealed or signed", async () => {
  const [postern = expect.unreachable()] = nodes;
  await askInVain(await users(3));
  const messages = () => asked("select phone_code_id, created from sms_messages order by phone_code_id");
  const before = await messages();
  expect(before).toHaveLength(3);
  const { ok, lines } = await doctor(postern.config, { rebuild: true });
  expect([ok, lines.join()]).toEqual([
    true,
    expect.stringContaining("tables: the same as those that replaying the log gives"),
  ]);
  expect(await messages()).toEqual(before);

  const found = await asked(`
    select from events e join phone_codes c on position(encode(c.mac, 'hex') in e.payload::text) > 0
      or position(encode(c.sealed, 'hex') in e.payload::text) > 0 or position(encode(c.sealed, 'base64') in e.payload::text) > 0`);
  expect(found).toEqual([]);
});

test("a code has one message: none when it is answered, and none more when tries are counted", async () => {
  const [postern = expect.unreachable()] = nodes;
  const [userId = ""] = await users(1);
  const phone = newNumber();
  answered(await postern.admin.post(`/v1/users/${userId}/phone`, { phone, returnCode: {} }));
  const messages = () => asked(`select from sms_messages where user_id = '${userId}'`);
  expect(await messages()).toHaveLength(0);

  refused.add(phone);
  answered(await postern.admin.post(`/v1/users/${userId}/phone:resend`));
  expect(await messages()).toHaveLength(1);
  await asked(`delete from sms_messages where user_id = '${userId}'`);
  const tried = await postern.admin.post(`/v1/users/${userId}/phone:verify`, { verificationCode: "222222" });
  expect(tried.status).toBe(400);
  expect(await messages()).toHaveLength(0);
});
