import { createRegistry, type DescMessage, type DescMethod, type DescService, type Registry } from "@bufbuild/protobuf";
import type { ConnectError, ContextValues, Interceptor } from "@connectrpc/connect";
import { unknownCallerEncodings } from "./codec/compression.ts";
import type { DecoderOptions } from "./codec/decoder.ts";
import { type FieldBounds, validateBounds } from "./codec/field_bounds.ts";
import { anyTypes } from "./codec/json.ts";
import { englishTexts, type Refuse, refuseWith } from "./errors/gateway_error.ts";
import type { Exchange, ResponseFields } from "./http/exchange.ts";
import { type Listening, type ListenOptions, listen, type ServerLimits } from "./http/server.ts";
import { restCalls } from "./rest/calls.ts";
import { CallValues } from "./rpc/call_values.ts";
import { type CallerOrigins, corsFor } from "./rpc/cors.ts";
import { type HttpRoute, routesByPath } from "./rpc/http_route.ts";
import type { PageOf } from "./rpc/page.ts";
import { collectRoutes, type RequestGate, type Route, type RouteOptions, type Routes } from "./rpc/router.ts";
import type { CallLimits, FailedRequest, PauseOf } from "./rpc/rpc_call.ts";
import { type MethodLimits, type RpcMethod, rpcMethod } from "./rpc/rpc_method.ts";
import { rpcServer } from "./rpc/server.ts";
import { type DefaultOptions, defaultOptions, type OpenapiOptions } from "./services/openapi/defaults.ts";
import { probes, type ReadyFields } from "./services/probes.ts";
import { type Ready, readiness } from "./services/readiness.ts";
import { reference } from "./services/reference.ts";
import { standardRoutes } from "./services/standard.ts";

/** Options of a gateway; only the routes are required. */
export type GatewayOptions = {
  /** Registers services, as for `connectNodeAdapter`. */
  readonly routes: Routes;
  /** Interceptors of every call; the first one is the outermost. */
  readonly interceptors?: readonly Interceptor[];
  /** Called with the headers of a request before its body is read; throws to refuse the call. */
  readonly requestGate?: RequestGate;
  /** Whether rpcs are also served as JSON over HTTP at the paths of `google.api.http`; true by default. */
  readonly rest?: boolean;
  readonly limits?: Partial<GatewayLimits>;
  /** The limits of an rpc by its contract. */
  readonly limitsOf?: (method: DescMethod) => Partial<MethodLimits>;
  /** Whether an rpc ignores unknown JSON fields, which are refused by default. */
  readonly ignoresUnknown?: (method: DescMethod) => boolean;
  /** The maximum number of values in a message's fields; by default, from the rules of `buf.validate`. */
  readonly bounds?: FieldBounds;
  /** Returns the rules that a message breaks, which are reported together with unreadable fields. */
  readonly rules?: (type: DescMessage) => DecoderOptions["rules"];
  /** The types that an Any may contain in JSON, in addition to the details of errors. */
  readonly registry?: Registry;
  /** Origins whose pages may read responses; `*` stands for every origin. */
  readonly corsOrigins?: readonly string[];
  /** Additional origins that depend on the caller. */
  readonly callerOrigins?: CallerOrigins;
  /** Makes the context values of a call. */
  readonly contextValues?: (request: Exchange) => ContextValues;
  /** Headers of every response. */
  readonly responseHeaders?: (values: ContextValues) => ResponseFields;
  /** Makes the final error from a gateway error; in English by default. */
  readonly refuse?: Refuse;
  /** Makes the page for an unknown path or a disallowed method, for a person using a browser; JSON by default. */
  readonly pageOf?: PageOf | undefined;
  /** Called with errors that no interceptor sees: refusals by the gate, unreadable bodies, unknown paths. */
  readonly onError?: (error: unknown, request: FailedRequest) => ConnectError;
  /**
   * Called between the steps of long work: long lists in messages, and the messages of streams. Returns a promise that the work awaits, or
   * undefined to let it go on. By default, it is never interrupted.
   */
  readonly pause?: PauseOf;
  /** Whether the server can serve, for health and `/readyz`. */
  readonly ready?: Ready;
  /** Additional fields in the body of `/readyz`. */
  readonly readyFields?: ReadyFields | undefined;
  /** The gate and interceptors of health and reflection, instead of those above. */
  readonly standard?: Partial<RouteOptions>;
  /** The services that reflection and health list, by default those of the routes; false disables reflection. */
  readonly reflection?: readonly DescService[] | false;
  /** The options of `/openapi.json` and `/docs`; false serves neither. */
  readonly openapi?: OpenapiOptions | false;
  /** Handlers of paths that are not rpcs; they replace probes and reference at the same path. */
  readonly httpRoutes?: readonly HttpRoute[];
  /** Aborted when the server is about to stop; created by the gateway if absent. */
  readonly stopping?: AbortController;
};

