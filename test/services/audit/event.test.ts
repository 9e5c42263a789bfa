import { setTimeout as pause } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { WatchEventsRequestSchema } from "../../../gen/postern/v1/event_pb.ts";
import { followTail } from "../../../src/events/follow.ts";
import { numberEvents } from "../../../src/events/numbering.ts";
import { parsePosition } from "../../../src/events/position.ts";
import { eventService } from "../../../src/services/audit/event.ts";
import { oneConnection, openTestLog, organizationCreated, somebody, unique } from "../../events/log_of.ts";
import { holdTable } from "../../fixture/held_row.ts";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  signedUp,
  startPostern,
} from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
});

type Detail = { reason?: string; fieldViolations?: { field: string }[] };
type Event = { position: string; type: string; objectId: string; resourceOwner: string; sequence: string };
const refused = ({ status, body }: Answer) => [
  status,
  body.details.find(({ reason }: Detail) => reason !== undefined)?.reason,
  ...body.details.flatMap(({ fieldViolations = [] }: Detail) => fieldViolations.map(({ field }) => field)),
];
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const newProject = async (headers = {}): Promise<string> =>
  answered(await postern.admin.post("/v1/projects", { name: unique("Project") }, headers)).projectId;
const events = async (query: string, headers = {}): Promise<Event[]> =>
  answered(await postern.admin.get(`/v1/events?${query}`, headers)).events;

/** Watches over NDJSON and keeps what comes. */
function watch(query = "", { headers = {}, by = postern.admin as Client } = {}) {
  const stop = new AbortController();
  const begun = Promise.withResolvers<number>();
  const heard: Event[] = [];
  const ended = (async () => {
    const answer = await fetch(`${postern.url}/v1/events:watch?${query}`, {
      headers: { authorization: `Bearer ${by.token}`, accept: "application/x-ndjson", ...headers },
      signal: stop.signal,
    });
    begun.resolve(answer.status);
    let rest = "";
    for await (const text of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      heard.push(...lines.map((line) => JSON.parse(line).event));
    }
  })().catch(() => {});
  const close = async () => {
    stop.abort();
    await ended;
  };
  return { heard, begun: begun.promise, [Symbol.asyncDispose]: close };
}

const idsOf = (heard: readonly Event[]) => heard.map(({ objectId }) => objectId);

test("an event tells what happened, to what, by whom and when", async () => {
  const { headers, body } = await postern.admin.post("/v1/projects", { name: unique("Project") });
  const [event] = await events(`objectId=${body.projectId}`);
  expect(event).toEqual({
    position: expect.stringMatching(/^\d+\.[0-9a-f]{16}$/),
    type: "project.created",
    objectId: body.projectId,
    sequence: "1",
    resourceOwner: postern.organizationId,
    actorId: postern.adminId,
    requestId: headers.get("x-request-id"),
    time: body.details.creationDate,
    origin: { address: "127.0.0.1", userAgent: "node", accessTokenId: expect.any(String) },
    projectId: body.projectId,
    fact: { project: { created: { name: expect.stringMatching(/^Project/), grantRequired: false } } },
  });
});

test("a watch is open only once it has its place in the log, so nothing written after that is missed", async () => {
  const locked = await holdTable(postern.databaseUrl, "events");
  await using watching = watch("types=project.created");
  let isOpen = false;
  watching.begun.then(() => {
    isOpen = true;
  });
  await pause(500);
  expect(isOpen).toBe(false);
  await locked[Symbol.asyncDispose]();
  expect(await watching.begun).toBe(200);
  const project = await newProject();
  await vi.waitFor(() => expect(idsOf(watching.heard)).toContain(project), { timeout: 60_000 });
});

