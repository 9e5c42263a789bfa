import type { IncomingMessage, ServerResponse } from "node:http";
import { isAuthority, split } from "../exchange.ts";
import type { Stream } from "../h2/stream.ts";
import { plainCalls } from "../rest/calls.ts";
import { connectDialect } from "./connect.ts";
import { grpcDialect } from "./grpc.ts";
import { grpcWebDialect } from "./grpc_web.ts";
import { carryHttp1 } from "./http1.ts";
import { carryHttp2 } from "./http2.ts";
import { plain } from "./plain.ts";
import type { Dialect, Fields } from "./protocol.ts";
import { formats, type RpcFormats } from "./rpc.ts";
import { type Arrival, type LaneParts, waysOf } from "./visit.ts";

/** The fast way for unary calls; each function says whether it took the call. */
export type Lane = {
  readonly stream: (stream: Stream) => boolean;
  readonly request: (request: IncomingMessage, response: ServerResponse) => boolean;
};

/** Builds the lane: unary calls in every protocol and in plain JSON, each read whole and answered in one write. */
export function lane(parts: LaneParts): Lane {
  const { stopping, protocols = true } = parts;
  const ways = waysOf(parts);
  const inPlain = plainArrivals(parts);
  const inRpc = protocols ? rpcArrivals(parts) : () => undefined;
  const isSound = authorities();
  return {
    stream(stream) {
      const { headers, tooLarge } = stream;
      if (tooLarge || !isSound(headers[":authority"] ?? headers.host)) return false;
      const line = { method: headers[":method"] ?? "", target: headers[":path"] ?? "", http2: true };
      const arrival = inRpc(line, headers) ?? inPlain(line, headers);
      if (arrival) carryHttp2(stream, { ways, arrival });
      return arrival !== undefined;
    },
    request(request, response) {
      const { method = "", url = "", headers, rawHeaders } = request;
      if (!isSound(headers.host) || isOdd(rawHeaders)) return false;
      const line = { method, target: url, http2: false };
      const arrival = inRpc(line, headers) ?? inPlain(line, headers);
      if (arrival) carryHttp1({ request, response }, { ways, arrival, stopping });
      return arrival !== undefined;
    },
  };
}

/** The first line of a request. */
type Line = { readonly method: string; readonly target: string; readonly http2: boolean };

/** Takes a request, or leaves it to somebody else. */
type Take = (line: Line, headers: Fields) => Arrival | undefined;

function rpcArrivals(parts: LaneParts): Take {
  const table: ReadonlyMap<string, RpcFormats> = formats(parts);
  return ({ method, target, http2 }, headers) => {
    const known = method === "POST" && table.get(target);
    const dialect = known ? dialectOf(headers, http2) : undefined;
    if (!known || !dialect) return undefined;
    const { operation } = known;
    return { operation, dialect, format: dialect.json ? known.json : known.binary, headers, bare: false };
  };
}

function dialectOf(headers: Fields, http2: boolean): Dialect | undefined {
  const type = headers["content-type"];
  if (typeof type !== "string") return undefined;
  return (http2 ? grpcDialect(type) : undefined) ?? connectDialect(type, headers) ?? grpcWebDialect(type);
}

function plainArrivals(parts: LaneParts): Take {
  const find = plainCalls(parts);
  return ({ method, target }, headers) => {
    const at = split(target);
    const contentType = typeof headers["content-type"] === "string" ? headers["content-type"] : undefined;
    if (method !== "GET" && isSpoken(contentType, headers)) return undefined;
    const found = at && find(method, at.path, at.query);
    if (found?.kind !== "call" || found.call.operation.kind !== "unary") return undefined;
    const { operation, decode, encode } = found.call;
    const format = { decode: (bytes: Uint8Array) => decode(bytes, contentType), encode };
    return { operation, dialect: plain, format, headers, bare: method === "HEAD" };
  };
}

// What another protocol may be behind is left to the door, which knows them all.
const isSpoken = (contentType: string | undefined, headers: Fields) =>
  headers["connect-protocol-version"] !== undefined ||
  (contentType !== undefined && contentType !== plain.contentType && spoken.test(contentType));

const spoken = /^\s*application\/(grpc|connect|proto)/i;

const mostHeaders = 64;

/** Whether there are more headers than allowed, or more hosts than one: for the door to refuse. */
function isOdd(rawHeaders: readonly string[]): boolean {
  if (rawHeaders.length > 2 * mostHeaders) return true;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts !== 1;
}

/** Tells whether an authority can be one; the last one is remembered, as most clients say the same. */
function authorities(): (authority: string | undefined) => boolean {
  let last: string | undefined;
  return (authority) => {
    if (authority === undefined) return false;
    if (authority === last) return true;
    const sound = isAuthority(authority);
    if (sound) last = authority;
    return sound;
  };
}
