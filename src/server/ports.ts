import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import {
  type CallerOrigins,
  gateway,
  type HttpRequest,
  type HttpRoute,
  type Listening,
  type RequestGate,
  type Response,
} from "@postern/gateway";
import type { Config } from "../config/config.ts";
import { describe, isAuthzen } from "../contract/describe.ts";
import { contractBounds } from "../contract/field_bounds.ts";
import { keys, shareOf, shownRequestId } from "../deps.ts";
import { inOurWords } from "../errors.ts";
import { type Capacity, capacity } from "../guards/capacity.ts";
import { type RateLimits, rateLimits } from "../guards/enforce_rate_limits.ts";
import type { Report } from "../guards/report.ts";
import { issuerOf, transportSecurity } from "../provider/http/issuer.ts";
import { limitPage } from "../provider/pages/limit_page.ts";
import { lostPage } from "../provider/pages/lost_page.ts";
import { type ProviderRoutes, providerRoutes } from "../provider/provider.ts";
import { type IsRegistered, mayReadRefusal, registeredOrigins } from "../provider/request/cross_origin.ts";
import { signingKeys } from "../provider/tokens/signing_keys.ts";
import { services } from "../runtime/modules.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { pause } from "../security/pieces.ts";
import { guardedServices, type Lines } from "./guarded_services.ts";
import { type Observers, observability } from "./observability.ts";
import { listenForOperators } from "./operators_port.ts";

/** The open ports of a node. */
export type Ports = AsyncDisposable & {
  readonly url: string;
  /** The URL of the operations port, if there is one. */
  readonly operationsUrl: string | undefined;
  /** Reads the certificate again. */
  readonly reload: () => Promise<void>;
};

