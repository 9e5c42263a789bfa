import { once } from "node:events";
import { request } from "node:http";
import { connect, constants } from "node:http2";
import { connect as dial } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { Client, status as codes, credentials, Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { frame } from "../../../../test/wire/frame.ts";
import { readResponse } from "../../../../test/wire/http2.ts";
import { readError, refusalOf } from "../../../../test/wire/refusal.ts";
import { transports } from "../../../../test/wire/transports.ts";
import type { SampleHandler, SampleServer } from "../sample_gateway.ts";
import { call, openUnary, path, post, statusIn } from "./sample_call.ts";

const grpc = { "content-type": "application/grpc" };

/** A handler that never ends by itself, and reports the reason of its signal. */
function endless() {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
  const handler: SampleHandler = (_request, { signal }) => {
    start();
    signal.addEventListener("abort", () => end(signal.reason));
    return new Promise<object>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const deaf: SampleHandler = (_request, { signal }) => {
    start();
    signal.addEventListener("abort", () => end(signal.reason));
    return new Promise<object>(() => {});
  };
  return { handler, deaf, started, ended };
}

describe.each(transports)("$name", (transport) => {
  test.each(["handler", "deaf"] as const)("a deadline ends a call, whatever its %s does", async (kind) => {
    const work = endless();
    await using server = await openUnary({ handler: work[kind] });
    // Sent as a header, so that the client's own timer does not answer first.
    const name = transport.name.startsWith("Connect") ? "connect-timeout-ms" : "grpc-timeout";
    const headers = { [name]: name === "grpc-timeout" ? "1000m" : "1000" };
    const error = await refusalOf(call(server, transport, {}, { headers }));
    expect(readError(error)).toMatchObject({ code: "DeadlineExceeded", reason: "DEADLINE_EXCEEDED" });
    expect(await work.ended).toMatchObject({ code: Code.DeadlineExceeded });
  });

  test("a deadline in the far future is no reason to refuse", async () => {
    await using server = await openUnary();
    expect(await call(server, transport, { name: "ada" }, { timeoutMs: 99_999_999 })).toMatchObject({ name: "ada" });
  });

  test("a client that gives up ends the work", async () => {
    const work = endless();
    await using server = await openUnary({ handler: work.handler });
    const abort = new AbortController();
    const answer = refusalOf(call(server, transport, {}, { signal: abort.signal }));
    await work.started;
    abort.abort();
    expect((await answer).code).toBe(Code.Canceled);
    expect(await work.ended).toMatchObject({ code: Code.Canceled });
  });
});

test.each([
  ["99999999H", "Ok"],
  ["1u", "DeadlineExceeded DEADLINE_EXCEEDED"],
  ["0n", "DeadlineExceeded DEADLINE_EXCEEDED"],
  ["5", "InvalidArgument MALFORMED_REQUEST"],
  ["-1S", "InvalidArgument MALFORMED_REQUEST"],
  ["123456789S", "InvalidArgument MALFORMED_REQUEST"],
])("grpc-timeout: %s", async (timeout, expected) => {
  // A timer that overflows fires at once.
  const lasting: SampleHandler = async (message) => pause(20, message);
  await using server = await openUnary({ handler: expected === "Ok" ? lasting : endless().deaf });
  const answer = await post(server, frame(""), { ...grpc, "grpc-timeout": timeout });
  expect(answer.trailers["grpc-status"] === "0" ? "Ok" : statusIn(answer)).toBe(expected);
});

test("a deadline is cut to the longest that is allowed", async () => {
  await using server = await openUnary({ handler: endless().deaf }, { deadlineMaxMs: 30 });
  expect(statusIn(await post(server, frame(""), { ...grpc, "grpc-timeout": "9H" }))).toMatch(/^DeadlineExceeded/);
});

test("a call without a deadline ends too", async () => {
  const work = endless();
  await using server = await openUnary({ handler: work.deaf }, { deadlineMaxMs: 200 });
  expect(statusIn(await post(server, frame(""), grpc))).toMatch(/^DeadlineExceeded/);
  expect(await work.ended).toMatchObject({ code: Code.DeadlineExceeded });
});

test("HTTP/1.1: a server about to stop answers and keeps no connection", async () => {
  const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
  const { promise: stopped, resolve: stops } = Promise.withResolvers<void>();
  const handler: SampleHandler = async (request) => {
    begins();
    await stopped;
    return request;
  };
  await using server = await openUnary({ handler });
  const headers = { "content-type": "application/proto" };
  const requested = fetch(`${server.url}${path}`, { method: "POST", headers });
  await begun;
  const closed = server[Symbol.asyncDispose]();
  stops();
  const answer = await requested;
  expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  await closed;
});

test("a call that ends before its body leaves no timer behind", async () => {
  await using server = await openUnary({}, { bodyTimeoutMs: 3_600_000 });
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const session = connect(server.url);
  await once(session, "remoteSettings");
  const before = timers();
  const unended = { ":method": "POST", ":path": path, ...grpc, "grpc-timeout": "1m" };
  for (let round = 0; round < 50; round++) {
    const stream = session.request(unended, { endStream: false });
    stream.on("error", () => {}).resume();
    await once(stream, "close");
  }
  expect(timers() - before).toBeLessThan(10);
  session.destroy();
});

test("a body that never ends is refused in time, and never runs", async () => {
  let ran = false;
  const handler: SampleHandler = async () => {
    ran = true;
    return {};
  };
  await using server = await openUnary({ handler }, { bodyTimeoutMs: 50 });
  const session = connect(server.url);
  const stream = session.request({ ":method": "POST", ":path": path, ...grpc });
  stream.write(frame("").subarray(0, 3));
  expect(statusIn(await readResponse(stream))).toBe("DeadlineExceeded DEADLINE_EXCEEDED");
  session.destroy();
  expect(ran).toBe(false);
});

test.each([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL, constants.NGHTTP2_INTERNAL_ERROR])(
  "a stream reset with code %i in the middle of its body never runs",
  async (code) => {
    let runs = 0;
    const handler: SampleHandler = async () => {
      runs += 1;
      return {};
    };
    await using server = await openUnary({ handler });
    // Frames by hand: a client of Node ends the body before it resets a stream.
    const socket = dial(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
    const types = ["application/grpc", "application/proto"];
    const opened = types.map((type, index) => [
      ...http2Frame(
        1,
        4,
        2 * index + 1,
        Buffer.concat(Object.entries({ ...pseudo, "content-type": type }).map(literal)),
      ),
      ...http2Frame(0, 0, 2 * index + 1, frame("")),
      ...http2Frame(3, 0, 2 * index + 1, Buffer.from([0, 0, 0, code])),
    ]);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Buffer.from([...http2Frame(4, 0, 0, Buffer.alloc(0)), ...opened.flat()]));
    await pause(50);
    expect(runs).toBe(0);
    expect(await answers(server)).toBe(true);
    socket.destroy();
  },
);

const pseudo = { ":method": "POST", ":scheme": "http", ":authority": "localhost", ":path": path };

// RFC 9113, 4.1.
function http2Frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

// RFC 7541, 6.2.2: a literal without indexing, its name new.
const literal = ([name, value]: readonly [string, string]) =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

test("a connection lost before the answer harms nobody else", async () => {
  const work = endless();
  await using server = await openUnary({ handler: work.handler });
  const session = connect(server.url);
  session.on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": path, ...grpc });
  stream.on("error", () => {});
  stream.end(frame(""));
  await work.started;
  session.destroy();
  expect(await work.ended).toMatchObject({ code: Code.Canceled });
});

test("an answer to a stream that was reset meanwhile is dropped", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const handler: SampleHandler = async () => {
    await promise;
    return {};
  };
  await using server = await openUnary({ handler });
  const session = connect(server.url);
  const stream = session.request({ ":method": "POST", ":path": path, ...grpc });
  stream.on("error", () => {});
  stream.end(frame(""));
  await pause(30);
  stream.close(constants.NGHTTP2_CANCEL);
  await pause(30);
  resolve();
  expect(await answers(server)).toBe(true);
  session.destroy();
});

test("HTTP/1.1: a client that leaves in the middle of its body never runs, one that waits for 100 does", async () => {
  let runs = 0;
  const handler: SampleHandler = async () => {
    runs += 1;
    return {};
  };
  await using server = await openUnary({ handler });
  const headers = { "content-type": "application/proto", "content-length": 3 };
  const leaving = request(`${server.url}${path}`, { method: "POST", headers });
  leaving.on("error", () => {}).write("\n");
  await pause(30);
  leaving.destroy();
  await pause(30);
  expect(runs).toBe(0);
  const waiting = request(`${server.url}${path}`, { method: "POST", headers: { ...headers, expect: "100-continue" } });
  waiting.flushHeaders();
  await once(waiting, "continue");
  waiting.end("\n\u0001a");
  const [response] = await once(waiting, "response");
  expect([response.statusCode, runs]).toEqual([200, 1]);
  response.resume();
});

test("grpc-js calls, is refused with details, gives up and meets its deadline", async () => {
  const work = endless();
  const handler: SampleHandler = (message, context) => {
    if (context.requestHeader.get("x-wait")) return work.deaf(message, context);
    return Promise.resolve(message);
  };
  await using server = await openUnary({ handler });
  using client = stub(server);
  expect(await client.call("\n\u0003ada")).toMatchObject({ answer: Buffer.from("\n\u0003ada") });
  const refusal = await client.call("\n\u0006adaada");
  expect(refusal.error?.code).toBe(codes.INVALID_ARGUMENT);
  expect(String(refusal.error?.metadata.get("grpc-status-details-bin")[0])).toMatch(/STRING_MAX_LEN/);
  const late = await client.call("", { wait: "yes", deadline: Date.now() + 100 });
  expect(late.error?.code).toBe(codes.DEADLINE_EXCEEDED);
});

function stub({ url }: SampleServer) {
  const client = new Client(new URL(url).host, credentials.createInsecure());
  type Outcome = { error?: (Error & { code: number; metadata: Metadata }) | undefined; answer?: Buffer | undefined };
  const same = (bytes: Buffer) => bytes;
  return {
    call(message: string, { wait = "", deadline = Date.now() + 60_000 } = {}): Promise<Outcome> {
      const metadata = new Metadata();
      if (wait) metadata.set("x-wait", wait);
      return new Promise((resolve) =>
        client.makeUnaryRequest(path, same, same, Buffer.from(message), metadata, { deadline }, (error, answer) =>
          resolve({ error: error ?? undefined, answer }),
        ),
      );
    },
    [Symbol.dispose]: () => client.close(),
  };
}

const answers = async (server: SampleServer) => (await post(server, frame(""), grpc)).trailers["grpc-status"] === "0";
