import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { backoffSeconds } from "../../../src/notify/deliveries.ts";
import { NotTaken } from "../../../src/notify/not_taken.ts";
import { deadSms, smsChores, smsHealth } from "../../../src/notify/sms/outbox.ts";
import type { Sms } from "../../../src/notify/sms/sms.ts";
import { webhookSender } from "../../../src/notify/sms/webhook_sender.ts";
import { keyring } from "../../../src/security/seal.ts";
import { idsOf, startProvider } from "../provider.ts";
import { node, type Outbox, openOutbox, startWorker } from "./outbox.ts";
import { whenAwaited } from "./when_awaited.ts";

const posting = (url: string) => webhookSender({ url, secret: Buffer.alloc(32) }, () => new Date());
const settled = (outbox: Outbox, health: { waiting: number; dead: number }) =>
  vi.waitFor(async () => expect(await smsHealth(outbox.sql)).toMatchObject(health), 60_000);

test("an SMS leaves with its code and number, and nothing sealed is kept", async () => {
  await using outbox = await openOutbox();
  const sent: Sms[] = [];
  await using worker = startWorker(outbox, { sender: async (sms) => void sent.push(sms) });
  const { id, code, phone } = await outbox.ask();
  await vi.waitFor(() => expect(worker.deliveries).toEqual([{ kind: "delivered", id, attempts: 1 }]), 60_000);
  expect(sent).toEqual([{ id, to: phone, text: `${code} is your verification code.` }]);
  expect(await outbox.sql`select sealed from phone_codes`).toEqual([{ sealed: null }]);
  expect(await outbox.sql`select from sms_messages`).toHaveLength(0);
});

test("a provider that is down for a while is tried again, later each time", async () => {
  await using outbox = await openOutbox();
  await using provider = await startProvider((response, _, nth) => {
    response.statusCode = nth < 3 ? 503 : 204;
    response.end();
  });
  const { id } = await outbox.ask();
  await using worker = startWorker(outbox, { sender: posting(provider.url) });
  await vi.waitFor(() => expect(worker.deliveries).toHaveLength(3), 60_000);
  const failure = "it answered 503";
  expect(worker.deliveries).toMatchObject([
    { kind: "postponed", id, attempts: 1, failure },
    { kind: "postponed", id, attempts: 2, failure },
    { kind: "delivered", id, attempts: 3 },
  ]);
  expect(idsOf(provider.received)).toEqual([id, id, id]);
});

test("waits grow to a minute and never fall together", () => {
  const waits = [1, 2, 3, 4, 7, 30].map((attempts) => backoffSeconds(attempts, () => 1));
  expect(waits).toEqual([1, 2, 4, 8, 60, 60]);
  expect(backoffSeconds(7, () => 0)).toBe(30);
});

test("a provider that asks for patience gets it", async () => {
  await using outbox = await openOutbox();
  await using provider = await startProvider((response) => response.writeHead(429, { "retry-after": "90" }).end());
  await outbox.ask();
  await using worker = startWorker(outbox, { sender: posting(provider.url) });
  await vi.waitFor(() => expect(worker.deliveries).toMatchObject([{ kind: "postponed", seconds: 90 }]), 60_000);
});

test("an SMS that is refused for good is dead, and seen", async () => {
  await using outbox = await openOutbox();
  await using provider = await startProvider((response, { body }) =>
    response.writeHead(400).end(`cannot send ${body}`),
  );
  const { id, code, userId } = await outbox.ask();
  await using worker = startWorker(outbox, { sender: posting(provider.url) });
  await settled(outbox, { waiting: 0, dead: 1 });
  expect(provider.received).toHaveLength(1);
  const [dead] = await deadSms(outbox.sql, 10);
  expect(dead).toMatchObject({ id, owner: "org", userId, attempts: 1, failure: "it answered 400" });
  // It can be sent again.
  expect(await outbox.sql`select sealed is not null as kept from phone_codes`).toEqual([{ kept: true }]);
  expect(JSON.stringify([dead, worker.deliveries])).not.toContain(code);
});

test("an SMS that nobody takes is dead after the last try", async () => {
  await using outbox = await openOutbox();
  await using provider = await startProvider((response) => response.writeHead(500).end());
  await outbox.ask();
  await using worker = startWorker(outbox, { sender: posting(provider.url), attempts: 2 });
  await settled(outbox, { waiting: 0, dead: 1 });
  expect(worker.deliveries.map(({ kind }) => kind)).toEqual(["postponed", "dead"]);
});

test("a provider that does not answer costs one time-out and holds up nobody else", async () => {
  await using outbox = await openOutbox();
  await using provider = await startProvider((response, _, nth) => void (nth > 1 && response.end()));
  await using worker = startWorker(outbox, { sender: posting(provider.url), timeoutMs: 4_000 });
  const slow = await outbox.ask();
  await vi.waitFor(() => expect(provider.received).toHaveLength(1), 60_000);
  const other = await outbox.ask();
  await vi.waitFor(() => expect(worker.deliveries).toHaveLength(2), 60_000);
  expect(worker.deliveries).toMatchObject([
    { kind: "delivered", id: other.id },
    { kind: "postponed", id: slow.id, failure: "it did not answer in time" },
  ]);
});

test("a code that expired is not sent but given up", async () => {
  await using outbox = await openOutbox();
  await outbox.ask();
  outbox.clock.now = () => new Date(Date.now() + 11 * 60_000);
  const sent: Sms[] = [];
  await using _worker = startWorker(outbox, { sender: async (sms) => void sent.push(sms) });
  await settled(outbox, { waiting: 0, dead: 1 });
  expect(sent).toEqual([]);
  const [dead] = await deadSms(outbox.sql, 10);
  expect(dead?.failure).toBe("the code expired before the SMS was taken");
});

