import { type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { frame } from "../../../../test/wire/frame.ts";
import { requestHttp2 } from "../../../../test/wire/http2.ts";
import { readError, refusalOf } from "../../../../test/wire/refusal.ts";
import { openSocket, readUntil } from "../../../../test/wire/tcp.ts";
import { transports } from "../../../../test/wire/transports.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ErrorCode, Flag, FrameType } from "../../src/http/http2/rfc9113.ts";
import { block, dial, four, frame as http2Frame } from "../http/http2/peer.ts";
import { collected, openStandard } from "../services/grpc_client.ts";

let server: Awaited<ReturnType<typeof openStandard>>;
beforeAll(async () => {
  server = await openStandard();
});
afterAll(() => server[Symbol.asyncDispose]());

const list = { messageRequest: { case: "listServices", value: "" } } as const;
const question = frame(toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, list)));
const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

async function* asking(times: number) {
  for (let requested = 0; requested < times; requested++) yield create(ServerReflectionRequestSchema, list);
}

describe.each(transports)("$name", ({ open }) => {
  test("health is told", async () => {
    expect(await createClient(Health, open(server.url)).check({})).toMatchObject({ status: Status.SERVING });
  });

  test("a service that is not here is refused with a reason", async () => {
    const error = await refusalOf(createClient(Health, open(server.url)).check({ service: "none" }));
    expect(readError(error)).toMatchObject({ code: "NotFound", reason: "SERVICE_NOT_FOUND" });
  });

  test("each question of a conversation is answered", async () => {
    const answers = await collected(createClient(ServerReflection, open(server.url)).serverReflectionInfo(asking(3)));
    expect(answers.map(({ messageResponse }) => messageResponse.case)).toEqual(Array(3).fill("listServicesResponse"));
  });

  test("who watches is told when the time is over that it gave itself", async () => {
    const timeoutMs = 300;
    const watching = collected(createClient(Health, open(server.url)).watch({}, { timeoutMs }));
    expect(readError(await refusalOf(watching)).code).toBe("DeadlineExceeded");
  });
});

type Talk = AsyncDisposable & { readonly stream: ClientHttp2Stream; readonly fields: Record<string, unknown> };

/** A stream of gRPC whose requests go on until the test is over. */
function openTalk(headers: Record<string, string> = {}, url = server.url): Talk {
  const session = connectHttp2(url).on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", ...headers });
  const fields: Record<string, unknown> = {};
  const collect = (more: object) => Object.assign(fields, more);
  stream
    .on("error", () => {})
    .on("response", collect)
    .on("trailers", collect);
  return { stream, fields, [Symbol.asyncDispose]: async () => session.destroy() };
}

const ended = ({ stream }: Talk) => new Promise((resolve) => stream.on("end", resolve).resume());

test("an answer comes before the next question", async () => {
  await using talk = openTalk();
  talk.stream.write(question);
  const first = await new Promise<Buffer>((resolve) => talk.stream.once("data", resolve));
  const { messageResponse } = fromBinary(ServerReflectionResponseSchema, first.subarray(5));
  expect(messageResponse.case).toBe("listServicesResponse");
});

test("a client that asks first whether to begin is told to go on", async () => {
  await using talk = openTalk({ expect: "100-continue" });
  await new Promise<void>((resolve) => talk.stream.once("continue", resolve));
  talk.stream.end(question);
  await ended(talk);
  expect(talk.fields["grpc-status"]).toBe("0");
});

test("the headers come before the first question", async () => {
  await using talk = openTalk();
  await new Promise((resolve) => talk.stream.once("response", resolve));
  expect(talk.fields[":status"]).toBe(200);
});

test.each([
  ["malformed bytes", frame(Buffer.of(0xff)), 3, "MALFORMED_BODY"],
  ["a message compressed by nothing", frame("", 1), 13, "ENCODING_MISSING"],
  ["a prefix of no kind", frame("", 4), 3, "MALFORMED_BODY"],
  ["a message that is too large", Buffer.of(0, 0, 1, 0, 0), 8, "BODY_TOO_LARGE"],
])("%s is refused with details, though the questions have no end", async (_, bytes, code, reason) => {
  await using talk = openTalk();
  talk.stream.write(Buffer.concat([question, bytes]));
  await ended(talk);
  expect(talk.fields["grpc-status"]).toBe(String(code));
  const details = Buffer.from(String(talk.fields["grpc-status-details-bin"]), "base64").toString("latin1");
  expect(details).toContain(reason);
});

test("each question has 16 KiB, whatever the setting lets others have", async () => {
  await using roomy = await openStandard({}, { messageMaxBytes: 4_194_304 });
  for (const [length, status] of [
    [16_384, "0"],
    [16_385, "8"],
  ] as const) {
    await using talk = openTalk({}, roomy.url);
    const padding = Buffer.alloc(length - question.length + 5 - 3, "a");
    // A host, which the server ignores.
    const host = Buffer.concat([Buffer.of(0x0a, (padding.length & 127) | 128, padding.length >> 7), padding]);
    talk.stream.end(frame(Buffer.concat([question.subarray(5), host])));
    await ended(talk);
    expect(talk.fields["grpc-status"]).toBe(status);
  }
});

