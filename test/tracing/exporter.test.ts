import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { ExportTraceServiceResponseSchema, TracesDataSchema } from "../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { collector } from "../../src/tracing/collector.ts";
import { mostWaiting, openExporter } from "../../src/tracing/exporter.ts";
import type { Ended } from "../../src/tracing/span.ts";
import { hex, nobodyAt, startCollector } from "./collector.ts";

const span: Ended = {
  ...{ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", parentId: "00f067aa0ba902b7" },
  ...{ remote: true, state: "a=1", kind: "server", name: "postern.v1.UserService/GetUser", failed: true },
  ...{ from: 1_700_000_000_000, to: 1_700_000_000_001.5 },
  attributes: { "rpc.system.name": "grpc", "postern.calls": 3, "postern.reason": undefined },
};
// Made by opentelemetry-proto 1.45 of Python from the same values.
const request =
  "CscBChsKGQoMc2VydmljZS5uYW1lEgkKB3Bvc3Rlcm4SpwEKCQoHcG9zdGVybhKZAQoQCvdlGRbNQ92ESOshHIAxnBIIt61rcWkgMzEaA2E9MSIIAPBnqgup" +
  "ArcqHnBvc3Rlcm4udjEuVXNlclNlcnZpY2UvR2V0VXNlcjACOQAAKjb+nJcXQWDjQDb+nJcXShkKD3JwYy5zeXN0ZW0ubmFtZRIGCgRncnBjShMKDXBvc3Rl" +
  "cm4uY2FsbHMSAhgDegIYAoUBAQMAAA==";
const twoRejected = Buffer.from("CgsIAhIHdG9vIG9sZA==", "base64");

function exportTo(url: string, times: { everyMs?: number; pauseMs?: number; flushMs?: number } = {}) {
  const failures: string[] = [];
  const onError = (error: unknown) => failures.push(String(error));
  const to = { url, headers: {}, resource: { "service.name": "postern" } };
  const exporter = openExporter({ hand: collector(to), onError, everyMs: 5, pauseMs: 5, ...times });
  return { failures, exporter, [Symbol.asyncDispose]: () => exporter[Symbol.asyncDispose]() };
}

test("spans are written as the public definition of OTLP has them", async () => {
  const bodies: string[] = [];
  vi.stubGlobal("fetch", async (_: string, { body }: { body: Uint8Array }) => {
    bodies.push(Buffer.from(body).toString("base64"));
    return new Response();
  });
  try {
    const to = { url: "http://127.0.0.1", headers: {}, resource: { "service.name": "postern" } };
    expect(await collector(to)([span], AbortSignal.timeout(30_000))).toBe(1);
  } finally {
    vi.unstubAllGlobals();
  }
  expect(bodies).toEqual([request]);
  const known = fromBinary(TracesDataSchema, Buffer.from(request, "base64"), { readUnknownFields: false });
  expect(Buffer.from(toBinary(TracesDataSchema, known)).toString("base64")).toBe(request);
  expect(fromBinary(ExportTraceServiceResponseSchema, twoRejected).partialSuccess).toMatchObject({
    ...{ rejectedSpans: 2n, errorMessage: "too old" },
  });
});

test("what the collector rejects of a batch is counted as lost", async () => {
  await using to = await startCollector(() => ({ status: 200, body: twoRejected }));
  await using at = exportTo(to.url, { everyMs: 60_000 });
  for (let n = 0; n < 5; n++) at.exporter.take(span);
  await at.exporter[Symbol.asyncDispose]();
  expect(at.exporter.load()).toEqual({ waiting: 0, exported: 3, dropped: 2 });
});

test("a collector that is busy is asked again, and what it says no to is not sent twice", async () => {
  const answers = [429, 503, 200, 413, 200];
  let asked = 0;
  await using to = await startCollector(() => ({ status: answers[asked++] ?? 200 }));
  await using at = exportTo(to.url);
  at.exporter.take(span);
  await vi.waitFor(() => expect(at.exporter.load()).toEqual({ waiting: 0, exported: 1, dropped: 0 }), 60_000);
  at.exporter.take(span);
  await vi.waitFor(() => expect(at.exporter.load()).toEqual({ waiting: 0, exported: 1, dropped: 1 }), 60_000);
  at.exporter.take({ ...span, spanId: "b7ad6b7169203332" });
  await vi.waitFor(() => expect(at.exporter.load()).toEqual({ waiting: 0, exported: 2, dropped: 1 }), 60_000);
  expect(to.spans.map(({ spanId }) => hex(spanId))).toEqual([span.spanId, "b7ad6b7169203332"]);
  // Told once for each time that it begins to fail.
  expect(at.failures).toEqual(["NotTaken: it answered 429", "NotTaken: it answered 413"]);
});

test("what waits is bounded, and what comes beyond is counted as lost", async () => {
  await using at = exportTo(await nobodyAt(), { pauseMs: 60_000, flushMs: 1 });
  for (let n = 0; n < mostWaiting + 7; n++) at.exporter.take(span);
  expect(at.exporter.load()).toEqual({ waiting: mostWaiting, exported: 0, dropped: 7 });
  await vi.waitFor(() => expect(at.failures).toEqual(["NotTaken: it cannot be reached (ECONNREFUSED)"]), 60_000);
  await at.exporter[Symbol.asyncDispose]();
  expect(at.exporter.load()).toEqual({ waiting: 0, exported: 0, dropped: mostWaiting + 7 });
});

test("closing hands over what waits, and does not wait for a collector that does not answer", async () => {
  await using silent = await startSilent();
  await using at = exportTo(silent.url, { flushMs: 50 });
  at.exporter.take(span);
  await vi.waitFor(() => expect(silent.asked()).toBe(1), 60_000);
  at.exporter.take(span);
  await at.exporter[Symbol.asyncDispose]();
  expect(at.exporter.load()).toEqual({ waiting: 0, exported: 0, dropped: 2 });
});

/** Takes requests and never answers. */
async function startSilent() {
  const { createServer } = await import("node:http");
  let asked = 0;
  const server = createServer(() => {
    asked += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
