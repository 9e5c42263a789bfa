import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { create, type DescMethod, fromJson, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { seeded } from "../../packages/gateway/test/http/http2/seeded.ts";
import { restRequest } from "../fixture/rest_call.ts";
import { methods } from "../guards/methods.ts";
import { frame } from "../wire/frame.ts";
import type { HttpRequest } from "../wire/http.ts";
import { nearly } from "./message.ts";
import { mutated, oneOf, type Random } from "./random.ts";

/** Tokens of callers, and ids of objects that are there and of some that are not. */
export type Pool = { readonly tokens: readonly string[]; readonly ids: readonly string[] };

/** A request and the version of HTTP that it is sent over. */
export type FuzzedCall = { readonly version: "1.1" | "2"; readonly request: HttpRequest };

// A stream of events does not end by itself.
const unary = methods.filter(({ methodKind }) => methodKind === "unary");

/** The request of a seed: the same one in every run on the same pool. */
export function callOf(seed: number, pool: Pool): FuzzedCall {
  const random = seeded(seed);
  const method = oneOf(random, unary);
  const message = nearly(random, method.input, pool.ids);
  const { version, ...request } = oneOf(random, doors)(random, method, message);
  const body = Buffer.from(random(6) === 0 ? mutated(random, Buffer.from(request.body)) : request.body);
  const headers = { ...request.headers, ...authorization(random, pool), ...extras(random) };
  const path = random(20) === 0 ? brokenPath(random, request.path) : request.path;
  const verb = random(40) === 0 ? oneOf(random, ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]) : request.method;
  return { version: version ?? oneOf(random, ["1.1", "2"]), request: { method: verb, path, headers, body } };
}

type Shape = HttpRequest & { readonly version?: "1.1" | "2" };
type MakeShape = (random: Random, method: DescMethod, message: JsonObject) => Shape;

const post = (method: DescMethod, body: Uint8Array, headers: Readonly<Record<string, string>>): HttpRequest => ({
  method: "POST",
  path: `/${method.parent.typeName}/${method.name}`,
  headers,
  body,
});

const json = (message: JsonValue) => Buffer.from(JSON.stringify(message));

/** The message in protobuf; of one that is none, bytes that are nearly protobuf. */
function binary(random: Random, method: DescMethod, message: JsonObject): Buffer {
  try {
    return Buffer.from(toBinary(method.input, fromJson(method.input, message, { ignoreUnknownFields: true })));
  } catch {
    return mutated(
      random,
      Buffer.concat([Buffer.from([0x0a, 3]), Buffer.from("abc"), toBinary(method.input, create(method.input))]),
    );
  }
}

const encodings = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;

function compressed(random: Random, bytes: Buffer, header: string) {
  const name = oneOf(random, ["gzip", "br", "zstd"] as const);
  const wrong = random(4) === 0;
  return { bytes: wrong ? bytes : encodings[name](bytes), headers: { [header]: random(8) === 0 ? "deflate" : name } };
}

const doors: readonly MakeShape[] = [
  (random, method, message) => {
    const { verb, path, body } = writtenAsRest(method, message);
    const bytes = body === undefined ? Buffer.alloc(0) : json(body);
    if (random(6) > 0 || body === undefined)
      return { method: verb, path, headers: typed("application/json"), body: bytes };
    const packed = compressed(random, bytes, "content-encoding");
    return { method: verb, path, headers: { ...typed("application/json"), ...packed.headers }, body: packed.bytes };
  },
  (_, method, message) => post(method, json(message), typed("application/json")),
  (_, method, message) =>
    post(method, json(message), { ...typed("application/json"), "connect-protocol-version": "1" }),
  (random, method, message) =>
    post(method, binary(random, method, message), { ...typed("application/proto"), "connect-protocol-version": "1" }),
  (random, method, message) => {
    const query = {
      connect: "v1",
      encoding: "proto",
      base64: "1",
      message: binary(random, method, message).toString("base64url"),
    };
    return {
      method: "GET",
      path: `/${method.parent.typeName}/${method.name}?${new URLSearchParams(query)}`,
      headers: {},
      body: Buffer.alloc(0),
    };
  },
  (random, method, message) => grpc(random, binary(random, method, message), { method, type: "application/grpc" }),
  (random, method, message) => grpc(random, json(message), { method, type: "application/grpc+json" }),
  (random, method, message) =>
    grpcWeb(random, binary(random, method, message), { method, type: "application/grpc-web+proto" }),
  (random, method, message) => {
    const shape = grpcWeb(random, json(message), { method, type: "application/grpc-web-text+json" });
    return { ...shape, body: Buffer.from(Buffer.from(shape.body).toString("base64")) };
  },
];

