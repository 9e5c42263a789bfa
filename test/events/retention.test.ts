import { randomBytes } from "node:crypto";
import { expect, test, vi } from "vitest";
import { takeLease } from "../../src/events/lease.ts";
import { expiredEvents } from "../../src/events/retention.ts";
import { doctor } from "../../src/maintenance/doctor.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { enrolTotp } from "../fixture/factors.ts";
import { freshAdmin } from "../fixture/organization.ts";
import { type Answer, machine, type Postern, signedUp, startPostern } from "../harness.ts";
import { oneConnection } from "./log_of.ts";

type Event = {
  readonly position: string;
  readonly type: string;
  readonly objectId: string;
  readonly origin?: { address?: string };
};

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** Makes every event older, as if they had happened earlier. */
async function age(databaseUrl: string, days: number): Promise<void> {
  await using database = openClient(databaseUrl);
  await database.client.unsafe(`set session_replication_role = replica;
    update events set time = time - interval '${days} days';
    update retention_progress set time = time - interval '${days} days'`);
}

async function expireAll(sql: Sql): Promise<void> {
  // One event at a time, so that each object is deleted in parts.
  for (const { batch } of expiredEvents(sql, () => new Date())) while ((await batch(1)) >= 1);
}

async function countOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ events: number }[]>`select count(*)::int as events from events`;
  return row?.events ?? 0;
}

const typesOf = async ({ admin }: Postern, objectId: string): Promise<string[]> =>
  done(await admin.get(`/v1/events?instance=true&objectId=${objectId}`)).events.map(({ type }: Event) => type);

/** Reads a watch over NDJSON up to an event of the type. */
async function watched({ url, admin }: Postern, after: string, type: string): Promise<Event[]> {
  const headers = { authorization: `Bearer ${admin.token}`, accept: "application/x-ndjson" };
  const signal = AbortSignal.timeout(60_000);
  const { body } = await fetch(`${url}/v1/events:watch?instance=true&after=${after}`, { headers, signal });
  let text = "";
  for await (const piece of (body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes(`"${type}"`) && text.endsWith("\n")) break;
  }
  return text.split("\n").flatMap((line) => (line ? [JSON.parse(line).result?.event ?? JSON.parse(line).event] : []));
}

/** Objects that have ended, and those of the same kinds that have not. */
async function endedAndNot(postern: Postern) {
  const { admin } = postern;
  const chosen = `user-${randomBytes(4).toString("hex")}`;
  const [ended, staying] = [await signedUp(postern), await signedUp(postern)];
  const { factorId } = await enrolTotp(ended.client);
  const { sessionId } = done(await admin.post("/v1/sessions", { loginName: staying.username, password }));
  const { sessionId: open } = done(await admin.post("/v1/sessions", { loginName: staying.username, password }));
  await admin.post("/v1/sessions", { loginName: staying.username, password: "wrong" });
  const robot = await machine(postern);
  done(await admin.post("/v1/users/machine", { username: chosen, name: "Chosen", userId: chosen }));
  const { clientId, credentialId } = done(await admin.post(`/v1/users/${chosen}/secrets`));
  const { projectId } = done(await admin.post("/v1/projects", { name: "Ended" }));
  const { projectId: kept } = done(await admin.post("/v1/projects", { name: "Kept" }));
  const { userGrantId } = done(await admin.post(`/v1/users/${staying.userId}/grants`, { projectId }));
  const { events } = done(await admin.get("/v1/events?instance=true&pageSize=1"));
  done(await admin.delete(`/v1/sessions/${sessionId}`));
  done(await admin.delete(`/v1/users/${robot.userId}/tokens/${robot.tokenId}`));
  done(await admin.delete(`/v1/projects/${projectId}`));
  for (const id of [ended.userId, chosen]) done(await admin.delete(`/v1/users/${id}`));
  const attempt = await vi.waitFor(async () => {
    const found = done(
      await admin.get(`/v1/events?aboutUserId=${staying.userId}&types=attempt.password_refused`),
    ).events;
    expect(found).toHaveLength(1);
    return (found as Event[])[0]?.objectId ?? "";
  }, wait);
  return {
    position: (events as Event[])[0]?.position ?? "",
    clientId: clientId as string,
    signIns: [sessionId, robot.tokenId, credentialId, attempt] as readonly string[],
    users: [ended.userId, chosen] as readonly string[],
    others: [projectId, userGrantId, factorId] as readonly string[],
    living: [staying.userId, open, kept, robot.userId] as readonly string[],
  };
}