/** Limits of calls and connections. */
export type GatewayLimits = CallLimits & ServerLimits & { readonly messageMaxBytes: number };

/** A request handler, which can listen on a port of its own. */
export type Gateway = {
  /** Serves one request, and never throws. */
  readonly handle: (exchange: Exchange) => void;
  /** Listens for HTTP/1.1 and HTTP/2 on one port. */
  readonly listen: (options?: Partial<Omit<ListenOptions, "handle" | "limits" | "stopping">>) => Promise<Listening>;
  /** All rpcs served. */
  readonly methods: readonly RpcMethod[];
};

/** The default limits. */
export const defaultLimits: GatewayLimits = {
  messageMaxBytes: 4 * 2 ** 20,
  bodyTimeoutMs: 30_000,
  deadlineMaxMs: 60_000,
  headerTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  connectionAgeMs: 0,
  streamsMax: 128,
  headersMaxBytes: 16_384,
  bodiesMaxBytes: 64 * 2 ** 20,
  unknownStreamsMax: 2048,
  shutdownDelayMs: 0,
  shutdownGraceMs: 10_000,
};

const english = refuseWith({ domain: "gateway", texts: englishTexts });

/** Serves Connect services as gRPC, gRPC-Web, Connect and JSON over HTTP, with health, reflection and OpenAPI. */
export function gateway(options: GatewayOptions): Gateway {
  const { stopping = new AbortController(), refuse = english, rest = true } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const isReady = readiness(options.ready ?? (() => true));
  const serviceRoutes = collectRoutes(options.routes, {
    interceptors: options.interceptors ?? [],
    requestGate: options.requestGate,
  });
  const services = [...new Set(serviceRoutes.map(({ spec }) => spec.method.parent))];
  const named = options.reflection || services;
  const reflects = options.reflection !== false;
  const standard = standardRoutes({ services: named, reflects, isReady, stopping: stopping.signal, refuse });
  const standardRpcs = collectRoutes(standard, { interceptors: [], ...options.standard });
  const methods = serviceRoutes.map((route) => methodOf(route, options, limits));
  const all = [
    ...methods,
    ...standardRpcs.map((route) => methodOf(route, { ...options, limitsOf: unknownCallers }, limits)),
  ];
  const byPath = new Map(all.map((rpc) => [rpc.path, rpc]));
  const handle = rpcServer({
    methods: byPath,
    findCall: restCalls(byPath, rest),
    routes: httpRoutesOf(options, { methods, rest, refuse }, probes(isReady, stopping.signal, options.readyFields)),
    limits,
    contextValues: options.contextValues ?? (() => new CallValues()),
    responseHeaders: options.responseHeaders,
    cors: corsFor(options.corsOrigins ?? [], options.callerOrigins),
    refuse,
    pageOf: options.pageOf,
    onError: options.onError,
    pause: options.pause,
    stopping: stopping.signal,
  });
  return {
    handle,
    methods,
    listen: ({ host = "127.0.0.1", port = 0, ...more } = {}) =>
      listen({ ...more, host, port, handle, limits, stopping }),
  };
}

function httpRoutesOf(
  { httpRoutes = [], openapi = {} }: GatewayOptions,
  served: DefaultOptions,
  probes: readonly HttpRoute[],
): ReadonlyMap<string, HttpRoute> {
  const pages = openapi === false ? [] : reference(() => defaultOptions(served, openapi));
  const ownPaths = new Set(httpRoutes.map(({ path }) => path));
  return routesByPath([...httpRoutes, ...[...probes, ...pages].filter(({ path }) => !ownPaths.has(path))]);
}