test("events are listed newest first, page after page, and filters combine", async () => {
  const other = await organization(postern);
  const { userId, client } = await machine(postern);
  answered(await postern.admin.post(`/v1/organizations/${other}/members`, { userId, roles: ["ORG_OWNER"] }));
  const projects = [];
  for (let at = 0; at < 3; at++) projects.push(await newProject(inside(other)));
  const path = `/v1/projects/${projects[1]}/roles`;
  answered(await client.post(path, { key: "a" }, inside(other)));
  const found: Event[] = [];
  for (let token = ""; ; ) {
    const page = answered(await client.get(`/v1/events?pageSize=2&pageToken=${token}`, inside(other)));
    found.push(...page.events);
    token = page.nextPageToken;
    if (!token) break;
  }
  const [first, second, third] = projects;
  expect(found.map(({ type, objectId }) => `${type} ${objectId}`)).toEqual([
    ...[`project.role_added ${second}`, `project.created ${third}`, `project.created ${second}`],
    ...[`project.created ${first}`, `member.added ${found[4]?.objectId}`, `organization.created ${other}`],
  ]);
  expect(new Set(found.map(({ resourceOwner }) => resourceOwner))).toEqual(new Set([other]));
  const filtered = (query: string) => events(query, inside(other));
  expect(idsOf(await filtered(`actorId=${userId}`))).toEqual([second]);
  expect(await filtered(`actorId=${userId}&objectId=${first}`)).toEqual([]);
  expect(await filtered("types=project.created&types=member.added")).toHaveLength(4);
  expect(idsOf(await filtered(`types=project.created&objectId=${second}`))).toEqual([second]);
});

test("a sign-in is an event of its user", async () => {
  const { userId } = await signedUp(postern);
  const [signIn] = await events(`types=session.created&actorId=${userId}`);
  expect(signIn).toMatchObject({ type: "session.created", actorId: userId });
});

test("a period includes its begin and not its end", async () => {
  const other = await organization(postern);
  const times: string[] = [];
  for (let at = 0; at < 3; at++) {
    await pause(2);
    const { body } = await postern.admin.post("/v1/projects", { name: unique("Project") }, inside(other));
    times.push(body.details.creationDate);
  }
  const between = (query: string) => events(`types=project.created&${query}`, inside(other));
  expect(await between(`since=${times[1]}`)).toHaveLength(2);
  expect(await between(`until=${times[1]}`)).toHaveLength(1);
  expect(await between(`since=${times[0]}&until=${times[2]}`)).toHaveLength(2);
  expect(await between(`since=${times[1]?.replace("Z", "001Z")}`)).toHaveLength(1);
  expect(await between("since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59.999999999Z")).toHaveLength(3);
});

test("what no event can match is refused with its field", async () => {
  const asked = (query: string) => postern.admin.get(`/v1/events?${query}`);
  expect(refused(await asked("types=project.created&types=project.flown"))).toEqual([
    ...[400, "VALIDATION_FAILED", "types[1]"],
  ]);
  expect(refused(await asked("pageToken=zzz"))).toEqual([400, "PAGE_TOKEN_INVALID", "pageToken"]);
  const forged = Buffer.from('["no position"]').toString("base64url");
  expect(refused(await asked(`pageToken=${forged}`))).toEqual([400, "PAGE_TOKEN_INVALID", "pageToken"]);
  expect(refused(await postern.admin.get("/v1/events:watch?after=yesterday"))).toEqual([
    ...[400, "POSITION_INVALID", "after"],
  ]);
});

test("events of the whole instance are for those who may read the instance", async () => {
  const other = await organization(postern);
  const { userId, client } = await machine(postern);
  answered(await postern.admin.post(`/v1/organizations/${other}/members`, { userId, roles: ["ORG_VIEWER"] }));
  expect((await client.get("/v1/events", inside(other))).status).toBe(200);
  expect((await client.get("/v1/events?instance=true", inside(other))).status).toBe(403);
  expect((await client.get("/v1/events")).status).toBe(403);
  expect(idsOf(await events(`instance=true&objectId=${other}`))).toEqual([other]);
  expect(await events(`objectId=${other}`)).toEqual([]);
});