const password = "Blue-Kettle-42";
const wait = { timeout: 60_000 };

test("a node deletes what the policy no longer keeps, and nothing that still exists or was used up", async () => {
  await using database = await freshDatabase();
  await using client = oneConnection(database.url);
  const of = { databaseUrl: database.url, adminToken: newToken("pt"), masterKeys: [randomBytes(32)] };
  const first = await startPostern(of);
  const { position, clientId, signIns, users, others, living } = await endedAndNot(first);
  const policy = { signInDays: 30, administrationDays: 60 };
  const all = await countOf(client.sql);
  await age(database.url, 4_000);
  await expireAll(client.sql);
  expect(await countOf(client.sql)).toBe(all);
  await age(database.url, -4_000);
  const keeper = await freshAdmin(first);
  done(await keeper.put("/v1/policies/retention", { policy }));
  expect(done(await first.admin.get("/v1/policies/retention"))).toMatchObject({ policy, details: { sequence: "1" } });
  await expireAll(client.sql);
  for (const id of [...signIns, ...users, ...others]) expect([id, await typesOf(first, id)]).not.toEqual([id, []]);
  await first[Symbol.asyncDispose]();

  await age(database.url, 45);
  await using postern = await startPostern(of);
  for (const id of signIns)
    await vi.waitFor(async () => expect([id, await typesOf(postern, id)]).toEqual([id, []]), wait);
  for (const id of [...users, ...others]) expect([id, await typesOf(postern, id)]).not.toEqual([id, []]);

  await age(database.url, 20);
  await expireAll(client.sql);
  for (const id of [...users, ...others]) expect([id, await typesOf(postern, id)]).toEqual([id, []]);
  for (const id of living) expect([id, await typesOf(postern, id)]).not.toEqual([id, []]);
  const [row] = await client.sql<{ numbers: number }[]>`select count(*)::int as numbers from event_numbers`;
  expect(row?.numbers).toBe(await countOf(client.sql));

  // Whoever follows the log goes on with what it still has.
  const later = await watched(postern, position, "policy.retention_set");
  expect(later.map(({ objectId }) => objectId).filter((id) => [...users, ...signIns].includes(id))).toEqual([]);
  expect((await watched(postern, "0", "policy.retention_set")).map(({ type }) => type)).toContain("project.created");
  // Nobody sees any more where it came from that something was done, but that a session is still open.
  const origins = (await watched(postern, "0", "policy.retention_set")).filter(({ origin }) => origin?.address);
  expect(new Set(origins.map(({ type }) => type))).toEqual(new Set(["session.created"]));

  for (const userId of users) {
    const { status, body } = await postern.admin.post("/v1/users/machine", { username: "new", name: "New", userId });
    expect([status, body.details[0].reason]).toEqual([409, "ID_TAKEN"]);
  }
  const [, , kept = ""] = living;
  const api = await postern.admin.post(`/v1/projects/${kept}/applications/api`, { name: "API", clientId });
  expect([api.status, api.body.details[0].reason]).toEqual([409, "ID_TAKEN"]);
  // A session that nobody ends is over when it expires, and its days count from then.
  const [, open = ""] = living;
  const expired = (days: number) => client.sql`
    update retention_waits set until = now() - make_interval(days => ${days}) where stream = ${open}`;
  expect((await expired(29)).count).toBe(1);
  await expireAll(client.sql);
  expect(await typesOf(postern, open)).toEqual(["session.created"]);
  expect((await expired(31)).count).toBe(1);
  await expireAll(client.sql);
  expect(await typesOf(postern, open)).toEqual([]);
  expect((await expired(31)).count).toBe(0);

  // While the log is replayed, its events are kept.
  await takeLease(client.sql, { work: "replay", holder: "doctor", seconds: 600 });
  const { userId: last } = await machine(postern);
  done(await postern.admin.delete(`/v1/users/${last}`));
  await client.sql`select number_events(true)`;
  await age(database.url, 90);
  await expireAll(client.sql);
  expect(await typesOf(postern, last)).not.toEqual([]);
  await client.sql`delete from leases where work = 'replay'`;
  await expireAll(client.sql);
  expect(await typesOf(postern, last)).toEqual([]);

  done(await postern.admin.delete("/v1/policies/retention"));
  expect(done(await postern.admin.get("/v1/policies/retention"))).toEqual({ policy: {} });
});

