import type { Exchange } from "../../http/exchange.ts";
import { plainCalls } from "../../rest/calls.ts";
import { connectDialect } from "../protocols/connect.ts";
import { grpcDialect } from "../protocols/grpc.ts";
import { grpcWebDialect } from "../protocols/grpc_web.ts";
import { plain } from "../protocols/json.ts";
import type { Dialect, Fields } from "../protocols/protocol.ts";
import { isAuthority, split } from "../request.ts";
import { carry } from "./carry.ts";
import { formats, type RpcFormats } from "./rpc.ts";
import { type Arrival, type LaneParts, waysOf } from "./visit.ts";

/** The fast way for unary calls; says whether it took the call. */
export type Lane = (exchange: Exchange) => boolean;

/** Builds the lane: unary calls in every protocol and in plain JSON, each read whole and answered in one write. */
export function lane(parts: LaneParts): Lane {
  const { protocols = true } = parts;
  const ways = waysOf(parts);
  const inPlain = plainArrivals(parts);
  const inRpc = protocols ? rpcArrivals(parts) : () => undefined;
  const isSound = authorities();
  return (exchange) => {
    if (exchange.flaw || !isSound(exchange.authority)) return false;
    const arrival = inRpc(exchange) ?? inPlain(exchange);
    if (arrival) carry(exchange, { ways, arrival });
    return arrival !== undefined;
  };
}

/** Takes a request, or leaves it to somebody else. */
type Take = (exchange: Exchange) => Arrival | undefined;

function rpcArrivals(parts: LaneParts): Take {
  const table: ReadonlyMap<string, RpcFormats> = formats(parts);
  return ({ version, method, target, headers, account }) => {
    const known = method === "POST" && table.get(target);
    const dialect = known ? dialectOf(headers, version === "2") : undefined;
    if (!known || !dialect) return undefined;
    const { operation } = known;
    return { operation, dialect, format: dialect.json ? known.json : known.binary, headers, bare: false, account };
  };
}

function dialectOf(headers: Fields, http2: boolean): Dialect | undefined {
  const type = headers["content-type"];
  if (typeof type !== "string") return undefined;
  return (http2 ? grpcDialect(type) : undefined) ?? connectDialect(type, headers) ?? grpcWebDialect(type);
}

function plainArrivals(parts: LaneParts): Take {
  const find = plainCalls(parts);
  return ({ method, target, headers, account }) => {
    const at = split(target);
    const contentType = typeof headers["content-type"] === "string" ? headers["content-type"] : undefined;
    if (method !== "GET" && isSpoken(contentType, headers)) return undefined;
    const found = at && find(method, at.path, at.query);
    if (found?.kind !== "call" || found.call.operation.kind !== "unary") return undefined;
    const { operation, decode, encode } = found.call;
    const format = { decode: (bytes: Uint8Array) => decode(bytes, contentType), encode };
    return { operation, dialect: plain, format, headers, bare: method === "HEAD", account };
  };
}

// What another protocol may be behind is left to the door, which knows them all.
const isSpoken = (contentType: string | undefined, headers: Fields) =>
  headers["connect-protocol-version"] !== undefined ||
  (contentType !== undefined && contentType !== plain.contentType && spoken.test(contentType));

const spoken = /^\s*application\/(grpc|connect|proto)/i;

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
