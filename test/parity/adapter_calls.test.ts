// The behaviour around a call that scenes do not show: deadlines, streams, clients that disconnect, and lines in the log.

import { Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { clone, create, createFileRegistry, type DescMethodBiDiStreaming } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type CallOptions, type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { Routes } from "@postern/gateway";
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { holdTable, holdUser } from "../fixture/held_row.ts";
import { machine, type Postern, startPostern } from "../harness.ts";
import { readError, refusalOf } from "../wire/refusal.ts";
import { startAdapter } from "./adapter.ts";
import { type Door, type DoorAnswer, openDoors, type Ports } from "./doors.ts";
import { methods } from "./play.ts";
import { fresh, made, newNumber, type Stage, stageOf, within } from "./stage.ts";

type Line = { readonly operation: string; readonly code: string; readonly reason?: string; readonly requestId: string };

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

let postern: Postern;
let stage: Stage;
let ports: Ports;
let doors: readonly Door[];
const lines: Line[] = [];
let streamed = 0;

/** The watch of events with a stream of requests, as no rpc of ours has one. */
function bidiWatch(): DescMethodBiDiStreaming {
  const { file } = EventService;
  const proto = clone(FileDescriptorProtoSchema, file.proto);
  for (const service of proto.service) {
    service.name = "BidiEventService";
    for (const method of service.method) method.clientStreaming = method.serverStreaming;
  }
  const found = createFileRegistry(proto, (name) => file.dependencies.find(({ proto }) => proto.name === name));
  const service = found.getService("postern.v1.BidiEventService");
  return service?.method.watchEvents as DescMethodBiDiStreaming;
}

const bidi = bidiWatch();

const streaming: Routes = (router) => {
  router.rpc(bidi, async function* (requests) {
    streamed += 1;
    for await (const _ of requests) yield {};
  });
};

beforeAll(async () => {
  // Only a call itself asks the database, once its caller is cached: nothing ends the gate of this adapter at a deadline.
  postern = opened.use(await startPostern({ cacheSeconds: 3_600 }));
  stage = await stageOf(postern);
  const write = (chunk: Buffer, _encoding: string, next: () => void) => {
    const line = JSON.parse(chunk.toString());
    if (line.msg === "call") lines.push(line);
    next();
  };
  const logger = pino({ base: null }, new Writable({ write }));
  // Nothing but its deadline ends a call that waits for the database.
  const endless = { databaseStatementTimeoutMs: 600_000, databaseWaitMs: 600_000 };
  const config = { ...postern.config, ...endless, databaseConnections: 20 };
  ports = opened.use(await startAdapter(config, logger, streaming));
  doors = opened.use(openDoors(ports)).all.filter(({ gatewayOnly }) => !gatewayOnly);
});

const ofAdmin = () => ({ ...within(stage.fixture.organizationId), authorization: `Bearer ${stage.admin.token}` });

const protocols: readonly [name: string, transport: () => Transport][] = [
  ["gRPC", () => createGrpcTransport({ baseUrl: ports.http2 })],
  ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: ports.http1, httpVersion: "1.1" })],
  ["Connect", () => createConnectTransport({ baseUrl: ports.http1, httpVersion: "1.1" })],
  ["Connect over HTTP/2", () => createConnectTransport({ baseUrl: ports.http2, httpVersion: "2" })],
];

