import { ConnectError, type ContextValues } from "@connectrpc/connect";
import { acceptedEncoding, minCompressedBytes } from "../codec/compression.ts";
import { GatewayError, type Refuse } from "../errors/gateway_error.ts";
import { wrongHeader } from "../errors/problem.ts";
import { HeaderFields } from "../header_fields.ts";
import { httpDate } from "../http/date.ts";
import type { Exchange, RequestFault, Response, ResponseFields } from "../http/exchange.ts";
import { authorityCheck, splitTarget, type Target } from "../http/target.ts";
import { type Cors, isPreflight } from "./cors.ts";
import { type Due, deadlines } from "./deadlines.ts";
import type { FindCall } from "./find_call.ts";
import { type HttpRequest, type HttpRoute, routeAt } from "./http_route.ts";
import { type Match, matcher } from "./match.ts";
import { methodName } from "./method_name.ts";
import { asksForPage, type PageOf, type RefusedVisit } from "./page.ts";
import { withReason } from "./protocols/http_error.ts";
import { json } from "./protocols/json.ts";
import type { Negotiated } from "./protocols/protocol.ts";
import { receiveBody } from "./route_body.ts";
import type { CallLimits, CallOptions, FailedRequest, PauseOf } from "./rpc_call.ts";
import type { RpcMethod } from "./rpc_method.ts";
import { StreamCall } from "./stream_call.ts";
import { UnaryCall } from "./unary_call.ts";

/** Methods, routes, limits and callbacks of a server. */
export type RpcServerOptions = {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  readonly findCall: FindCall;
  /** Handlers of paths that are not rpcs. */
  readonly routes: ReadonlyMap<string, HttpRoute>;
  readonly limits: CallLimits;
  /** Makes the context values of a request, even of one that matches no rpc. */
  readonly contextValues: (request: Exchange) => ContextValues;
  /** Headers of every response, such as the request id. */
  readonly responseHeaders: ((values: ContextValues) => ResponseFields) | undefined;
  /** Responds to preflights, and sets the CORS headers of responses; absent if no page may read any. */
  readonly cors: Cors | undefined;
  readonly refuse: Refuse;
  /** Makes the page for a request that matches no rpc, for a person using a browser. */
  readonly pageOf: PageOf | undefined;
  /** Reports an error that no interceptor has seen, and returns the error to send. */
  readonly onError: ((error: unknown, request: FailedRequest) => ConnectError) | undefined;
  readonly pause: PauseOf | undefined;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
};

/** Serves one request, and never throws. */
export type Handle = (exchange: Exchange) => void;

/** Serves rpcs in every protocol and as JSON over HTTP, and the other routes. */
export function rpcServer(options: RpcServerOptions): Handle {
  const call = callOptions(options);
  const match = matcher(options);
  const isAuthority = authorityCheck();
  const state = { options, call };
  return (exchange) => {
    const values = options.contextValues(exchange);
    try {
      if (exchange.fault) throw faultOf(exchange, exchange.fault);
      const target = splitTarget(exchange.target);
      if (!target) throw new GatewayError("MALFORMED_REQUEST");
      if (!isAuthority(exchange.authority)) throw wrongHeader(exchange.version === "2" ? ":authority" : "host");
      const matched = () => dispatch(state, { exchange, values, target, match: match(exchange, target) });
      const isAnswered = isPreflight(exchange.method, exchange.headers) && !answersPreflights(options, target);
      if (isAnswered) void servePreflight(state, { exchange, values }, matched);
      else matched();
    } catch (error) {
      refuseRequest(state, { exchange, values }, { error, negotiated: json, operation: methodName(exchange.method) });
    }
  };
}

const faultOf = ({ faultyHeader }: Exchange, fault: RequestFault) =>
  faultyHeader === undefined ? new GatewayError(fault) : wrongHeader(faultyHeader);

type ServerState = { readonly options: RpcServerOptions; readonly call: CallOptions };
type Incoming = { readonly exchange: Exchange; readonly values: ContextValues };

