import {
  brotliCompressSync,
  brotliDecompressSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from "node:zlib";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { frame, readFrames } from "../../../../test/wire/frame.ts";
import { fieldsOf, type HttpResponse, readTrailers } from "../../../../test/wire/http.ts";
import { readStatus } from "../../../../test/wire/refusal.ts";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { invalid } from "../../src/errors/gateway_error.ts";
import type { SampleServer } from "../sample_gateway.ts";
import { binary, openUnary, post, statusIn } from "./sample_call.ts";

const grpc = { "content-type": "application/grpc" };
const reply = async (server: SampleServer, body: Uint8Array, headers = {}) =>
  statusIn(await post(server, body, { ...grpc, ...headers }));

test.each([
  ["no message", Buffer.alloc(0), "Unimplemented UNIMPLEMENTED"],
  ["two messages", Buffer.concat([frame(""), frame("")]), "Unimplemented UNIMPLEMENTED"],
  ["half a prefix", Buffer.from([0, 0, 0]), "InvalidArgument MALFORMED_BODY"],
  ["half a message", frame("\n\u0003ada").subarray(0, 7), "InvalidArgument MALFORMED_BODY"],
  ["a byte too many", Buffer.concat([frame(""), Buffer.from([0])]), "InvalidArgument MALFORMED_BODY"],
  ["a length of 4 GiB", Buffer.from([0, 255, 255, 255, 255, 1]), "InvalidArgument MALFORMED_BODY"],
  ["unknown flags", frame("", 2), "InvalidArgument MALFORMED_BODY"],
  ["a message that is none", frame(Buffer.from([0xff, 0xff, 0xff])), "InvalidArgument MALFORMED_BODY"],
  ["text that is not UTF-8", frame(Buffer.from([10, 2, 0xc3, 0x28])), "InvalidArgument MALFORMED_BODY"],
  ["compressed, without saying how", frame(gzipSync(""), 1), "Internal ENCODING_MISSING"],
])("gRPC: %s", async (_what, body, expected) => {
  await using server = await openUnary();
  expect(await reply(server, body)).toBe(expected);
});

test.each([
  ["no message", Buffer.alloc(0)],
  ["two messages", Buffer.concat([frame(""), frame("")])],
])("gRPC: %s where one is expected is refused as that, not as an unknown method", async (_what, body) => {
  await using server = await openUnary();
  const { headers } = await post(server, body, grpc);
  expect(headers).toMatchObject({ "grpc-status": "12", "grpc-message": "this method takes exactly one message" });
});

test("gRPC: a refusal comes as headers alone", async () => {
  await using server = await openUnary();
  const { headers, trailers, body } = await post(server, Buffer.alloc(0), grpc);
  expect(headers).toMatchObject({ ":status": "200", "content-type": "application/grpc", "grpc-status": "12" });
  expect([Object.keys(trailers), body.length]).toEqual([[], 0]);
});

test.each(["application/grpc", "application/grpc+proto"])("gRPC: %s is answered in kind", async (type) => {
  await using server = await openUnary();
  const answer = await post(server, frame(binary(server, { name: "ada" })), { "content-type": type });
  expect(answer.headers["content-type"]).toBe(type);
  expect(answer.trailers).toMatchObject({ "grpc-status": "0" });
  expect(answer.body).toEqual(frame(binary(server, { name: "ada" })));
});

test.each([
  ["application/json", "{"],
  ["application/json", "[]"],
  ["application/json", '{"name":"\\ud800"}'],
  ["application/proto", Buffer.from([0xff])],
])("Connect: %s that cannot be read", async (type, body) => {
  await using server = await openUnary();
  const headers = { "content-type": type, "connect-protocol-version": "1" };
  const answer = await post(server, Buffer.from(body), headers);
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code: "invalid_argument" });
});

test.each(["application/json", "application/grpc+json"])("%s: every wrong field is named", async (type) => {
  await using server = await openUnary();
  const text = '{"nmae": "x", "itemCount": "many", "name": "too long", "on": true, "on": false}';
  const body = type === "application/json" ? Buffer.from(text) : frame(text);
  const answer = await post(server, body, { "content-type": type, "connect-protocol-version": "1" });
  const details = String(answer.headers["grpc-status-details-bin"] ?? JSON.parse(`${answer.body}`).details[0].value);
  expect(Buffer.from(details, "base64").toString("latin1")).toMatch(/on, nmae, itemCount, name/);
});