/** Opens the ports. The operations port closes last, so that metrics remain available until then. */
export async function openPorts(runtime: Runtime, config: Config, observers: Observers): Promise<Ports> {
  const shown = observability(runtime, observers);
  const { lines, quietLines, ready, readyFields } = shown;
  const [limits, bound] = [rateLimits(config), capacity(config.callsMax, runtime.traffic)];
  const stopping = new AbortController();
  const listening = portOptions(runtime, config);
  await using opened = new AsyncDisposableStack();
  const operations = await listenForOperators(config, {
    ready: async () => !stopping.signal.aborted && (await ready()),
    lines: quietLines,
    httpRoutes: [...shown.docsForOperators, ...shown.metrics],
    ids: runtime.deps.ids,
    readyFields,
    listening: { ...listening, source: observers.parent?.source("operations") },
  });
  if (operations) opened.use(operations);
  const documents = publicParts(config, shown, limits);
  const signIn = signInParts(runtime, config, { lines, quietLines, limits, capacity: bound, url: () => port.url });
  const consolePage = await consoleParts(config, signIn, limits);
  const served = gateway({
    ...guardedServices(runtime, config, { lines, limits, capacity: bound, issuer: signIn.issuer }),
    standard: { interceptors: [quietLines.interceptor], requestGate: standardGate(quietLines, limits) },
    onError: lines.onError,
    ...ofContract,
    pageOf: lostPage,
    responseHeaders: headersOf(transportSecurity(issuerOf(config, config.port))),
    limits: config,
    pause: (values) => pause(shareOf({ values })),
    ...signIn.origins,
    ready,
    readyFields,
    stopping,
    ...documents,
    httpRoutes: [...documents.httpRoutes, ...signIn.routes, ...consolePage.map(quietLines.route)],
  });
  const port: Listening = opened.use(await served.listen({ ...listening, ...ofCalls(config, observers) }));
  const stack = opened.move();
  return {
    url: port.url,
    operationsUrl: operations?.url,
    reload: async () => void (await Promise.all([port.reload(), operations?.reload()])),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Documents = Readonly<Record<"docs" | "metrics", readonly HttpRoute[]>>;

/** The documents, metrics and reflection that the port of the rpcs also serves. */
function publicParts({ portServes }: Config, { docs, metrics }: Documents, limits: RateLimits) {
  const documents = [...(portServes.includes("docs") ? docs : []), ...(portServes.includes("metrics") ? metrics : [])];
  return {
    openapi: false as const,
    reflection: portServes.includes("reflection") ? services : (false as const),
    httpRoutes: documents.map((route) => limitedRoute(route, limits)),
  };
}

/** The routes of the console, without which its module is not loaded. */
async function consoleParts(config: Config, { issuer }: Pick<Lines, "issuer">, limits: RateLimits) {
  if (!config.portServes.includes("console")) return [];
  const { consoleRoutes } = await import("./console.ts");
  return consoleRoutes({ issuer, publicUrl: config.publicUrl }).map((route) => limitedRoute(route, limits, limitPage));
}

const ofCalls = ({ port, trustedProxies }: Config, { parent }: Observers) => ({
  port,
  trustedProxies,
  source: parent?.source("calls"),
});

/** The log lines of requests and of files, the rate limits, and the listening URL. */
type SignInPort = Readonly<Record<"lines" | "quietLines", Report>> & {
  readonly limits: RateLimits;
  readonly capacity: Capacity;
  readonly url: () => string;
};

/** The issuer, the origins whose pages may call, and the routes for signing in at applications. */
function signInParts(runtime: Runtime, config: Config, port: SignInPort) {
  const { lines, quietLines, limits, capacity, url } = port;
  // With port 0, the port is only known once it is open.
  const issuer = () => issuerOf(config, config.port || Number(new URL(url()).port));
  const isRegistered = registeredOrigins(runtime.deps.sql);
  const { files, requests } = signInRoutes({ runtime, config, issuer, isRegistered });
  const limited = (route: HttpRoute) => limitedRoute(asCall(route, capacity), limits, limitPage);
  return {
    issuer,
    origins: { corsOrigins: config.corsOrigins, callerOrigins: originsOfApplications(isRegistered, limits) },
    routes: [
      ...files.map((route) => quietLines.route(limited(route))),
      ...requests.map((route) => lines.route(limited(route))),
    ],
  };
}

type SignInOptions = {
  readonly runtime: Runtime;
  readonly config: Config;
  readonly issuer: () => string | undefined;
  readonly isRegistered: IsRegistered;
};

/** The origins of applications. Their pages may call, and may read responses to tokens of their own application, or to invalid tokens. */
const originsOfApplications = (isRegistered: IsRegistered, limits: RateLimits): CallerOrigins => ({
  mayAsk: async (origin, values) =>
    limits.late(() => {
      limits.ofNetwork(values.get(keys.network), values);
      return isRegistered(origin);
    }),
  mayRead: (origin, values) => values.get(keys.caller)?.application?.origins.includes(origin) === true,
  // Responses of rpcs for anyone stay unreadable: a page could otherwise make each of its visitors guess passwords with CreateSession, from
  // as many addresses.
  mayReadRefusal: (origin, values) =>
    values.get(keys.caller) || values.get(keys.needsNoCaller) ? undefined : mayReadRefusal(isRegistered, origin),
});

/** The routes for signing in at applications; none if PUBLIC_URL cannot be an issuer. */
function signInRoutes({ runtime, config, issuer, isRegistered }: SignInOptions): ProviderRoutes {
  const { deps, instanceId, logger, signIns, resets, tail } = runtime;
  if (config.publicUrl && issuerOf(config, 0) === undefined) {
    logger.warn("PUBLIC_URL has a path, or http to another machine: nobody can sign in to applications through it");
    return { files: [], requests: [] };
  }
  if (!config.publicUrl && config.trustedProxies.length > 0)
    logger.warn(
      "TRUSTED_PROXIES is set and PUBLIC_URL is not: nobody can sign in through a proxy until PUBLIC_URL is set",
    );
  const signing = signingKeys({ ...deps, instanceId });
  tail.listen({
    events(events) {
      if (events.some(({ type }) => type === "signing_key.added")) signing.forget();
    },
    lost: signing.forget,
  });
  return providerRoutes({
    deps,
    settings: config,
    keys: signing,
    issuer: () => issuer() ?? "",
    isRegistered,
    signIns,
    resets,
  });
}

const portOptions = ({ logger }: Runtime, { host, http2, tlsCertFile, tlsKeyFile }: Config) => ({
  host,
  http2,
  onFault: (error: unknown) => logger.error({ err: error }, "an internal error ended a connection"),
  certificate: tlsCertFile ? { certFile: tlsCertFile, keyFile: tlsKeyFile } : undefined,
});

/** The headers of every response: the common ones, the request id, and any rate limit that is nearly used up. */
const headersOf =
  (ofAll: Readonly<Record<string, string>>) =>
  (values: ContextValues): Readonly<Record<string, string>> => ({
    ...ofAll,
    "x-request-id": shownRequestId(values),
    ...values.get(keys.rateLimit)?.fields,
  });

/** The gateway options that derive from our contract. */
const ofContract = {
  refuse: inOurWords,
  limitsOf: (method: DescMethod) => describe(method).limits,
  ignoresUnknown: isAuthzen,
  bounds: contractBounds,
};

/** The gate of health and reflection. Load balancers call health, so no client may use up that limit, whatever its address. */
const standardGate = (lines: Report, limits: RateLimits): RequestGate =>
  limits.lateGate(
    lines.atGate(({ service, values }) => {
      if (service.typeName !== "grpc.health.v1.Health") limits.ofNetwork(values.get(keys.network), values);
    }),
  );

type Refused = (error: unknown, request: HttpRequest) => Response | undefined;

/**
 * A route that counts as a call from its client's address; `refused` may render the error in its own way, that of a node at its capacity,
 * too.
 */
const limitedRoute = (route: HttpRoute, limits: RateLimits, refused?: Refused): HttpRoute => ({
  ...route,
  async handle(request) {
    try {
      return await limits.late(() => {
        limits.ofNetwork(request.network);
        return route.handle(request);
      });
    } catch (error) {
      const response = refused?.(error, request);
      if (response) return response;
      throw error;
    }
  },
});

/** A route whose requests use capacity as calls do, because they wait for the same database. */
const asCall = (route: HttpRoute, bound: Capacity): HttpRoute => ({
  ...route,
  handle: (request) => bound.run(request, async () => route.handle(request)),
});
