import { setTimeout as pause } from "node:timers/promises";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { type Client, isOver, paced } from "./client.ts";
import { type Http1, openHttp1, type Request, requestBytes } from "./http1.ts";
import { exchangeHttp2, type Http2, openHttp2 } from "./http2.ts";

/** A request over one version of HTTP. */
export type Call = Request & {
  readonly http: "1" | "2";
  /** Makes headers that differ each time. */
  readonly changing?: () => Request["headers"];
};

/** How the message of a call is compressed. */
export type Encoding = "identity" | "br" | "gzip" | "zstd";

/** Compresses as small as it can. */
export function compress(bytes: Uint8Array, encoding: Encoding): Buffer {
  switch (encoding) {
    case "identity":
      return Buffer.from(bytes);
    case "br":
      return brotliCompressSync(bytes, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 },
      });
    case "gzip":
      return gzipSync(bytes, { level: 9 });
    case "zstd":
      return zstdCompressSync(bytes);
  }
}

/** A message with its encoding, still to be put into a protocol. */
export type Message = { readonly bytes: Uint8Array; readonly encoding?: Encoding };

const post = { method: "POST" } as const;

/** JSON on a REST path, or on the path of an rpc without a protocol's header. */
export function rest(path: string, { bytes, encoding = "identity" }: Message, method = "POST"): Call {
  const headers = { "content-type": "application/json", ...encoded("content-encoding", encoding) };
  return { http: "1", method, path, headers, body: compress(bytes, encoding) };
}

/** Unary Connect. */
export function connect(rpc: string, format: "json" | "proto", { bytes, encoding = "identity" }: Message): Call {
  const headers = { "content-type": `application/${format}`, "connect-protocol-version": "1" };
  const all = { ...headers, ...encoded("content-encoding", encoding) };
  return { http: "1", ...post, path: pathOf(rpc), headers: all, body: compress(bytes, encoding) };
}

/** A stream of Connect with one message. */
export function connectStream(rpc: string, { bytes, encoding = "identity" }: Message): Call {
  const headers = { "content-type": "application/connect+proto", ...encoded("connect-content-encoding", encoding) };
  return { http: "1", ...post, path: pathOf(rpc), headers, body: enveloped({ bytes, encoding }) };
}

/** GRPC, over HTTP/2. */
export function grpc(rpc: string, message: Message, format = "proto"): Call {
  const headers = { "content-type": `application/grpc+${format}`, te: "trailers" };
  const all = { ...headers, ...encoded("grpc-encoding", message.encoding) };
  return { http: "2", ...post, path: pathOf(rpc), headers: all, body: enveloped(message) };
}

/** GRPC-Web, over HTTP/1.1. */
export function grpcWeb(rpc: string, message: Message, format = "proto"): Call {
  const headers = { "content-type": `application/grpc-web+${format}`, ...encoded("grpc-encoding", message.encoding) };
  return { http: "1", ...post, path: pathOf(rpc), headers, body: enveloped(message) };
}

/** A request without a body. */
export function get(path: string, headers: Call["headers"] = {}, http: Call["http"] = "1"): Call {
  return { http, method: "GET", path, headers, body: new Uint8Array() };
}

/** The headers of a browser that wants a page. */
export const asBrowser = { accept: "text/html,application/xhtml+xml" } as const;

/** The path of an rpc, named with its service. */
export const pathOf = (rpc: string) => (rpc.startsWith("/") ? rpc : `/postern.v1.${rpc}`);

const encoded = (name: string, encoding: Encoding | undefined) =>
  encoding && encoding !== "identity" ? { [name]: encoding } : {};

/** A message with the five bytes that gRPC and streams of Connect put in front of it. */
export function enveloped({ bytes, encoding = "identity" }: Message): Buffer {
  const message = compress(bytes, encoding);
  const prefix = Buffer.alloc(5);
  prefix[0] = encoding === "identity" ? 0 : 1;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Sends a call again and again, one after the other, until the time is over; answers the longest time that one took. */
export function callRepeatedly(client: Client, one: Call): Promise<number> {
  const call = withCaller(client, one);
  return call.http === "1" ? sequence1(client, call) : sequence2(client, call);
}

/** Sends a call so many times at once. */
export function callTogether(client: Client, one: Call, count: number): Promise<void> {
  const call = withCaller(client, one);
  return call.http === "1" ? together1(client, call, count) : together2(client, call, count);
}

function withCaller({ authorization }: Client, call: Call): Call {
  return authorization === "" ? call : { ...call, headers: { ...call.headers, authorization } };
}

async function sequence1(client: Client, call: Call): Promise<number> {
  const bytes = requestBytes(client, call);
  let connection: Http1 | undefined;
  let longest = 0;
  while (!isOver(client)) {
    await paced(client);
    const began = performance.now();
    if (!connection || connection.wire.isClosed()) connection = await openHttp1(client);
    await connection.exchange(call.changing ? requestBytes(client, changed(call)) : bytes);
    longest = Math.max(longest, performance.now() - began);
    await aside();
  }
  connection?.[Symbol.dispose]();
  return longest;
}

const changed = (call: Call): Call => ({ ...call, headers: { ...call.headers, ...call.changing?.() } });

/** Lets the thread see that a connection was closed. */
const aside = () => new Promise((resolve) => setImmediate(resolve));

async function sequence2(client: Client, call: Call): Promise<number> {
  let connection: Http2 | undefined;
  let longest = 0;
  while (!isOver(client)) {
    await paced(client);
    const began = performance.now();
    if (!connection?.isUsable()) {
      connection?.[Symbol.dispose]();
      connection = await openHttp2(client);
    }
    await exchangeHttp2(client, connection, fieldsOf(client, call), call.body);
    longest = Math.max(longest, performance.now() - began);
    await aside();
  }
  connection?.[Symbol.dispose]();
  return longest;
}

async function together1(client: Client, call: Call, count: number): Promise<void> {
  const bytes = requestBytes(client, call);
  const connections = await Promise.all(Array.from({ length: count }, () => openHttp1(client)));
  await Promise.all(connections.map(({ exchange }) => exchange(bytes)));
  for (const connection of connections) connection[Symbol.dispose]();
}

async function together2(client: Client, call: Call, count: number): Promise<void> {
  using connection = await openHttp2(client);
  // The first SETTINGS of the server say how large its windows are.
  await pause(20);
  const fields = fieldsOf(client, call);
  const sent = Array.from({ length: count }, () => exchangeHttp2(client, connection, fields, call.body));
  await Promise.all(sent);
}

/** The header fields of a call over HTTP/2. */
export function fieldsOf({ host, port }: Pick<Client, "host" | "port">, { method, path, headers }: Call) {
  return { ":method": method, ":scheme": "http", ":path": path, ":authority": `${host}:${port}`, ...headers };
}