/** The request by its REST path; what no path or query can hold goes into a body. */
function writtenAsRest(method: DescMethod, message: JsonObject): ReturnType<typeof restRequest> {
  try {
    return restRequest(method, message);
  } catch {
    return { ...restRequest(method, {}), body: message };
  }
}

type Typed = { readonly method: DescMethod; readonly type: string };

const typed = (type: string) => ({ "content-type": type });

function grpc(random: Random, bytes: Buffer, { method, type }: Typed): Shape {
  const { headers, body } = framed(random, bytes);
  return { ...post(method, body, { ...typed(type), te: "trailers", ...headers }), version: "2" };
}

function grpcWeb(random: Random, bytes: Buffer, { method, type }: Typed): Shape {
  const { headers, body } = framed(random, bytes);
  return post(method, body, { ...typed(type), "x-grpc-web": "1", ...headers });
}

function framed(random: Random, bytes: Buffer) {
  if (random(6) > 0) return { headers: {}, body: Buffer.from(frame(bytes)) };
  const packed = compressed(random, bytes, "grpc-encoding");
  const body = Buffer.from(frame(packed.bytes));
  body[0] = oneOf(random, [1, 1, 0, 2, 128]);
  return { headers: packed.headers, body };
}

function authorization(random: Random, { tokens }: Pool): Readonly<Record<string, string>> {
  if (random(12) === 0) return {};
  if (random(12) === 0)
    return { authorization: oneOf(random, ["Bearer", "Bearer x", `Bearer ${"y".repeat(200)}`, "Basic YTpi"]) };
  return { authorization: `Bearer ${oneOf(random, tokens)}` };
}

const values: Readonly<Record<string, readonly string[]>> = {
  "content-type": [
    "",
    "text/plain",
    "application/json; charset=latin1",
    "application/grpc",
    "application/connect+json",
    "a/b;c",
  ],
  "accept-language": ["de", "fr;q=0.1, *", ",;=,", "x".repeat(500)],
  "accept-encoding": ["gzip, br", "*;q=0", ";;", "zstd;q=9"],
  "grpc-timeout": ["1S", "0n", "99999999H", "1", "-1S", "1x"],
  "connect-timeout-ms": ["1000", "0", "99999999999", "-1", "a"],
  "idempotency-key": ["k", "x".repeat(300), "a b", "key-1", "key-2"],
  "x-service-orgid": ["none", "", "x".repeat(300), "0"],
  "x-forwarded-for": ["203.0.113.7", ",,,", "1.2.3.4.5", "::1, 127.0.0.1"],
  "x-request-id": ["a", "x".repeat(300)],
  "x-postern-caller": ["admin"],
  traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0-0-0", "x"],
  "if-none-match": ["*", '"a"'],
  origin: ["https://a.example", "null"],
};

function extras(random: Random): Readonly<Record<string, string>> {
  const names = Object.keys(values);
  return Object.fromEntries(
    Array.from({ length: oneOf(random, [0, 0, 1, 3]) }, () => {
      const name = oneOf(random, names);
      return [name, oneOf(random, values[name] ?? [""])];
    }),
  );
}

const brokenPath = (random: Random, path: string): string =>
  oneOf(random, [
    `${path}/`,
    `${path}?a=1&a=2&=&%`,
    path.replace(/\w$/, "%zz"),
    `/${path}`,
    path.slice(0, -3),
    `${path}?${"a.b=1&".repeat(200)}`,
    "/%2e%2e/v1",
  ]);
