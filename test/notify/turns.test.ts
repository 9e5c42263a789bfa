import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { roomFor } from "../../src/notify/turns.ts";
import { organization, type Postern, signedUp, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { type Provider, type Received, startProvider } from "./provider.ts";

const count = 10_000;
const longest = { timeout: 120_000, interval: 20 };

let provider: Provider;
let postern: Postern;
beforeAll(async () => {
  provider = await startProvider();
  const webhook = { mailSender: "webhook", mailWebhookUrl: provider.url, mailWebhookSecret: Buffer.alloc(32) } as const;
  const sms = { smsSender: "webhook", smsWebhookUrl: provider.url, smsWebhookSecret: Buffer.alloc(32) } as const;
  postern = await startPostern({ ...webhook, ...sms });
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

const toOf = ({ body }: Received): string => JSON.parse(body).data.to;

/** The place of a message to somebody among those that the provider received. */
async function placeOf(to: string): Promise<number> {
  await vi.waitFor(() => expect(provider.received.some((one) => toOf(one) === to)).toBe(true), longest);
  return provider.received.findIndex((one) => toOf(one) === to);
}

test("ten thousand mails of an organization do not stand before a mail of another one", async () => {
  const organizationId = await organization(postern);
  const { userId } = await signedUp(postern, { organizationId });
  await ask(
    postern.databaseUrl,
    `insert into mail_messages (mail_id, owner, user_id, kind, email, language, expiration_date, created, due)
     select 'flood' || n, '${organizationId}', '${userId}', 'password_changed', 'flood@example.com', 'en', now() + interval '1 day', now(),
       now() - interval '1 minute' from generate_series(1, ${count}) n`,
  );
  const person = { username: "grace", givenName: "Grace", familyName: "Hopper", email: "grace@example.com" };
  expect((await postern.admin.post("/v1/users/human", person)).status).toBe(200);
  expect(await placeOf(person.email)).toBeLessThan(count / 2);
  await ask(postern.databaseUrl, `delete from mail_messages where owner = '${organizationId}'`);
});

test("ten thousand SMS of an organization do not stand before an SMS of another one", async () => {
  const organizationId = await organization(postern);
  const { userId } = await signedUp(postern);
  await ask(
    postern.databaseUrl,
    `insert into sms_messages (phone_code_id, owner, user_id, created, due)
     select 'flood' || n, '${organizationId}', 'u', now(), now() - interval '1 minute' from generate_series(1, ${count}) n`,
  );
  const phone = "+41446681807";
  expect((await postern.admin.post(`/v1/users/${userId}/phone`, { phone })).status).toBe(200);
  await placeOf(phone);
  const [left] = await ask<{ count: number }>(
    postern.databaseUrl,
    `select count(*)::int as count from sms_messages where owner = '${organizationId}'`,
  );
  expect(left?.count).toBeGreaterThan(count / 2);
  await ask(postern.databaseUrl, `delete from sms_messages where owner = '${organizationId}'`);
});

test.each([
  ["logout_messages", "session_id, user_id, app_id, created", "'s' || n, 'gone', 'gone', now()"],
  [
    "mail_messages",
    "mail_id, owner, user_id, kind, email, language, expiration_date, created",
    "'m' || n, 'gone' || n % 2, 'gone', 'password_changed', 'gone@example.com', 'en', now() + interval '1 day', now()",
  ],
  ["sms_messages", "phone_code_id, owner, user_id, created", "'s' || n, 'gone' || n % 2, 'gone', now()"],
])("%s of organizations that were deleted are forgotten", async (table, columns, values) => {
  await ask(postern.databaseUrl, `insert into ${table} (${columns}) select ${values} from generate_series(1, 300) n`);
  await vi.waitFor(async () => expect(await ask(postern.databaseUrl, `select from ${table}`)).toEqual([]), longest);
  expect(provider.received.filter((one) => toOf(one) === "gone@example.com")).toEqual([]);
});

test("an organization alone has two thirds of the places, and those that come later find some, too", () => {
  let free = 24;
  const held = Array.from({ length: 6 }, () => {
    const room = Math.min(free, roomFor(0, free));
    free -= room;
    return room;
  });
  expect(held).toEqual([16, 5, 2, 1, 0, 0]);
  expect([roomFor(16, 8), roomFor(15, 9), roomFor(1, 23), roomFor(0, 1), roomFor(3, 0)]).toEqual([0, 1, 15, 1, 0]);
});