/** The maximum size of a message from an unknown caller. */
export const unknownCallerBytes = 16_384;

const unknownCallers = () => ({ messageMaxBytes: unknownCallerBytes, encodings: unknownCallerEncodings });

const noRules = () => undefined;

function methodOf(route: Route, options: GatewayOptions, { messageMaxBytes }: GatewayLimits): RpcMethod {
  const { limitsOf, ignoresUnknown, bounds = validateBounds, rules = noRules } = options;
  const registry = options.registry ? createRegistry(anyTypes, options.registry) : anyTypes;
  return rpcMethod(route, { limitsOf, ignoresUnknown, bounds, rules, registry, messageMaxBytes });
}

export { Health, HealthCheckResponse_ServingStatus } from "../gen/grpc/health/v1/health_pb.ts";
export { ServerReflection } from "../gen/grpc/reflection/v1/reflection_pb.ts";
export { encodingNames, unknownCallerEncodings } from "./codec/compression.ts";
export { type FieldBounds, validateBounds } from "./codec/field_bounds.ts";
export { largestMessage } from "./codec/largest_message.ts";
export {
  englishTexts,
  type GatewayReason,
  gatewayReasons,
  type Refuse,
  refuseWith,
  type Texts,
} from "./errors/gateway_error.ts";
export {
  countListed,
  infoOf,
  isDetail,
  type RefusalDetails,
  refusal,
  withDetails,
  withFewer,
} from "./errors/refusal.ts";
export {
  cutText,
  fittingMessages,
  isWithin,
  maxListed,
  maxTextLength,
  maxViolations,
  namedFields,
  pathsAround,
  type TextParams,
  type Violation,
} from "./errors/violation.ts";
export type { ViolationKey } from "./errors/violation_texts.ts";
export { HeaderFields } from "./header_fields.ts";
export { networkOf } from "./http/body_budget.ts";
export { clientAddresses, clientAddressOf } from "./http/client_address.ts";
export type { Response } from "./http/exchange.ts";
export { type Listening, type ListenOptions, listen } from "./http/server.ts";
export type { ConnectionSource } from "./http/source.ts";
export type { Certificate } from "./http/tls.ts";
export { CallValues } from "./rpc/call_values.ts";
export type { CallerOrigins } from "./rpc/cors.ts";
export { type ArrivedRequest, type HttpRequest, type HttpRoute, jsonResponse } from "./rpc/http_route.ts";
export { methodName } from "./rpc/method_name.ts";
export { acceptsHtml, type PageOf, type RefusedVisit } from "./rpc/page.ts";
export { once, opensAtOnce, single } from "./rpc/pipeline.ts";
export { codeToString } from "./rpc/protocols/connect_es.ts";
export { connectStatusOf, httpStatusOf } from "./rpc/protocols/http_error.ts";
export { errorJson } from "./rpc/protocols/json.ts";
export type { RequestGate, Routes } from "./rpc/router.ts";
export { callerKey, type FailedRequest } from "./rpc/rpc_call.ts";
export { httpRulesOf, isRead, type MethodLimits, pathOf, type RpcMethod } from "./rpc/rpc_method.ts";
export { escapeHtml } from "./services/html_text.ts";
export { type CallMetrics, callMetrics, doorOf, operationsOf } from "./services/metrics/calls.ts";
export { type ProcessMetrics, processMetrics } from "./services/metrics/process.ts";
export {
  type ObserveRequest,
  type RequestMetrics,
  type RequestOutcome,
  requestMetrics,
} from "./services/metrics/requests.ts";
export { metricsRoute } from "./services/metrics/route.ts";
export { counter, type Family, gauge, type Sample, type Together, together } from "./services/metrics/text.ts";
export { type ProcessUsage, usageFamilies } from "./services/metrics/usage.ts";
export type { OpenapiOptions } from "./services/openapi/defaults.ts";
export type { ApiOptions, MethodFacts } from "./services/openapi/options.ts";
export { readiness } from "./services/readiness.ts";
export { reference } from "./services/reference.ts";
export { seldom } from "./services/seldom.ts";
export { standardServices } from "./services/standard.ts";
