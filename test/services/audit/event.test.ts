import { setTimeout as pause } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { WatchEventsRequestSchema } from "../../../gen/postern/v1/event_pb.ts";
import { followTail, isAfter, parsePosition } from "../../../src/events/follow.ts";
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
    position: expect.stringMatching(/^\d+\.\d+\.\d+(~[\d.]+)?$/),
    type: "project.created",
    objectId: body.projectId,
    sequence: "1",
    resourceOwner: postern.organizationId,
    actorId: postern.adminId,
    requestId: headers.get("x-request-id"),
    time: body.details.creationDate,
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

/** Transactions of other tests, in other databases of the server, hold the end of the log back: "now" is behind them. */
const settled = () =>
  vi.waitFor(async () => {
    const [log] = await ask<{ open: boolean }>(
      postern.databaseUrl,
      "select bool_or(not is_settled(epoch, xid)) as open from events",
    );
    expect(log?.open).toBe(false);
  }, 60_000);

test("a watcher hears what happens in its organization from now on, and nothing else", async () => {
  const other = await organization(postern);
  await newProject(inside(other));
  await settled();
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
  const places = watching.heard.map(({ position }) => parsePosition(position));
  for (const [at, place] of places.slice(1).entries()) expect(place && isAfter(place, places[at] ?? place)).toBe(true);
});

test("a watcher that begins after a list hears what was written meanwhile and came late, and nothing twice", async () => {
  const other = await organization(postern);
  await using slow = oneConnection(postern.databaseUrl);
  await slow.sql`begin`;
  await slow.sql`
    insert into events (owner, stream, version, type, payload, request_id, time)
    values (${other}, 'slow', 1, 'project.created', '{"name": "Slow"}', 'r', now())`;
  const fast = await newProject(inside(other));
  const [latest] = await events("types=project.created", inside(other));
  expect([latest?.objectId, latest?.position]).toEqual([fast, expect.stringMatching(/^[\d.]+~[\d.]+$/)]);
  await slow.sql`commit`;
  await using watching = watch(`types=project.created&after=${latest?.position}`, { headers: inside(other) });
  await vi.waitFor(() => expect(idsOf(watching.heard)).toEqual(["slow"]), 60_000);
  const next = await newProject(inside(other));
  await vi.waitFor(() => expect(idsOf(watching.heard)).toEqual(["slow", next]), 60_000);
});

test("a position that the log has not reached is refused before anything is answered", async () => {
  const ahead = "after=1.18446744073709551615.1";
  expect(refused(await postern.admin.get(`/v1/events:watch?${ahead}`))).toEqual([400, "POSITION_INVALID", "after"]);
  const events = { accept: "text/event-stream" };
  expect(refused(await postern.admin.get(`/v1/events:watch?${ahead}`, events))).toEqual([
    ...[400, "POSITION_INVALID", "after"],
  ]);
  const last = { ...events, "last-event-id": "1.18446744073709551615.1" };
  expect((await postern.admin.get("/v1/events:watch", last)).status).toBe(400);
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
  await using watching = watch("instance=true&after=0.0.0");
  await Promise.all(Array.from({ length: 30 }, () => newProject()));
  await using client = oneConnection(postern.databaseUrl);
  await vi.waitFor(async () => {
    const all = await client.sql<{ place: string }[]>`
      select epoch || '.' || xid::text || '.' || position as place from events
      order by events.epoch, events.xid, events.position`;
    expect(watching.heard.map(({ position }) => position)).toEqual(all.map(({ place }) => place));
  }, 60_000);
});

test("a watcher that reads slowly gets everything in order, and a call that ends wakes it", async () => {
  await using opened = await openTestLog();
  const { log, sql } = opened;
  await using tail = await followTail({ sql, everyMs: 10, onError: (error) => expect.fail(String(error)) });
  const heard = vi.fn();
  tail.listen((more) => heard(more.length));
  const gone = new AbortController();
  const call = { values: createContextValues(), signal: gone.signal, requestHeader: new Headers() };
  const { watchEvents } = eventService({ sql }, tail);
  const request = create(WatchEventsRequestSchema, { instance: true });
  const watching = watchEvents(request, call as unknown as HandlerContext)[Symbol.asyncIterator]();
  const next = async () => (await watching.next()).value?.event?.objectId;
  const [first, ...later] = Array.from({ length: 4000 }, () => organizationCreated());
  const one = next();
  await pause(50);
  if (first) await log.append(somebody(), [first], {});
  expect(await one).toBe(first?.at.stream);
  for (const fact of later.splice(0, 10)) await log.append(somebody(), [fact], {});
  // Many times more than is kept for a watcher happens while it does not read.
  await Promise.all(later.map((fact) => log.append(somebody(), [fact], {})));
  const inLog = () => sql<{ stream: string }[]>`select stream from events order by epoch, events.xid, events.position`;
  await vi.waitFor(() => expect(heard.mock.calls.flat().reduce((sum, count) => sum + count)).toBe(4000), 60_000);
  const read = [first?.at.stream];
  while (read.length < 4000) read.push(await next());
  expect(read).toEqual((await inLog()).map(({ stream }) => stream));
  const last = watching.next();
  gone.abort(new Error("gone"));
  await expect(last).rejects.toThrow("gone");
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
  await heardIn("0.0.0");
  // By now the log has been followed to its end: what is heard again is read.
  await heardIn("0.0.0");
});