test("Connect: another version of the protocol is refused", async () => {
  await using server = await openUnary();
  const headers = { "content-type": "application/json", "connect-protocol-version": "2" };
  expect((await post(server, Buffer.from("{}"), headers)).status).toBe(400);
});

const codecs = [
  ["gzip", gzipSync, gunzipSync],
  ["br", brotliCompressSync, brotliDecompressSync],
  ["zstd", zstdCompressSync, zstdDecompressSync],
] as const;

test.each(codecs)("%s goes in and, when asked for, out", async (name, pack, unpack) => {
  await using server = await openUnary();
  const message = binary(server, { data: new Uint8Array(5000) });
  const encoding = { "grpc-encoding": name, "grpc-accept-encoding": `identity,${name}` };
  const answer = await post(server, frame(pack(message), 1), { ...grpc, ...encoding });
  expect([answer.headers["grpc-encoding"], answer.body[0]]).toEqual([name, 1]);
  expect(Buffer.compare(unpack(answer.body.subarray(5)), message)).toBe(0);

  const http = { "content-type": "application/proto", "content-encoding": name, "accept-encoding": `deflate, ${name}` };
  const second = await post(server, pack(message), http);
  expect(second.headers["content-encoding"]).toBe(name);
  expect(Buffer.compare(unpack(second.body), message)).toBe(0);
});

test("an answer is as it is when it is small, or nobody asked for less", async () => {
  await using server = await openUnary();
  const large = { data: new Uint8Array(5000) };
  const small = await post(server, frame(""), { ...grpc, "grpc-accept-encoding": "gzip" });
  const plain = await post(server, frame(binary(server, large)), grpc);
  const never = await post(server, binary(server, large), {
    "content-type": "application/proto",
    "accept-encoding": "gzip;q=0, *",
  });
  expect([small.body[0], plain.body[0], never.headers["content-encoding"]]).toEqual([0, 0, undefined]);
});

test("an encoding nobody here knows is refused, naming those that are known", async () => {
  await using server = await openUnary();
  const answer = await post(server, frame("x", 1), { ...grpc, "grpc-encoding": "snappy" });
  expect(statusIn(answer)).toBe("Unimplemented UNSUPPORTED_ENCODING");
  expect(answer.headers["grpc-accept-encoding"]).toBe("gzip,br,zstd");
});

test.each(codecs)("%s: what is too large only when unpacked, or broken, is refused", async (name, pack) => {
  await using server = await openUnary();
  const bomb = frame(pack(Buffer.alloc(10_000_000)), 1);
  expect(await reply(server, bomb, { "grpc-encoding": name })).toBe("ResourceExhausted BODY_TOO_LARGE");
  expect(await reply(server, frame("no", 1), { "grpc-encoding": name })).toBe("InvalidArgument MALFORMED_BODY");
});

test.each([
  ["application/grpc", 200],
  ["application/grpc-web-text", 200],
  ["application/proto", 429],
])("%s: a body that is too large is refused before it is all there", async (type, status) => {
  await using server = await openUnary();
  const answer = await post(server, Buffer.alloc(400_000), { "content-type": type });
  expect(answer.status).toBe(status);
});

test("a body of just the limit is taken", async () => {
  await using server = await openUnary({}, { messageMaxBytes: 5000 });
  const fits = binary(server, { data: new Uint8Array(4997) });
  expect(fits.length).toBe(5000);
  expect((await post(server, frame(fits), grpc)).trailers).toMatchObject({ "grpc-status": "0" });
  const over = frame(binary(server, { data: new Uint8Array(4998) }));
  expect(await reply(server, over)).toBe("ResourceExhausted BODY_TOO_LARGE");
});

const web = { "content-type": "application/grpc-web-text+proto" };