test("how far the deletion is behind is told by the doctor and by the metric, and an event of a clock that is behind is deleted, too", async () => {
  await using database = await freshDatabase();
  await using client = oneConnection(database.url);
  await using postern = await startPostern({ databaseUrl: database.url });
  const keeper = await freshAdmin(postern);
  const retention = async () => {
    const { lines } = await doctor(postern.config, { rebuild: false });
    const metrics = await (await fetch(`${postern.url}/metrics`)).text();
    const [, seconds] = /^postern_retention_behind_seconds (\S+)$/m.exec(metrics) ?? [];
    return { line: lines.find((line) => line.includes("retention: ")), days: Math.round(Number(seconds) / 86_400) };
  };
  const none = "ok    retention: sign-ins always, administration always; 0 events deleted";
  await expect.poll(retention).toEqual({ line: none, days: 0 });

  // Another node has the lease, and does nothing.
  const other = { work: "retention", holder: "other", seconds: 600 };
  await client.sql`delete from leases where work = 'retention'`;
  expect(await takeLease(client.sql, other)).toBe(true);
  done(await keeper.put("/v1/policies/retention", { policy: { signInDays: 30 } }));
  /** A session that was created and ended so many days ago, by the clock of the node that writes it. */
  const session = (stream: string, days: number) => client.sql`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select ${postern.organizationId}::text, ${stream}::text, v, case v when 1 then 'session.created' else 'session.ended' end,
      case v when 1 then '{"userId": "nobody"}'::jsonb else '{}' end, 'r',
      date_trunc('milliseconds', now() - make_interval(days => ${days}) + make_interval(secs => v)) from generate_series(1, 2) v`;
  await session("old", 50);
  const line = expect.stringMatching(
    /^warn {2}retention: sign-ins 30 days, administration always; 0 events deleted, (19|20) days/,
  );
  await vi.waitFor(async () => expect(await retention()).toEqual({ line, days: 20 }), wait);
  await client.sql`select number_events(true)`;
  await expireAll(client.sql);
  const upToDate = "ok    retention: sign-ins 30 days, administration always; 2 events deleted";
  await vi.waitFor(async () => expect(await retention()).toEqual({ line: upToDate, days: 0 }), wait);

  // The search has passed these times.
  await session("late", 60);
  await session("later", 31);
  await session("young", 29);
  await client.sql`select number_events(true)`;
  await expireAll(client.sql);
  const left = await client.sql<{ stream: string }[]>`
    select distinct stream from events where stream in ('late', 'later', 'young')`;
  expect(left.map(({ stream }) => stream)).toEqual(["young"]);
  const [noted] = await client.sql`select count(*)::int as count from retention_late where stream <> 'young'`;
  expect(noted).toEqual({ count: 0 });
  await client.sql`delete from leases where work = 'retention'`;
});