test.each([
  ["message", question.subarray(0, 6)],
  ["prefix", question.subarray(0, 3)],
])("half a %s that goes no further is refused in time", async (_, bytes) => {
  await using hurried = await openStandard({}, { bodyTimeoutMs: 100 });
  await using talk = openTalk({}, hurried.url);
  talk.stream.write(bytes);
  await ended(talk);
  expect(talk.fields["grpc-status"]).toBe("4");
});

test("half a message at the end is refused", async () => {
  const { headers } = await requestHttp2(
    server.url,
    { ":path": path, "content-type": "application/grpc" },
    question.subarray(1),
  );
  expect(headers["grpc-status"]).toBe("3");
});

test("who asks nothing is told when the time is over that it gave itself", async () => {
  await using talk = openTalk({ "grpc-timeout": "200m" });
  await ended(talk);
  expect(talk.fields["grpc-status"]).toBe("4");
});

test.each(["application/grpc+thrift", "application/connect+thrift", "application/proto"])(
  "the content type %s is refused with a reason",
  async (type) => {
    const { headers, body } = await requestHttp2(server.url, { ":path": path, "content-type": type }, question);
    const text = Buffer.from(headers["grpc-status-details-bin"] ?? "", "base64").toString("latin1") + body;
    expect(text).toContain("UNSUPPORTED_CONTENT_TYPE");
  },
);

test("gRPC-Web as text converses as text, however the groups of four are cut", async () => {
  const texts = [question, question].map((one) => one.toString("base64")).join("");
  const session = connectHttp2(server.url);
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc-web-text" });
  for (const part of texts.match(/.{1,5}/g) ?? []) stream.write(part);
  stream.end();
  let answer = "";
  for await (const part of stream) answer += part;
  session.destroy();
  const bytes = (answer.match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, "base64"));
  const received = Buffer.concat(bytes).toString("latin1");
  expect(received.split("grpc.reflection.v1alpha.ServerReflection").length - 1).toBe(2);
  expect(received).toMatch(/grpc-status: ?0\r\n/);
});

test("over HTTP/1.1 a refusal comes before the end of the questions, and the connection lives on", async () => {
  const socket = await openSocket(server);
  const headers = ["host: localhost", "content-type: application/connect+proto", "transfer-encoding: chunked"];
  const chunk = (bytes: Buffer) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, crlf]);
  socket.write(`POST ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
  socket.write(chunk(frame(Buffer.of(0xff))));
  expect(await readUntil(socket, /MALFORMED_BODY/)).toContain("HTTP/1.1 200");
  socket.write(
    Buffer.concat([chunk(question), Buffer.from("0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")]),
  );
  expect(await readUntil(socket, /"ok"/)).toContain('{"status":"ok"}');
  socket.destroy();
});

test("over HTTP/1.1 a refusal of more than can be held leaves the connection as it was", async () => {
  await using roomy = await openStandard({}, { messageMaxBytes: 10_000_000 });
  const socket = await openSocket(roomy);
  const rest = frame("a".repeat(5_000_000));
  const bytes = Buffer.concat([frame(Buffer.of(0xff)), rest]);
  const headers = ["host: localhost", "content-type: application/connect+proto", `content-length: ${bytes.length}`];
  const seen = readUntil(socket, /"ok"/);
  socket.write(`POST ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
  socket.write(bytes);
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  expect(await seen).toMatch(/MALFORMED_BODY.*"status":"ok"/s);
  socket.destroy();
});

test("a message is read however many parts it comes in, and as many as there are in one part", async () => {
  await using talk = openTalk();
  for (const byte of question) talk.stream.write(Buffer.of(byte));
  talk.stream.end(Buffer.concat(Array(50).fill(question)));
  const parts: Buffer[] = [];
  for await (const part of talk.stream) parts.push(part);
  expect(Buffer.concat(parts).toString("latin1").split("v1alpha.ServerReflection").length - 1).toBe(51);
});

const watched = block([
  [":method", "POST"],
  [":scheme", "http"],
  [":authority", "localhost"],
  [":path", "/grpc.health.v1.Health/Watch"],
  ["content-type", "application/grpc"],
  ["grpc-encoding", "gzip"],
]);

test("streams that are reset in the packet that ends their requests leave nothing in the budget", async () => {
  await using port = await openStandard({}, { bodiesMaxBytes: 160_000 });
  await using peer = await dial({ port: Number(new URL(port.url).port) });
  const ids = Array.from({ length: 50 }, (_, index) => 1 + 2 * index);
  const settled = async (mark: string) => {
    peer.send(http2Frame(FrameType.PING, { payload: mark }));
    await peer.receives(({ type, payload }) => type === FrameType.PING && payload.toString() === mark);
  };
  peer.send(...ids.map((id) => http2Frame(FrameType.HEADERS, { id, flags: Flag.END_HEADERS, payload: watched })));
  await settled("begun...");
  for (const id of ids)
    peer.send(
      http2Frame(FrameType.DATA, { id, flags: Flag.END_STREAM, payload: frame("no gzip", 1) }),
      http2Frame(FrameType.RST_STREAM, { id, payload: four(ErrorCode.CANCEL) }),
    );
  await settled("reset...");
  expect(await port.client.unary(Health.method.check, {})).toMatchObject({ status: Status.SERVING });
});

const crlf = Buffer.from("\r\n");
