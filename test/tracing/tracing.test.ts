import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  Span_SpanKind as Kind,
  type Span,
  Status_StatusCode as Status,
} from "../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { oneConnection } from "../events/log_of.ts";
import { type Postern, startPostern } from "../harness.ts";
import { type Door, openDoors } from "../parity/doors.ts";
import { attributesOf, hex, nobodyAt, startCollector } from "./collector.ts";

let collector: Awaited<ReturnType<typeof startCollector>>;
let postern: Postern;
let doors: ReturnType<typeof openDoors>;
beforeAll(async () => {
  collector = await startCollector();
  postern = await startPostern({
    tracesBase: collector.url,
    tracesHeaders: { "x-team": "identity" },
    serviceName: "postern-test",
  });
  doors = openDoors(postern.url);
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

const newTrace = () => ({ traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") });
const traceparent = ({ traceId, spanId }: ReturnType<typeof newTrace>, flags = "01") => ({
  traceparent: `00-${traceId}-${spanId}-${flags}`,
});
const spansIn = (traceId: string) => collector.spans.filter((span) => hex(span.traceId) === traceId);
const callIn = (spans: readonly Span[]) => spans.find(({ kind }) => kind === Kind.SERVER);

/** The span of the call that a trace came with, and what it caused. */
async function heard(traceId: string) {
  return vi.waitFor(() => {
    const spans = spansIn(traceId);
    const call = callIn(spans);
    if (!call) throw new Error("the span has not arrived");
    return { call, statements: spans.filter(({ kind }) => kind === Kind.CLIENT) };
  }, 60_000);
}

const doorNamed = (name: string): Door => {
  const door = doors.all.find((one) => one.name === name);
  if (!door) throw new Error(`there is no door ${name}`);
  return door;
};
const bearer = () => ({ authorization: `Bearer ${postern.admin.token}` });

test.each([
  { name: "gRPC binary over HTTP/2", door: "grpc", system: "grpc" },
  { name: "gRPC-Web text over HTTP/1.1", door: "grpc_web", system: "grpc" },
  { name: "Connect JSON over HTTP/1.1", door: "connect", system: "connectrpc" },
  { name: "Connect GET JSON over HTTP/2", door: "connect", system: "connectrpc" },
  { name: "REST over HTTP/1.1", door: "json", system: "json" },
  { name: "REST over HTTP/2", door: "json", system: "json" },
])("$name: the span of a call continues the caller's trace", async ({ name, door, system }) => {
  const mine = newTrace();
  const headers = { ...bearer(), ...traceparent(mine), tracestate: "vendor=1" };
  const answer = await doorNamed(name).ask({
    ...{ method: UserService.method.getUser, headers },
    request: { userId: postern.adminId },
  });
  expect(answer.code).toBe("OK");
  const { call, statements } = await heard(mine.traceId);
  expect(call).toMatchObject({ name: "postern.v1.UserService/GetUser", traceState: "vendor=1", flags: 0x301 });
  expect([hex(call.parentSpanId), hex(call.spanId).length]).toEqual([mine.spanId, 16]);
  expect(call.status).toBeUndefined();
  expect(attributesOf(call)).toEqual({
    "rpc.system.name": system,
    "rpc.method": "postern.v1.UserService/GetUser",
    "rpc.response.status_code": "OK",
    "postern.door": door,
    "postern.request_id": expect.stringMatching(/^[\da-z]{24}$/),
  });
  expect(call.startTimeUnixNano).toBeLessThanOrEqual(call.endTimeUnixNano);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) {
    expect(hex(statement.parentSpanId)).toBe(hex(call.spanId));
    expect(statement.startTimeUnixNano).toBeGreaterThanOrEqual(call.startTimeUnixNano);
    expect(statement.flags).toBe(0x101);
  }
  expect(statements.map((one) => one.name)).toContainEqual(expect.stringMatching(/^SELECT .*users/));
});

test("the collector hears who we are, with the headers it asks for", async () => {
  const mine = newTrace();
  await postern.admin.get("/v1/users/me", traceparent(mine));
  await heard(mine.traceId);
  expect(collector.received.at(-1)).toMatchObject({
    path: "/v1/traces",
    headers: { "x-team": "identity", "content-type": "application/x-protobuf" },
    resource: { "service.name": "postern-test", "service.instance.id": expect.stringMatching(/^[\da-f-]{36}$/) },
  });
});

test("the span names the request as the answer does", async () => {
  const mine = newTrace();
  const { headers } = await postern.admin.get("/v1/users/me", traceparent(mine));
  const { call } = await heard(mine.traceId);
  expect(attributesOf(call)["postern.request_id"]).toBe(headers.get("x-request-id"));
});

test.each(["gRPC binary over HTTP/2", "REST over HTTP/1.1"])(
  "%s: a refused call carries its code and reason",
  async (name) => {
    const mine = newTrace();
    const headers = { ...bearer(), ...traceparent(mine) };
    await doorNamed(name).ask({ method: UserService.method.getUser, headers, request: { userId: "nobody" } });
    const { call } = await heard(mine.traceId);
    expect(attributesOf(call)).toMatchObject({
      "rpc.response.status_code": "NOT_FOUND",
      "postern.reason": "USER_NOT_FOUND",
    });
    // A request for a missing object is the client's mistake, not the server's.
    expect(call.status).toBeUndefined();
  },
);

test("what cannot be read is a span of its operation, and what is not ours has no name", async () => {
  const [broken, unknown] = [newTrace(), newTrace()];
  await doorNamed("gRPC binary over HTTP/2").ask({
    ...{ method: AccountService.method.getMe, request: {}, raw: { binary: Buffer.from([0x0f]) } },
    headers: { ...bearer(), ...traceparent(broken) },
  });
  await postern.admin.get("/v1/secrets/of/somebody", traceparent(unknown));
  const { call } = await heard(broken.traceId);
  expect([call.name, attributesOf(call)["postern.reason"]]).toEqual([
    ...["postern.v1.AccountService/GetMe", "MALFORMED_BODY"],
  ]);
  const { call: other } = await heard(unknown.traceId);
  expect([other.name, attributesOf(other)["rpc.method"]]).toEqual(["unknown", "_OTHER"]);
});

test("a caller that does not trace is not traced; one that says nothing begins a trace", async () => {
  const [silent, loud] = [newTrace(), newTrace()];
  await postern.admin.get("/v1/users/me", traceparent(silent, "00"));
  const own = (await postern.admin.get("/v1/users/me")).headers.get("x-request-id");
  await postern.admin.get("/v1/users/me", { traceparent: "00-1234-yes" });
  await postern.admin.get("/v1/users/me", traceparent(loud));
  await heard(loud.traceId);
  expect(spansIn(silent.traceId)).toEqual([]);
  const root = collector.spans.find((span) => attributesOf(span)["postern.request_id"] === own);
  expect(root).toMatchObject({ parentSpanId: new Uint8Array(), flags: 0x101 });
});

test("a write names its tables and nothing that it wrote", async () => {
  const mine = newTrace();
  const name = `Project ${randomBytes(4).toString("hex")}`;
  await postern.admin.post("/v1/projects", { name }, traceparent(mine));
  const { statements } = await heard(mine.traceId);
  const write = statements.find((one) => one.name.startsWith("INSERT"));
  expect(write?.name).toBe("INSERT events projects");
  expect(attributesOf(write ?? { attributes: [] })).toEqual({
    "db.system.name": "postgresql",
    "db.operation.name": "INSERT",
    "db.query.summary": write?.name,
  });
  const text = JSON.stringify(
    spansIn(mine.traceId).map((span) => [span.name, Object.values(attributesOf(span)).map(String)]),
  );
  expect(text).not.toContain(name);
  expect(text).not.toContain(postern.admin.token);
});

test("a statement that calls share is in the trace of each of them", async () => {
  const path = (await postern.admin.post("/v1/projects", { name: `Shared ${randomBytes(4).toString("hex")}` })).body;
  const roles = `/v1/projects/${path.projectId}`;
  const round = async () => {
    const many = Array.from({ length: 40 }, newTrace);
    await Promise.all(many.map((mine) => postern.admin.get(roles, traceparent(mine))));
    const found = await Promise.all(many.map(({ traceId }) => heard(traceId)));
    // On a busy machine some of the calls read their caller again.
    const reads = ({ name }: Span) => name === "SELECT projects project_grants organizations";
    for (const { call, statements } of found)
      expect(statements.filter(reads).map(({ parentSpanId }) => hex(parentSpanId))).toEqual([hex(call.spanId)]);
    return found.flatMap(({ statements }) => statements.map((one) => Number(attributesOf(one)["postern.calls"] ?? 0)));
  };
  // On a busy machine the calls may come one after the other.
  await expect.poll(async () => Math.max(...(await round()))).toBeGreaterThan(1);
});

test("a stream is one span, to its end", async () => {
  const mine = newTrace();
  const leave = new AbortController();
  const headers = { ...bearer(), ...traceparent(mine), accept: "application/x-ndjson" };
  const answer = await fetch(`${postern.url}/v1/events:watch?after=0.0.0`, { headers, signal: leave.signal });
  await answer.body?.getReader().read();
  expect(spansIn(mine.traceId).filter(({ kind }) => kind === Kind.SERVER)).toEqual([]);
  leave.abort();
  const { call, statements } = await heard(mine.traceId);
  expect(attributesOf(call)["rpc.response.status_code"]).toBe("CANCELED");
  expect(statements.length).toBeGreaterThan(0);
});

test("a fault of the server is a failed span, its statement too", async () => {
  await using other = await startPostern({
    tracesBase: collector.url,
    databaseStatementTimeoutMs: 3_000,
    cacheSeconds: 0,
  });
  const mine = newTrace();
  await using one = oneConnection(other.databaseUrl);
  await one.sql`begin`;
  await one.sql`lock table members in access exclusive mode`;
  const { status } = await other.admin.get(`/v1/users/${other.adminId}`, traceparent(mine));
  expect(status).toBe(504);
  const { call, statements } = await heard(mine.traceId);
  expect(call.status?.code).toBe(Status.ERROR);
  expect(attributesOf(call)["error.type"]).toBe("DEADLINE_EXCEEDED");
  expect(statements.map((one) => [one.status?.code, attributesOf(one)["error.type"]])).toContainEqual([
    Status.ERROR,
    "57014",
  ]);
});

test("what has ended is handed over at shutdown", async () => {
  const mine = newTrace();
  {
    await using other = await startPostern({ tracesBase: collector.url });
    await other.admin.get("/v1/users/me", traceparent(mine));
  }
  expect(callIn(spansIn(mine.traceId))?.name).toBe("postern.v1.AccountService/GetMe");
});

test("a collector that refuses harms nobody, and what is lost is counted", async () => {
  await using deaf = await startCollector(() => ({ status: 400 }));
  await using other = await startPostern({ tracesUrl: `${deaf.url}/elsewhere` });
  expect((await other.admin.get("/v1/users/me")).status).toBe(200);
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`${other.url}/metrics`)).text();
    expect(metrics).toMatch(/^postern_spans_dropped_total [1-9]\d*$/m);
    expect(metrics).toMatch(/^postern_spans_exported_total 0$/m);
  }, 60_000);
  expect(deaf.received[0]?.path).toBe("/elsewhere");
});

test("a collector that is not there harms nobody", async () => {
  await using other = await startPostern({ tracesBase: await nobodyAt() });
  expect((await other.admin.get("/v1/users/me")).status).toBe(200);
});

test("a service that traces nothing loads nothing for it", async () => {
  const loaded = async (env: Readonly<Record<string, string>>) => {
    const all = {
      ...env,
      ...{ DATABASE_URL: postern.databaseUrl, PORT: "0", POSTERN_MASTER_KEY: key, LOG_LEVEL: "warn" },
      // Not that of the folder where the tests run, which may hold the files of another database.
      POSTERN_DATA_DIR: postern.config.dataDir,
    };
    const { stdout } = await promisify(execFile)(process.execPath, [script], { env: all });
    return JSON.parse(stdout);
  };
  const key = postern.config.masterKeys.map((one) => one.toString("base64")).join(",");
  const off = await loaded({});
  expect(off.all).toBeGreaterThan(100);
  expect(off.tracing).toBe(0);
  const on = await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  expect(on.tracing).toBeGreaterThan(5);
});

const script = fileURLToPath(new URL("loaded.ts", import.meta.url));