test("a watcher hears what happens in its organization from now on, and nothing else", async () => {
  const other = await organization(postern);
  await newProject(inside(other));
  await using watching = watch("types=project.created", { headers: inside(other) });
  expect(await watching.begun).toBe(200);
  const mine = await newProject(inside(other));
  await newProject();
  const next = await newProject(inside(other));
  await vi.waitFor(() => expect(idsOf(watching.heard)).toEqual([mine, next]), 60_000);
});

test("a watcher resumes strictly after a position, and neither skips nor repeats", async () => {
  const other = await organization(postern);
  const projects: string[] = [];
  for (let at = 0; at < 3; at++) projects.push(await newProject(inside(other)));
  const [, second] = await events("types=project.created", inside(other));
  await using watching = watch(`after=${second?.position}`, { headers: inside(other) });
  await vi.waitFor(() => expect(idsOf(watching.heard)).toEqual([projects[2]]), 60_000);
  const more = await Promise.all(Array.from({ length: 40 }, () => newProject(inside(other))));
  await vi.waitFor(() => expect(watching.heard).toHaveLength(41), 60_000);
  expect(new Set(idsOf(watching.heard).slice(1))).toEqual(new Set(more));
  const numbers = watching.heard.map(({ position }) => numberOf(position));
  expect(numbers).toEqual(numbers.toSorted((a, b) => Number(a - b)));
});

const numberOf = (position: string) => (parsePosition(position) as { number: bigint }).number;

test("a watcher that begins after a list hears what was written meanwhile and came late, and nothing twice", async () => {
  const other = await organization(postern);
  await using slow = oneConnection(postern.databaseUrl);
  await slow.sql`begin`;
  await slow.sql`
    insert into events (owner, stream, version, type, payload, request_id, time)
    values (${other}, 'slow', 1, 'project.created', '{"name": "Slow"}', 'r', now())`;
  const fast = await newProject(inside(other));
  const [latest] = await events("types=project.created", inside(other));
  expect([latest?.objectId, latest?.position]).toEqual([fast, expect.stringMatching(/^\d+\.[0-9a-f]{16}$/)]);
  // Whoever lists an event that was committed a moment ago learns the same position as everybody later.
  expect(await events("types=project.created", inside(other))).toEqual([latest]);
  await using open = watch(`types=project.created&after=${latest?.position}`, { headers: inside(other) });
  const next = await newProject(inside(other));
  await vi.waitFor(() => expect(idsOf(open.heard)).toEqual([next]), 60_000);
  await slow.sql`commit`;
  await vi.waitFor(() => expect(idsOf(open.heard)).toEqual([next, "slow"]), 60_000);
  await using late = watch(`types=project.created&after=${latest?.position}`, { headers: inside(other) });
  await vi.waitFor(() => expect(idsOf(late.heard)).toEqual([next, "slow"]), 60_000);
  expect(late.heard).toEqual(open.heard);
});

test("a position that the log has not reached is refused before anything is answered", async () => {
  const text = { accept: "text/event-stream" };
  for (const [position, expected] of [
    ["1.18446744073709551615.1", [400, "POSITION_INVALID", "after"]],
    ["123456789012345678.0123456789abcdef", [400, "POSITION_LOST"]],
  ] as const) {
    expect(refused(await postern.admin.get(`/v1/events:watch?after=${position}`))).toEqual(expected);
    expect(refused(await postern.admin.get(`/v1/events:watch?after=${position}`, text))).toEqual(expected);
    expect((await postern.admin.get("/v1/events:watch", { ...text, "last-event-id": position })).status).toBe(400);
  }
});