describe.each(protocols)("over %s", (_name, transport) => {
  const linesOf = (requestId: string | null | undefined) => lines.filter((line) => line.requestId === requestId);
  const watch = (options: CallOptions, after = "") =>
    createClient(EventService, transport()).watchEvents({ after }, options)[Symbol.asyncIterator]();

  test("a caller without a token is challenged, by the request's id and in one line", async () => {
    const error = await refusalOf(createClient(AccountService, transport()).getMe({}));
    expect(readError(error)).toMatchObject({ code: "Unauthenticated", reason: "UNAUTHENTICATED" });
    expect(error.metadata.get("www-authenticate")).toMatch(/^Bearer realm="postern", resource_metadata="http/);
    expect(linesOf(error.metadata.get("x-request-id"))).toMatchObject([{ reason: "UNAUTHENTICATED" }]);
  });

  test("the gate refuses in the language that is asked for", async () => {
    const headers = { "accept-language": "de" };
    const error = await refusalOf(createClient(AccountService, transport()).getMe({}, { headers }));
    expect(readError(error).localized).toMatch(/Token|Anmeld/);
  });

  test("an answer has the request's id and one line", async () => {
    let requestId: string | null = null;
    const onHeader = (headers: Headers) => {
      requestId = headers.get("x-request-id");
    };
    await createClient(AccountService, transport()).getMe({}, { headers: ofAdmin(), onHeader });
    expect(linesOf(requestId)).toMatchObject([{ code: "OK", operation: "/postern.v1.AccountService/GetMe" }]);
  });

  test("a watcher is refused before the first event in the words of the gateway", async () => {
    const next = watch({ headers: ofAdmin() }, "yesterday").next();
    expect(readError(await refusalOf(next))).toMatchObject({ code: "InvalidArgument", reason: "POSITION_INVALID" });
  });

  test("a watcher whose token is revoked hears no more", async () => {
    const { userId, tokenId, client } = await machine(postern, stage.fixture);
    const where = within(stage.fixture.organizationId);
    await made(stage.admin, "/v1/members", { userId, roles: ["ORG_VIEWER"] }, where);
    const after = await endOfEvents();
    const events = watch({ headers: { ...where, authorization: `Bearer ${client.token}` } }, after);
    await made(stage.admin, "/v1/projects", { name: fresh("seen") }, where);
    expect((await events.next()).value?.event?.objectId).toBeTruthy();
    await stage.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`, where);
    let error: ConnectError | undefined;
    const ended = refusalOf(heardToTheEnd(events)).then((refusal) => {
      error = refusal;
    });
    while (!error) await Promise.all([made(stage.admin, "/v1/projects", { name: fresh("more") }, where), pause(100)]);
    await ended;
    expect(readError(error)).toMatchObject({ code: "Unauthenticated", reason: "TOKEN_INVALID" });
  });

  // The line of another watcher may come meanwhile: a call has its line once it is over for the server.
  const watchersThatEnd = (code: string) =>
    lines.filter((line) => line.operation === "/postern.v1.EventService/WatchEvents" && line.code === code).length;

  test("a watcher whose time is over has one line that says so", async () => {
    const before = watchersThatEnd("DEADLINE_EXCEEDED");
    // The client of Connect would not wait for the server to say so.
    const headers = { ...ofAdmin(), "grpc-timeout": "300m", "connect-timeout-ms": "300" };
    // An event of the tests before may come first.
    const error = await refusalOf(heardToTheEnd(watch({ headers })));
    expect(readError(error)).toMatchObject({ code: "DeadlineExceeded", reason: "DEADLINE_EXCEEDED" });
    await expect.poll(() => watchersThatEnd("DEADLINE_EXCEEDED")).toBe(before + 1);
  });

  test("a watcher who leaves ends its call, which has one line", async () => {
    const after = await endOfEvents();
    const before = watchersThatEnd("CANCELED");
    const leave = new AbortController();
    const events = watch({ headers: ofAdmin(), signal: leave.signal }, after);
    await made(stage.admin, "/v1/projects", { name: fresh("seen") }, within(stage.fixture.organizationId));
    await events.next();
    leave.abort();
    await expect(events.next()).rejects.toThrow();
    await expect.poll(() => watchersThatEnd("CANCELED")).toBe(before + 1);
  });
});

async function heardToTheEnd(events: AsyncIterator<unknown>): Promise<void> {
  while (!(await events.next()).done);
}

/** The position of the newest event of the organization, once no transaction before it is open. */
async function endOfEvents(): Promise<string> {
  const listing = async () => {
    const { body } = await stage.admin.get("/v1/events?pageSize=1", within(stage.fixture.organizationId));
    const { position } = body.events[0];
    expect(position).not.toContain("~");
    return position as string;
  };
  return vi.waitFor(listing, { timeout: 60_000, interval: 100 });
}

/** The same call by every protocol that takes it, all at once, with half a second of time. */
function askAll(rpc: string, request: () => object): Promise<DoorAnswer[]> {
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  const open = doors.filter((door) => door.shut(method) === undefined);
  const wait = { "grpc-timeout": "500m", "connect-timeout-ms": "500" };
  return Promise.all(
    open.map((door) => {
      const headers = { ...ofAdmin(), [door.timeout]: wait[door.timeout] };
      return door.ask({ method, request: JSON.parse(JSON.stringify(request())), headers });
    }),
  );
}

/** Has each door ask who the caller is. */
async function cacheCaller(): Promise<void> {
  const before = lines.length;
  const answers = await askAll("AccountService.GetMe", () => ({}));
  await expect.poll(() => lines.length).toBe(before + answers.length);
}

test.each([
  ["a write that waits for another", "UserService.ChangePhone", () => ({ phone: newNumber() })],
  ["a read that does not heed its signal", "ProjectService.GetProject", () => ({})],
] as const)("%s is given up when its time is over, with one line for each call", async (_what, rpc, more) => {
  const { userId, projectId } = stage.fixture;
  const isWrite = rpc === "UserService.ChangePhone";
  await cacheCaller();
  const before = lines.length;
  await using _ = isWrite
    ? await holdUser(postern.databaseUrl, userId)
    : await holdTable(postern.databaseUrl, "projects");
  const answers = await askAll(rpc, () => ({ ...more(), ...(isWrite ? { userId } : { projectId }) }));
  expect(answers.length).toBeGreaterThan(5);
  for (const { code, reason } of answers) expect([code, reason]).toEqual(["DeadlineExceeded", "DEADLINE_EXCEEDED"]);
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(before + answers.length);
  const own = lines.slice(before);
  expect(own.map(({ reason }) => reason)).toEqual(answers.map(() => "DEADLINE_EXCEEDED"));
  expect(new Set(own.map(({ requestId }) => requestId)).size).toBe(answers.length);
});

test("a request that cannot be read has one line, although no interceptor sees it", async () => {
  const method = methods.get("AccountService.GetMe");
  if (!method) throw new Error("there is no GetMe");
  const raw = { json: '{"a', binary: Buffer.of(10, 9, 65) };
  for (const door of doors) {
    const before = lines.length;
    // Connect-es has no status with details for what it refuses by itself, and the doors ask for one.
    const answer = await door.ask({ method, request: {}, raw, headers: ofAdmin() }).catch((error: Error) => error);
    expect(answer, door.name).not.toMatchObject({ code: "OK" });
    await expect.poll(() => lines.length, { message: door.name }).toBe(before + 1);
    expect(lines.at(-1)?.operation, door.name).toBe("/postern.v1.AccountService/GetMe");
  }
});

test("a stream of requests is refused, for no guard sees what it asks", async () => {
  const transport = createGrpcTransport({ baseUrl: ports.http2 });
  const requests = (async function* () {
    yield create(bidi.input);
  })();
  const { message } = await transport.stream(bidi, undefined, undefined, ofAdmin(), requests);
  const error = await refusalOf(message[Symbol.asyncIterator]().next());
  expect(readError(error)).toMatchObject({ code: "Internal", reason: "INTERNAL" });
  expect(streamed).toBe(0);
});