function dispatch(state: ServerState, { exchange, values, target, match }: Incoming & MatchedRequest): void {
  switch (match.kind) {
    case "unary":
      new UnaryCall({ options: state.call, exchange, matched: match.matched, values }).start();
      break;
    case "stream":
      void new StreamCall({ options: state.call, exchange, matched: match.matched, values }).start();
      break;
    case "refused":
      refuseRequest(state, { exchange, values }, match);
      break;
    case "route":
      void serveRoute(state, { exchange, values, target }, match.route);
      break;
  }
}

type MatchedRequest = { readonly target: Target; readonly match: Match };

async function serveRoute(state: ServerState, incoming: Incoming & { target: Target }, route: HttpRoute) {
  const { exchange, values } = incoming;
  const { method, headers } = exchange;
  const ended = route.observe?.({ method, headers, values });
  const status = await respondTo(state, incoming, route).catch((error) =>
    refuseRequest(state, { exchange, values }, { error, negotiated: json, operation: methodName(method) }),
  );
  ended?.(status);
}

/** Sends the response of a route, and returns its status. */
async function respondTo(
  state: ServerState,
  incoming: Incoming & { target: Target },
  route: HttpRoute,
): Promise<number> {
  const { exchange, values } = incoming;
  const { method, headers } = exchange;
  const methods = route.methods ?? ["GET", "HEAD"];
  if (!methods.includes(method))
    throw new GatewayError("METHOD_NOT_ALLOWED", { params: { allow: methods.join(", ") } });
  const response = await route.handle(await routeRequest(state, incoming, route.bodyMaxBytes));
  const compressedResponse = await compressed(response, headers["accept-encoding"]);
  // Aborting something that has ended costs a twentieth of a request.
  exchange.onClose = undefined;
  state.call.respond(
    exchange,
    { ...compressedResponse, headers: { ...defaultHeaders, ...compressedResponse.headers } },
    values,
  );
  return response.status;
}

/** The request of a route, with its body if the route takes one. */
async function routeRequest(
  { call }: ServerState,
  { exchange, values, target }: Incoming & { target: Target },
  maxBytes: number | undefined,
): Promise<HttpRequest> {
  const { method, headers, network } = exchange;
  const request = { method, headers, network, path: target.path, query: target.query, values };
  if (maxBytes === undefined) return { ...request, body: noBody, signal: neverAborted };
  const gone = new AbortController();
  const onClose = () => gone.abort();
  exchange.onClose = onClose;
  const body = await receiveBody(exchange, { maxBytes, slowBodies: call.slowBodies, signal: gone.signal });
  return { ...request, body, signal: gone.signal };
}

const noBody = new Uint8Array();

const answersPreflights = ({ routes }: RpcServerOptions, { path }: Target): boolean =>
  routeAt(routes, path)?.methods?.includes("OPTIONS") === true;

const defaultHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Compresses a response if it is large enough and the client accepts an encoding. */
async function compressed(response: Response, accepts: string | undefined): Promise<Response> {
  const { body, headers } = response;
  if (typeof body !== "string" || body.length < minCompressedBytes || headers["content-encoding"]) return response;
  const encoding = acceptedEncoding(accepts);
  const variedHeaders = { ...headers, vary: [headers.vary, "accept-encoding"].filter(Boolean).join(", ") };
  if (!encoding) return { ...response, headers: variedHeaders };
  return {
    ...response,
    headers: { ...variedHeaders, "content-encoding": encoding.name },
    body: await encoding.compress(body),
  };
}

/** Responds to a preflight; if origins do not matter, OPTIONS is a method like any other. */
async function servePreflight(state: ServerState, incoming: Incoming, otherwise: () => void): Promise<void> {
  const { exchange, values } = incoming;
  try {
    const response = await state.options.cors?.preflight(exchange.headers, values);
    if (response) state.call.respond(exchange, response, values);
    else otherwise();
  } catch (error) {
    refuseRequest(state, incoming, { error, negotiated: json, operation: methodName(exchange.method) });
  }
}

