import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { mailChores } from "../../../src/notify/mail/outbox.ts";
import { openClient } from "../../fixture/database_client.ts";
import { type Client, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Provider, type Received, startProvider } from "../../notify/provider.ts";
import { administrator, done, newAddress, refused } from "../invitations/invited.ts";

let provider: Provider;
let postern: Postern;
/** How the provider answers, by the address or number; by default it takes everything. */
const answers = new Map<string, number>();

beforeAll(async () => {
  provider = await startProvider((response, received) => {
    response.statusCode = answers.get(toOf(received)) ?? 204;
    response.end();
  });
  const secret = Buffer.alloc(32);
  postern = await startPostern({
    ...{ mailSender: "webhook", mailWebhookUrl: provider.url, mailWebhookSecret: secret },
    ...{ smsSender: "webhook", smsWebhookUrl: provider.url, smsWebhookSecret: secret },
  });
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

type Delivery = Readonly<Record<"id" | "kind" | "mailKind" | "userId" | "appId" | "failure", string>>;

const toOf = ({ body }: Received): string => JSON.parse(body).data.to;
const textsTo = (to: string): string[] =>
  provider.received.filter((one) => toOf(one) === to).map(({ body }) => JSON.parse(body).data.text);
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

async function listed(client: Client, headers: Record<string, string>, query = ""): Promise<readonly Delivery[]> {
  return done(await client.get(`/v1/deliveries?${query}`, headers)).deliveries;
}

const retry = (client: Client, id: string, headers: Record<string, string>) =>
  client.post(`/v1/deliveries/${id}:retry`, {}, headers);

/** An organization, one of its users, and its owner. */
async function place() {
  const organizationId = await organization(postern);
  const { userId } = await signedUp(postern, { organizationId });
  const { client: owner } = await administrator(postern, organizationId, ["ORG_OWNER"]);
  return { organizationId, userId, owner, here: inside(organizationId) };
}

/** Asks for a code that the provider refuses, until it is given up. */
async function givenUp({ userId, owner, here }: Awaited<ReturnType<typeof place>>, to = newAddress()) {
  answers.set(to, 400);
  const isPhone = to.startsWith("+");
  const path = `/v1/users/${userId}/${isPhone ? "phone" : "email"}`;
  const before = new Set((await listed(owner, here)).map(({ id }) => id));
  done(await postern.admin.post(path, isPhone ? { phone: to } : { email: to }));
  const found = await vi.waitFor(async () => {
    const one = (await listed(owner, here)).find(({ id }) => !before.has(id));
    return one ?? expect.unreachable();
  }, 60_000);
  return { to, path, ...found };
}

test("a mail that was given up is listed without its code, and sent again once, with the same", async () => {
  const at = await place();
  const { to, path: _, ...delivery } = await givenUp(at);
  expect(delivery).toMatchObject({
    ...{ kind: "DELIVERY_KIND_MAIL", mailKind: "MAIL_KIND_VERIFY_EMAIL", organizationId: at.organizationId },
    ...{ userId: at.userId, address: to, failure: "it answered 400", failedAttempts: 1, retryable: true },
  });
  const [text = ""] = textsTo(to);
  const [code = "no code"] = /^[2-9A-Z]{4,}(-[2-9A-Z]{4,})*$/m.exec(text) ?? [];
  expect(code).not.toBe("no code");
  const shown = JSON.stringify(delivery);
  for (const secret of [code, code.replaceAll("-", ""), "http"]) expect(shown).not.toContain(secret);
  // The provider asks to come back: the message is on its way.
  answers.set(to, 503);
  const { details } = done(await retry(at.owner, delivery.id, at.here));
  expect(details).toMatchObject({ sequence: "1", resourceOwner: at.organizationId });
  expect(done(await retry(at.owner, delivery.id, at.here)).details).toEqual(details);
  expect(await listed(at.owner, at.here)).toEqual([]);
  answers.delete(to);
  await vi.waitFor(
    async () => expect(refused(await retry(at.owner, delivery.id, at.here))).toEqual([404, "DELIVERY_NOT_FOUND"]),
    30_000,
  );
  expect(new Set(textsTo(to))).toEqual(new Set([text]));
  const { events } = done(await at.owner.get(`/v1/events?aboutUserId=${at.userId}&types=delivery.retried`, at.here));
  expect(events).toMatchObject([{ objectId: delivery.id, fact: { delivery: { retried: { userId: at.userId } } } }]);
});

test("one that is given up again is listed again, and can be sent again", async () => {
  const at = await place();
  const { id, to } = await givenUp(at);
  for (const sequence of ["1", "2"]) {
    const sent = textsTo(to).length;
    expect(done(await retry(at.owner, id, at.here)).details.sequence).toBe(sequence);
    await vi.waitFor(async () => expect((await listed(at.owner, at.here)).map((one) => one.id)).toEqual([id]), 30_000);
    expect(textsTo(to).length).toBe(sent + 1);
  }
});

test("a code that no longer works is not sent again: one that was replaced, that expired, or that an earlier release dropped", async () => {
  const at = await place();
  await using database = openClient(postern.databaseUrl);
  const replaced = await givenUp(at);
  await givenUp(at);
  const expired = await givenUp(at);
  await database.client`update mail_messages set expiration_date = now() where mail_id = ${expired.id}`;
  const other = await place();
  const dropped = await givenUp(other);
  await database.client`update mail_messages set sealed = null where mail_id = ${dropped.id}`;
  const sent = provider.received.length;
  for (const [{ owner, here }, { id }] of [
    [at, replaced],
    [at, expired],
    [other, dropped],
  ] as const) {
    expect((await listed(owner, here)).find((one) => one.id === id)).toMatchObject({ retryable: false });
    expect(refused(await retry(owner, id, here))).toEqual([400, "DELIVERY_EXPIRED"]);
  }
  expect(provider.received.length).toBe(sent);
});

test("an SMS that was given up is sent again with its code, while that works", async () => {
  const at = await place();
  const { id, to, ...delivery } = await givenUp(at, "+41791234567");
  expect(delivery).toMatchObject({ kind: "DELIVERY_KIND_SMS", address: to, userId: at.userId, retryable: true });
  answers.delete(to);
  done(await retry(at.owner, id, at.here));
  await vi.waitFor(() => expect(textsTo(to)).toHaveLength(2), 30_000);
  expect(new Set(textsTo(to)).size).toBe(1);
  const second = await givenUp(at, "+41791234568");
  done(await postern.admin.post(`/v1/users/${at.userId}:deactivate`, {}));
  expect(refused(await retry(at.owner, second.id, at.here))).toEqual([400, "DELIVERY_EXPIRED"]);
});

test("a sign-out that was given up is sent again while the application wants it", async () => {
  const at = await place();
  const { projectId } = done(await at.owner.post("/v1/projects", { name: "Shop" }, at.here));
  // Nothing that is reached from here: the attempt fails, and the sign-out is given up again.
  const application = { name: "Web", backChannelLogoutUri: "https://127.0.0.1:9/out" };
  const path = `/v1/projects/${projectId}/applications/oidc`;
  const { appId } = done(await at.owner.post(path, application, at.here));
  await using database = openClient(postern.databaseUrl);
  await database.client`
    insert into logout_messages (message_id, session_id, user_id, app_id, created, attempts, failure, dead)
    values (${`out${appId}`}, 's', ${at.userId}, ${appId}, now() - interval '3 days', 4, 'it answered 500', now())`;
  const [delivery] = await listed(at.owner, at.here);
  expect(delivery).toMatchObject({
    ...{ kind: "DELIVERY_KIND_SIGN_OUT", appId, userId: at.userId, failedAttempts: 4, retryable: true },
  });
  expect(delivery).not.toHaveProperty("address");
  const id = delivery?.id ?? "";
  done(await retry(at.owner, id, at.here));
  await vi.waitFor(
    async () => expect(await listed(at.owner, at.here)).toMatchObject([{ id, failedAttempts: 1 }]),
    30_000,
  );
  const patched = { backChannelLogoutUri: "" };
  done(await at.owner.call("PATCH", `/v1/projects/${projectId}/applications/${appId}/oidc`, patched, at.here));
  expect(refused(await retry(at.owner, id, at.here))).toEqual([400, "DELIVERY_NOT_WANTED"]);
});

test("each sees and sends again what concerns the own organization and what the role covers", async () => {
  const [at, other] = [await place(), await place()];
  const { id } = await givenUp(at);
  expect(await listed(other.owner, other.here)).toEqual([]);
  expect(refused(await retry(other.owner, id, other.here))).toEqual([404, "DELIVERY_NOT_FOUND"]);
  expect((await other.owner.get("/v1/deliveries?instance=true")).status).toBe(403);
  const all = await listed(postern.admin, {}, "instance=true&pageSize=1000");
  expect(all.map((one) => one.id)).toContain(id);
  await using database = openClient(postern.databaseUrl);
  await database.client`
    insert into logout_messages (message_id, session_id, owner, user_id, app_id, created, dead)
    values (${`out${id}`}, 's2', ${at.organizationId}, ${at.userId}, 'gone', now(), now())`;
  expect(await listed(at.owner, at.here)).toHaveLength(2);
  const { client: manager } = await administrator(postern, at.organizationId, ["ORG_USER_MANAGER"]);
  expect((await listed(manager, at.here)).map((one) => one.id)).toEqual([id]);
  expect(refused(await retry(manager, `out${id}`, at.here))).toEqual([404, "DELIVERY_NOT_FOUND"]);
  const { client: viewer } = await administrator(postern, at.organizationId, ["ORG_VIEWER"]);
  expect(await listed(viewer, at.here)).toHaveLength(2);
  expect((await retry(viewer, id, at.here)).status).toBe(403);
  done(await postern.admin.post(`/v1/deliveries/${id}:retry`, { instance: true }));
});

test("pages have each delivery once, the latest first, though many were given up at once", async () => {
  const { organizationId, owner, here } = await place();
  await using database = openClient(postern.databaseUrl);
  await database.client.unsafe(`
    insert into mail_messages (mail_id, owner, user_id, kind, email, language, expiration_date, created, dead)
    select '${organizationId}m' || n, '${organizationId}', 'u', 'sign_in', 'e', 'en', now(), now(), timestamptz '2026-01-02 03:04:05.123456+00'
    from generate_series(1, 4) n;
    insert into sms_messages (phone_code_id, owner, user_id, created, dead)
    select '${organizationId}s' || n, '${organizationId}', 'u', now(), timestamptz '2026-01-02 03:04:05.123456+00' - (n / 2) * interval '1 microsecond'
    from generate_series(1, 4) n`);
  const pages = async (query: string, headers: Record<string, string>, client = owner) => {
    const found: Delivery[] = [];
    for (let token = ""; ; ) {
      const page = done(await client.get(`/v1/deliveries?pageSize=3&pageToken=${token}${query}`, headers));
      found.push(...page.deliveries);
      token = page.nextPageToken;
      if (!token) return found.map(({ id }) => id.replace(organizationId, ""));
    }
  };
  const order = ["s1", "m4", "m3", "m2", "m1", "s3", "s2", "s4"];
  expect(await pages("", here)).toEqual(order);
  expect(await pages("&kind=DELIVERY_KIND_SMS", here)).toEqual(["s1", "s3", "s2", "s4"]);
  expect(await pages("&kind=DELIVERY_KIND_SIGN_OUT", here)).toEqual([]);
  const everywhere = (await pages("&instance=true", {}, postern.admin)).filter((id) => order.includes(id));
  expect(everywhere).toEqual(order);
  const token = Buffer.from(JSON.stringify(["x", "no time", "id"])).toString("base64url");
  expect(refused(await owner.get(`/v1/deliveries?pageToken=${token}`, here))).toEqual([400, "PAGE_TOKEN_INVALID"]);
});

test("the codes of a mail that was given up are dropped once they have expired", async () => {
  const at = await place();
  const { id } = await givenUp(at);
  await using database = openClient(postern.databaseUrl);
  const sql = database.client;
  const isKept = async () =>
    (await sql`select sealed is not null as is from mail_messages where mail_id = ${id}`)[0]?.is;
  const [chore] = mailChores({ sql, clock: () => new Date() });
  await chore?.batch(10);
  expect(await isKept()).toBe(true);
  const [later] = mailChores({ sql, clock: () => new Date(Date.now() + 2 * 3_600_000) });
  await later?.batch(1_000);
  expect(await isKept()).toBe(false);
});