test("a position of a history that the log lost is refused with those that the follower may still hold", async () => {
  const other = await organization(postern);
  for (let at = 0; at < 12; at++) await newProject(inside(other));
  const held = (await events("types=project.created", inside(other))).map(({ position }) => position);
  const lost = `${numberOf(held[0] ?? "")}.0123456789abcdef`;
  const answer = await postern.admin.get(`/v1/events:watch?types=project.created&after=${lost}`, inside(other));
  expect(refused(answer)).toEqual([400, "POSITION_LOST"]);
  const [info] = answer.body.details as { metadata: { positions: string } }[];
  // Nobody learns of the positions of others.
  expect(info?.metadata.positions.split(",")).toEqual(held.slice(1, 11));
  const subjects = await postern.admin.get(`/v1/events:watch?projectId=p&aboutUserId=u&after=${lost}`, inside(other));
  expect(refused(subjects)).toEqual([400, "POSITION_LOST"]);
  await using watching = watch(`types=project.created&after=${held[1]}`, { headers: inside(other) });
  await vi.waitFor(() => expect(watching.heard.map(({ position }) => position)).toEqual([held[0]]), 60_000);
  const stranger = await organization(postern);
  const none = await postern.admin.get(`/v1/events:watch?types=project.created&after=${lost}`, inside(stranger));
  expect([refused(none), none.body.details[0].metadata ?? {}]).toEqual([[400, "POSITION_LOST"], {}]);
});

test("a position of release 0.1.0 goes on with all that its follower has not seen", async () => {
  const other = await organization(postern);
  await using client = oneConnection(postern.databaseUrl);
  await using slow = oneConnection(postern.databaseUrl);
  const write = (stream: string) => `insert into events (owner, stream, version, type, payload, request_id, time)
    values ('${other}', '${stream}', 1, 'project.created', '{"name": "Slow"}', 'r', now()) returning xid::text, position`;
  await slow.sql.unsafe("begin");
  const [open] = await slow.sql.unsafe(write("open"));
  await newProject(inside(other));
  const [last] = await client.sql.unsafe(write("last"));
  const after = await newProject(inside(other));
  await slow.sql.unsafe("commit");
  const behind = BigInt(last?.xid) - BigInt(open?.xid);
  const mark = `1.${last?.xid}.${last?.position}`;
  await using all = watch(`types=project.created&after=${mark}~${behind}`, { headers: inside(other) });
  await vi.waitFor(() => expect(idsOf(all.heard).toSorted()).toEqual([after, "open"].toSorted()), 60_000);
  await using later = watch(`types=project.created&after=${mark}`, { headers: inside(other) });
  await vi.waitFor(() => expect(idsOf(later.heard)).toEqual([after]), 60_000);
});

test("everything that is wrong with a request for events is told at once", async () => {
  const asked = (path: string) => postern.admin.get(path);
  expect(refused(await asked("/v1/events?types=a.b&pageToken=x"))).toEqual([
    ...[400, "VALIDATION_FAILED", "types[0]", "pageToken"],
  ]);
  expect(refused(await asked("/v1/events?types=a.b&pageToken=x&pageSize=-1"))).toEqual([
    ...[400, "VALIDATION_FAILED", "pageSize", "types[0]", "pageToken"],
  ]);
  expect(refused(await asked("/v1/events?since=yesterday&types=a.b&colour=red"))).toEqual([
    ...[400, "VALIDATION_FAILED", "colour", "since", "types[0]"],
  ]);
  expect(refused(await asked("/v1/events:watch?types=a.b&after=yesterday"))).toEqual([
    ...[400, "VALIDATION_FAILED", "types[0]", "after"],
  ]);
});

test("a watcher from the beginning hears the whole log in order, while it grows", async () => {
  await using watching = watch("instance=true&after=0");
  await Promise.all(Array.from({ length: 30 }, () => newProject()));
  await using client = oneConnection(postern.databaseUrl);
  await vi.waitFor(async () => {
    const all = await client.sql<{ stream: string }[]>`
      select stream from event_numbers join events using (epoch, xid, position) order by number`;
    expect(idsOf(watching.heard)).toEqual(all.map(({ stream }) => stream));
  }, 60_000);
});

