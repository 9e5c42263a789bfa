import { GatewayError } from "../errors/gateway_error.ts";
import { unreadable, wrongHeader } from "../errors/problem.ts";
import type { Fields } from "../header_fields.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Target } from "../http/target.ts";
import type { FindCall } from "./find_call.ts";
import { type HttpRoute, routeAt } from "./http_route.ts";
import { methodName, unknownName } from "./method_name.ts";
import { type NamedProtocol, protocolNamed, unsupportedType } from "./negotiate.ts";
import { negotiateConnect, negotiateQuery } from "./protocols/connect.ts";
import { negotiateGrpc } from "./protocols/grpc.ts";
import { negotiateGrpcWeb } from "./protocols/grpc_web.ts";
import { json } from "./protocols/json.ts";
import { negotiateJsonStream } from "./protocols/json_stream.ts";
import type { Negotiated } from "./protocols/protocol.ts";
import type { Matched } from "./rpc_call.ts";
import type { Codec, RpcMethod, StreamRpc, UnaryRpc } from "./rpc_method.ts";

/** The rpc or route of a request, or the reason for refusing it. */
export type Match =
  | { readonly kind: "unary"; readonly matched: Matched<UnaryRpc> }
  | { readonly kind: "stream"; readonly matched: Matched<StreamRpc> }
  | { readonly kind: "route"; readonly route: HttpRoute }
  | {
      readonly kind: "refused";
      readonly error: GatewayError;
      readonly negotiated: Negotiated;
      /** The path of an rpc, or the HTTP method. */
      readonly operation: string;
    };

type MatchOptions = {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly findCall: FindCall;
  readonly routes: ReadonlyMap<string, HttpRoute>;
};

/** Matches requests by content type, as Connect's GET, as JSON over HTTP, or as a route that is not an rpc. */
export function matcher(options: MatchOptions) {
  return (exchange: Exchange, target: Target): Match => {
    const { method, headers } = exchange;
    const rpc = options.methods.get(target.path);
    const named = method === "GET" ? undefined : protocolNamed(headers);
    if (named && (rpc || !mayBeRest(named, headers))) return byProtocol(exchange, target, { named, rpc });
    const inQuery = method === "GET" && rpc ? byQuery(rpc, target) : undefined;
    return inQuery ?? byPath(options, exchange, target);
  };
}

// Without Connect's header, `application/proto` may be the mistake of a client that calls a REST path.
const mayBeRest = ({ family }: NamedProtocol, headers: Fields) =>
  family === "connect" && headers["connect-protocol-version"] === undefined;

type NamedRpc = { readonly named: NamedProtocol; readonly rpc: RpcMethod | undefined };

function byProtocol({ method, version }: Exchange, { path }: Target, { named, rpc }: NamedRpc): Match {
  const { family, negotiated = fallbacks[family] } = named;
  const refused = (error: GatewayError, as = negotiated): Match => ({
    kind: "refused",
    error,
    negotiated: as,
    // A path that is not an rpc is the client's own text, and must not enter the log.
    operation: rpc ? path : unknownName,
  });
  if (family === "grpc" && version !== "2") return refused(new GatewayError("HTTP_VERSION_TOO_OLD"), json);
  // Clients of gRPC and of streaming Connect expect UNIMPLEMENTED for an unknown rpc; HTTP has a status for it.
  if (!rpc) return refused(new GatewayError(family === "connect" ? "UNKNOWN_PATH" : "UNIMPLEMENTED"));
  if (method !== "POST") return refused(notAllowed(rpc));
  const isKindAllowed = family.startsWith("grpc") || (family === "connect") === (rpc.kind === "unary");
  if (!named.negotiated || !isKindAllowed) return refused(unsupportedType(rpc));
  return matched(rpc, negotiated, negotiated.codec === "json" ? rpc.json : rpc.proto);
}

// The protocol and codec in which an unknown codec is refused.
const fallbacks: Readonly<Record<NamedProtocol["family"], Negotiated>> = {
  grpc: required(negotiateGrpc("application/grpc")),
  "grpc-web": required(negotiateGrpcWeb("application/grpc-web")),
  connect: required(negotiateConnect("application/proto", {})),
  "connect stream": required(negotiateConnect("application/connect+proto", {})),
};

function required(negotiated: Negotiated | undefined): Negotiated {
  if (!negotiated) throw new Error("a content type of a protocol is not known");
  return negotiated;
}

const notAllowed = (rpc: RpcMethod) =>
  new GatewayError("METHOD_NOT_ALLOWED", { params: { allow: rpc.isRead ? "GET, POST" : "POST" } });

function matched(rpc: RpcMethod, negotiated: Negotiated, codec: Codec, query?: Matched["query"]): Match {
  return rpc.kind === "unary"
    ? { kind: "unary", matched: { rpc, negotiated, codec, query } }
    : { kind: "stream", matched: { rpc, negotiated, codec, query } };
}

/** https://connectrpc.com/docs/protocol#unary-get-request */
function byQuery(rpc: RpcMethod, { path, query }: Target): Match | undefined {
  const params = new URLSearchParams(query);
  if (!params.has("message") || !params.has("encoding")) return undefined;
  const negotiated = negotiateQuery(params.get("encoding"));
  const refused = (error: GatewayError): Match => ({
    kind: "refused",
    error,
    negotiated: negotiated ?? fallbacks.connect,
    operation: path,
  });
  if (!rpc.isRead) return refused(notAllowed(rpc));
  if (!negotiated)
    return refused(new GatewayError("UNSUPPORTED_CONTENT_TYPE", { params: { supported: "proto, json" } }));
  if (!["v1", null].includes(params.get("connect"))) return refused(wrongHeader("connect-protocol-version"));
  const message = messageIn(params);
  if (!message) return refused(unreadable("BODY_NOT_BASE64"));
  const encoding = params.get("compression") ?? undefined;
  return matched(rpc, negotiated, negotiated.codec === "json" ? rpc.json : rpc.proto, { message, encoding });
}

function messageIn(params: URLSearchParams): Buffer | undefined {
  const text = params.get("message") ?? "";
  if (params.get("base64") !== "1") return Buffer.from(text);
  return /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, "base64url") : undefined;
}

function byPath({ findCall, routes }: MatchOptions, { method, headers }: Exchange, { path, query }: Target): Match {
  const refused = (error: GatewayError): Match => ({
    kind: "refused",
    error,
    negotiated: json,
    operation: methodName(method),
  });
  const result = findCall(method, path, query);
  switch (result?.kind) {
    case undefined: {
      const route = routeAt(routes, path);
      return route ? { kind: "route", route } : refused(new GatewayError("UNKNOWN_PATH"));
    }
    case "malformed":
      return refused(new GatewayError("MALFORMED_REQUEST"));
    case "wrong method":
      return refused(new GatewayError("METHOD_NOT_ALLOWED", { params: { allow: result.allow } }));
    case "call": {
      const { rpc, codecFor } = result.call;
      const negotiated = rpc.kind === "unary" ? json : negotiateJsonStream(headers);
      return matched(rpc, negotiated, codecFor(headers["content-type"]));
    }
  }
}