type Refusal = { readonly error: unknown; readonly negotiated: Negotiated; readonly operation: string };

/** Refuses a request that matches no rpc, and returns the status of the response. */
function refuseRequest(
  { call, options }: ServerState,
  { exchange, values }: Incoming,
  { error, negotiated, operation }: Refusal,
): number {
  const requestHeader = new HeaderFields(exchange.headers);
  const signal = neverAborted;
  const refusal = call.onError(error, { values, signal, requestHeader, operation });
  const metadata = { contentType: negotiated.contentType, header: undefined, trailer: undefined };
  const plain = negotiated.protocol.refuse(refusal, metadata);
  const page = asksForPage(exchange) ? options.pageOf?.(refusal, visitOf(exchange, values)) : undefined;
  const response = page ? { ...page, headers: { ...plain.headers, ...page.headers } } : plain;
  call.refuse(exchange, response, values);
  return response.status;
}

const visitOf = ({ target, headers }: Exchange, values: ContextValues): RefusedVisit => ({
  path: splitTarget(target)?.path ?? "",
  headers,
  values,
});

const neverAborted = new AbortController().signal;

function callOptions(options: RpcServerOptions): CallOptions {
  const { limits, stopping, refuse, onError, cors, responseHeaders, pause } = options;
  const toConnectError = converter(refuse);
  const headersOf: CallOptions["responseHeaders"] = (exchange, headers, values) => {
    const own = responseHeaders?.(values);
    // A route may decide for itself which pages can read it.
    const forBrowsers = headers["access-control-allow-origin"]
      ? undefined
      : cors?.headersFor(exchange.headers.origin, values);
    if (!forBrowsers) return own ? { ...headers, ...own } : headers;
    const vary = [...new Set([headers.vary, forBrowsers.vary])].filter(Boolean).join(", ");
    return vary ? { ...headers, ...own, ...forBrowsers, vary } : { ...headers, ...own, ...forBrowsers };
  };
  const respond: CallOptions["respond"] = (exchange, response, values) => {
    try {
      send(exchange, response, headersOf(exchange, response.headers, values));
    } catch {
      exchange.abort();
    }
  };
  return {
    limits,
    stopping,
    pause,
    toConnectError,
    responseHeaders: (exchange, headers, values) => headersOf(exchange, { date: httpDate(), ...headers }, values),
    onError(error, request) {
      const connectError = error instanceof GatewayError ? toConnectError(error) : error;
      return onError ? onError(connectError, request) : toConnectError(connectError);
    },
    respond,
    refuse(exchange, response, values) {
      const pending = cors?.refusalHeadersFor(exchange.headers.origin, values);
      if (!pending) return respond(exchange, response, values);
      const answer = (more: ResponseFields) =>
        respond(exchange, { ...response, headers: { ...response.headers, ...more } }, values);
      pending.then(answer, () => answer({}));
    },
    unaryDeadlines: deadlines(limits.deadlineMaxMs, expire),
    slowBodies: deadlines(limits.bodyTimeoutMs, expire),
  };
}

const expire = (one: Due & { readonly expire: () => void }) => one.expire();

function converter(refuse: Refuse): CallOptions["toConnectError"] {
  return (error) => {
    if (error instanceof GatewayError) return withReason(refuse(error.reason, error.details), error.reason);
    return error instanceof ConnectError ? error : refuse("INTERNAL", { cause: error });
  };
}

function send(exchange: Exchange, { status, body, trailers }: Response, headers: ResponseFields): void {
  // gRPC clients do not read the date.
  if (trailers) {
    exchange.answer({ status, headers, body, trailers });
    return;
  }
  const length = body === undefined ? undefined : { "content-length": String(Buffer.byteLength(body)) };
  const all = { date: httpDate(), ...length, ...headers };
  exchange.answer({ status, headers: all, body: exchange.method === "HEAD" ? undefined : body });
}