test("a watcher that reads slowly gets everything in order, and a call that ends wakes it", async () => {
  await using opened = await openTestLog();
  const { log, sql } = opened;
  const onError = (error: unknown) => expect.fail(String(error));
  await using tail = await followTail({
    number: () => numberEvents(sql),
    read: (ask) => ask(sql),
    everyMs: 10,
    onError,
  });
  const heard = vi.fn();
  tail.listen({ events: (more) => heard(more.length), lost: () => expect.fail("lost") });
  const gone = new AbortController();
  const call = { values: createContextValues(), signal: gone.signal, requestHeader: new Headers() };
  const { watchEvents } = eventService({ sql }, tail);
  const request = create(WatchEventsRequestSchema, { instance: true });
  const stream = watchEvents(request, call as unknown as HandlerContext);
  await stream.begins;
  const watching = stream[Symbol.asyncIterator]();
  const next = async () => (await watching.next()).value?.event?.objectId;
  const [first, ...later] = Array.from({ length: 4000 }, () => organizationCreated());
  const one = next();
  await pause(50);
  if (first) await log.append(somebody(), [first], {});
  expect(await one).toBe(first?.at.stream);
  for (const fact of later.splice(0, 10)) await log.append(somebody(), [fact], {});
  // Many times more than is kept for a watcher happens while it does not read.
  await Promise.all(later.map((fact) => log.append(somebody(), [fact], {})));
  const inLog = () => sql<{ stream: string }[]>`
    select stream from event_numbers join events using (epoch, xid, position) order by number`;
  await vi.waitFor(() => expect(heard.mock.calls.flat().reduce((sum, count) => sum + count)).toBe(4000), 60_000);
  const read = [first?.at.stream];
  while (read.length < 4000) read.push(await next());
  expect(read).toEqual((await inLog()).map(({ stream }) => stream));
  const last = watching.next();
  gone.abort(new Error("gone"));
  await expect(last).rejects.toThrow("gone");
});

test("watchers share the message of an event, so that it is encoded once", async () => {
  await using opened = await openTestLog();
  const { log, sql } = opened;
  const onError = (error: unknown) => expect.fail(String(error));
  await using tail = await followTail({
    number: () => numberEvents(sql),
    read: (ask) => ask(sql),
    everyMs: 10,
    onError,
  });
  const { watchEvents } = eventService({ sql }, tail);
  const gone = new AbortController();
  const call = { values: createContextValues(), signal: gone.signal, requestHeader: new Headers() };
  const streams = Array.from({ length: 3 }, () =>
    watchEvents(create(WatchEventsRequestSchema, { instance: true }), call as unknown as HandlerContext),
  );
  await Promise.all(streams.map(({ begins }) => begins));
  const watchers = streams.map((stream) => stream[Symbol.asyncIterator]());
  const heard = async () => {
    const next = watchers.map((watcher) => watcher.next());
    await log.append(somebody(), [organizationCreated()], {});
    return (await Promise.all(next)).map(({ value }) => value);
  };
  // The first one may be read from the log; later ones come from the tail.
  await heard();
  const [first, ...others] = await heard();
  expect(first?.event?.type).toBe("organization.created");
  for (const other of others) expect(other).toBe(first);
  gone.abort();
});

test("a watcher finds what is rare in a long log", async () => {
  const [other, crowd] = [await organization(postern), await organization(postern)];
  const [first, crowded] = [await newProject(inside(other)), 12_000];
  await ask(
    postern.databaseUrl,
    `insert into events (owner, stream, version, type, payload, request_id, time)
     select '${crowd}', 'crowd' || n, 1, 'project.created', '{"name": "Crowd"}', 'r', now()
     from generate_series(1, ${crowded}) n`,
  );
  const last = await newProject(inside(other));
  const heardIn = async (after: string) => {
    await using watching = watch(`types=project.created&after=${after}`, { headers: inside(other) });
    await vi.waitFor(() => expect(idsOf(watching.heard)).toEqual([first, last]), 60_000);
  };
  await heardIn("0");
  // By now the log has been followed to its end: what is heard again is read.
  await heardIn("0.0.0");
});
