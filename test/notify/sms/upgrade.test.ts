import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { smsHealth } from "../../../src/notify/sms/outbox.ts";
import type { Sms } from "../../../src/notify/sms/sms.ts";
import { migrate } from "../../../src/postgres/migrate.ts";
import { type Cluster, newDatabase, openTransaction, startCluster } from "../../cluster.ts";
import { gatherAnew, gatherEarlier, migrateToEarlier, startEarlierWorker } from "./earlier_release.ts";
import { node, type Outbox, openOutbox, startWorker } from "./outbox.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

let made = 0;
/** A database as the earlier release left it. */
async function earlierOutbox() {
  const databaseUrl = await newDatabase(cluster, `upgrade_${++made}`);
  await migrateToEarlier(databaseUrl);
  return openOutbox({ databaseUrl });
}

const upgrade = ({ url }: Outbox) => migrate({ url, log });

const left = (outbox: Outbox) => vi.waitFor(async () => expect((await smsHealth(outbox.sql)).waiting).toBe(0), 60_000);

/** Remembers the ids of the SMS that it is handed. */
function recorder() {
  const sent: string[] = [];
  return { sent, sender: async ({ id }: Sms) => void sent.push(id) };
}

test("an SMS that an earlier release wrote and never gathered leaves after the upgrade, whatever transaction is open", async () => {
  await using outbox = await earlierOutbox();
  await using _open = await openTransaction(cluster.url);
  const { id } = await outbox.ask({ earlier: true });
  expect(await gatherEarlier(outbox.sql)).toBe(0);

  await upgrade(outbox);
  const { sent, sender } = recorder();
  await using worker = startWorker(outbox, { sender });
  await vi.waitFor(() => expect(worker.deliveries).toEqual([{ kind: "delivered", id, attempts: 1 }]), 60_000);
  expect(sent).toEqual([id]);
});

test("an SMS that a node of an earlier release writes after the upgrade leaves though that node is gone", async () => {
  await using outbox = await earlierOutbox();
  await upgrade(outbox);
  await using _open = await openTransaction(cluster.url);
  const { id } = await outbox.ask({ earlier: true });
  const { sent, sender } = recorder();
  await using _worker = startWorker(outbox, { sender });
  await vi.waitFor(() => expect(sent).toEqual([id]), 60_000);
});

test("an SMS that was taken before the upgrade keeps its lease and its attempts", async () => {
  await using outbox = await earlierOutbox();
  const { id } = await outbox.ask({ earlier: true });
  await vi.waitFor(async () => expect(await gatherEarlier(outbox.sql)).toBe(1), 60_000);
  await outbox.sql`update sms_messages set attempts = 3, due = now() + interval '1 hour'`;
  await upgrade(outbox);
  const rows = await outbox.sql`select phone_code_id, attempts, due > now() as leased from sms_messages`;
  expect(rows).toEqual([{ phone_code_id: id, attempts: 3, leased: true }]);
});

test("an earlier release that gathers from the log what was delivered makes nobody send it again", async () => {
  await using outbox = await earlierOutbox();
  await upgrade(outbox);
  const { sent, sender } = recorder();
  await using worker = startWorker(outbox, { sender });
  const ids = [(await outbox.ask()).id, (await outbox.ask({ earlier: true })).id];
  await vi.waitFor(() => expect(worker.deliveries).toHaveLength(2), 60_000);

  expect(await gatherEarlier(outbox.sql)).toBe(0);
  await gatherAnew(outbox.sql);
  await vi.waitFor(async () => expect(await gatherEarlier(outbox.sql)).toBe(2), 60_000);
  await left(outbox);
  expect(worker.deliveries.map(({ kind }) => kind)).toEqual(["delivered", "delivered", "superseded", "superseded"]);
  expect(sent.sort()).toEqual(ids.sort());
});

test("nodes of both releases that work side by side through the upgrade send each SMS once", async () => {
  await using outbox = await earlierOutbox();
  await using earlier = node(outbox.url);
  const { sent, sender } = recorder();
  await using _earlier = startEarlierWorker(earlier.sql, outbox.keys, sender);
  const asked = [outbox.ask({ earlier: true })];
  const ask = async (count: number, release: { earlier: boolean }) => {
    for (let n = 0; n < count; n++) {
      asked.push(outbox.ask(release));
      await asked.at(-1);
    }
  };
  const before = ask(60, { earlier: true });
  await upgrade(outbox);
  await before;

  await using other = node(outbox.url);
  await using _one = startWorker(outbox, { sender });
  await using _two = startWorker(outbox, { sender, sql: other.sql });
  // Nothing worse can come of an earlier release: it reads the whole log again while all write and deliver.
  const anew = (async () => {
    for (let n = 0; n < 10; n++) await gatherAnew(outbox.sql);
  })();
  await Promise.all([ask(60, { earlier: true }), ask(60, { earlier: false }), anew]);
  const ids = (await Promise.all(asked)).map(({ id }) => id).sort();
  await vi.waitFor(() => expect(new Set(sent).size).toBe(ids.length), 60_000);
  await left(outbox);
  expect(sent.sort()).toEqual(ids);
});