test("a code that a newer one replaced is not sent", async () => {
  await using outbox = await openOutbox();
  const { userId } = await outbox.ask();
  const newer = await outbox.ask({ userId, version: 2n });
  const sent: Sms[] = [];
  await using worker = startWorker(outbox, { sender: async (sms) => void sent.push(sms) });
  await vi.waitFor(() => expect(worker.deliveries).toHaveLength(2), 60_000);
  expect(sent.map(({ id }) => id)).toEqual([newer.id]);
  await settled(outbox, { waiting: 0, dead: 0 });
});

test("a message that no key opens is given up, and a message that ends every worker too", async () => {
  await using outbox = await openOutbox();
  await outbox.ask();
  const sender = async () => {};
  {
    await using _worker = startWorker(outbox, { sender, keyring: keyring([randomBytes(32)]) });
    await settled(outbox, { waiting: 0, dead: 1 });
  }
  await outbox.ask();
  await outbox.sql`update sms_messages set attempts = 10 where dead is null`;
  await using _worker = startWorker(outbox, { sender });
  await settled(outbox, { waiting: 0, dead: 2 });
  const failures = (await deadSms(outbox.sql, 10)).map(({ failure }) => failure);
  expect(failures).toEqual(["every try ended with its worker", "no master key opens the code"]);
});

test("two nodes share the work, and each SMS leaves once", async () => {
  await using outbox = await openOutbox();
  await using other = node(outbox.url);
  // One node holds 16 at most, so the next one that comes is of the other.
  const held: ServerResponse[] = [];
  await using provider = await startProvider((response) => {
    held.push(response);
    if (provider.received.length > 16) for (const one of held.splice(0)) one.end();
  });
  const sender = posting(provider.url);
  await using one = startWorker(outbox, { sender });
  await using two = startWorker(outbox, { sender, sql: other.sql });
  const asked = await Promise.all(Array.from({ length: 120 }, () => outbox.ask()));
  await vi.waitFor(() => expect(one.deliveries.length + two.deliveries.length).toBe(120), 60_000);
  expect(idsOf(provider.received).sort()).toEqual(asked.map(({ id }) => id).sort());
  expect(Math.min(one.deliveries.length, two.deliveries.length)).toBeGreaterThan(0);
});

test("a worker looks at once when its node wrote a message", async () => {
  await using outbox = await openOutbox();
  let looks = 0;
  const counted = whenAwaited(outbox.sql, (_, ask) => ask().finally(() => looks++));
  const { onWritten } = outbox;
  await using worker = startWorker(outbox, { sender: async () => {}, sql: counted, onWritten, everyMs: 3_600_000 });
  await vi.waitFor(() => expect(looks).toBe(1), 60_000);
  const { id } = await outbox.ask();
  await vi.waitFor(() => expect(worker.deliveries).toMatchObject([{ kind: "delivered", id }]), 60_000);
});

test("an outage of the database between delivery and its note repeats nothing", async () => {
  await using outbox = await openOutbox();
  let down = false;
  const flaky = whenAwaited(outbox.sql, (_, ask) => (down ? Promise.reject(new Error("down")) : ask()));
  const sent: Sms[] = [];
  const sender = async (sms: Sms) => {
    sent.push(sms);
    down = true;
    setTimeout(() => (down = false), 700);
  };
  await outbox.ask();
  await using worker = startWorker(outbox, { sender, sql: flaky, onError: () => {} });
  await vi.waitFor(() => expect(worker.deliveries).toMatchObject([{ kind: "delivered" }]), 60_000);
  expect(sent).toHaveLength(1);
});

test("a worker that is closed finishes what it began", async () => {
  await using outbox = await openOutbox();
  await outbox.ask();
  let began = () => {};
  const beginning = new Promise<void>((resolve) => (began = resolve));
  const worker = startWorker(outbox, {
    sender: async () => {
      began();
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
  });
  await beginning;
  await worker[Symbol.asyncDispose]();
  expect(worker.deliveries).toMatchObject([{ kind: "delivered" }]);
});

test("runtime-keeping deletes expired codes, and an SMS that never left with one is given up", async () => {
  await using outbox = await openOutbox();
  const { id } = await outbox.ask();
  outbox.clock.now = () => new Date(Date.now() + 11 * 60_000);
  const [codes, dead] = smsChores({ sql: outbox.sql, clock: () => outbox.clock.now() });
  expect(await codes?.batch(100)).toBe(1);
  expect(await outbox.sql`select from phone_codes`).toHaveLength(0);
  expect(await deadSms(outbox.sql, 10)).toMatchObject([{ id, failure: "the code expired before the SMS was taken" }]);
  expect(await dead?.batch(100)).toBe(0);
  await outbox.sql`update sms_messages set dead = now() - interval '8 days'`;
  expect(await dead?.batch(100)).toBe(1);
});

test("what a sender throws by mistake is tried again and told without its text", async () => {
  await using outbox = await openOutbox();
  const { code } = await outbox.ask();
  let tries = 0;
  const sender = async ({ text }: Sms) => {
    tries += 1;
    if (tries === 1) throw new Error(`cannot send ${text}`);
    if (tries === 2) throw new NotTaken("it is closed");
  };
  await using worker = startWorker(outbox, { sender });
  await vi.waitFor(() => expect(worker.deliveries).toHaveLength(3), 60_000);
  expect(worker.deliveries.map(({ kind }) => kind)).toEqual(["postponed", "postponed", "delivered"]);
  expect(JSON.stringify(worker.deliveries)).not.toContain(code);
});