test("gRPC-Web text: base64 in one piece or in padded parts", async () => {
  await using server = await openUnary();
  const message = frame(binary(server, { name: "ada" }));
  const parts = [message.subarray(0, 4), message.subarray(4)].map((part) => part.toString("base64"));
  const bytes = Array.from(message, (byte) => Buffer.of(byte).toString("base64"));
  for (const text of [message.toString("base64"), parts.join(""), bytes.join("")]) {
    const { headers, body } = await post(server, Buffer.from(text), web);
    expect(headers["content-type"]).toBe(web["content-type"]);
    const ok = frame("grpc-status: 0\r\n", 0x80);
    expect(Buffer.from(body.toString(), "base64")).toEqual(Buffer.concat([message, ok]));
  }
});

const noBase64 = ["AAAA*AAA", "=", "====", "AAAAAA", "AAAAA===", "AA=A", "=AAA", "AAA-", "AAA\xff"];

test.each(noBase64)("gRPC-Web text: %s is no base64", async (text) => {
  await using server = await openUnary();
  const { body } = await post(server, Buffer.from(text, "latin1"), web);
  expect(Buffer.from(body.toString(), "base64").toString()).toMatch(/grpc-status: 3\r\n/);
});

test("a refusal with more violations than headers can hold arrives with the first of them", async () => {
  const violations = Array.from({ length: 1000 }, (_, index) => ({
    field: `items[${index}]`,
    text: "is wrong",
  }));
  await using server = await openUnary({ handler: () => Promise.reject(invalid(violations)) });
  const answer = await post(server, frame(""), grpc);
  expect(statusIn(answer)).toBe("InvalidArgument VALIDATION_FAILED");
  const size = Object.values(answer.headers).join("").length;
  expect(size).toBeGreaterThan(2000);
  expect(size).toBeLessThan(8000);
  const { omitted, listed } = countsIn(answer);
  expect(listed).toBeGreaterThan(50);
  expect(listed + omitted).toBe(1000);

  await using long = await openUnary();
  const name = "x".repeat(50_000);
  const other = await post(long, frame(`{"${name}": 1}`), { "content-type": "application/grpc+json" });
  expect(statusIn(other)).toBe("InvalidArgument VALIDATION_FAILED");
});

test("a refusal of gRPC-Web lists a hundred violations, as its trailers are no headers", async () => {
  const violations = Array.from({ length: 150 }, (_, index) => ({
    field: `items[${index}]`,
    text: "is wrong ".repeat(15),
  }));
  await using server = await openUnary({ handler: () => Promise.reject(invalid(violations)) });
  const { body } = await post(server, frame(""), { "content-type": "application/grpc-web+proto" });
  const [trailers] = readFrames(body);
  const { details } = readStatus(readTrailers(trailers?.message ?? Buffer.alloc(0)));
  const [bad] = details.flatMap((one) => anyUnpack(one, BadRequestSchema) ?? []);
  expect(bad?.fieldViolations).toHaveLength(100);
});

/** The numbers of violations that a gRPC refusal lists and omits. */
function countsIn(response: HttpResponse): { listed: number; omitted: number } {
  const { details } = readStatus(fieldsOf(response));
  const [info] = details.flatMap((one) => anyUnpack(one, ErrorInfoSchema) ?? []);
  const [bad] = details.flatMap((one) => anyUnpack(one, BadRequestSchema) ?? []);
  return { listed: bad?.fieldViolations.length ?? 0, omitted: Number(info?.metadata.omitted) };
}

test.each(["application/grpc+json", "application/grpc-web+json", "application/json"])(
  "%s: a field named by half a character is refused like any other",
  async (type) => {
    await using server = await openUnary();
    const text = '{"\\ud800": 1}';
    const body = type === "application/json" ? Buffer.from(text) : frame(text);
    const answer = await post(server, body, { "content-type": type, "connect-protocol-version": "1" });
    const received = `${answer.headers["grpc-message"]}${answer.body}`;
    expect(received).toMatch(/not(%20| )valid/);
    expect((await post(server, frame(""), grpc)).trailers["grpc-status"]).toBe("0");
  },
);

test.each(["[", "a:99999"])("the authority %s is refused", async (authority) => {
  await using server = await openUnary();
  const headers = { ...grpc, ":authority": authority };
  expect((await post(server, frame(""), headers)).status).toBe(400);
});
