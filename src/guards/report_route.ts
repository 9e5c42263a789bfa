import type { ConnectError, ContextValues } from "@connectrpc/connect";
import { createContextKey } from "@connectrpc/connect";
import {
  type ArrivedRequest,
  type HttpRequest,
  type HttpRoute,
  methodName,
  type ObserveRequest,
  type Response,
} from "@postern/gateway";
import type { Logger } from "pino";
import { keys, type RequestFailure } from "../deps.ts";
import { codeName, localized, reasonOf } from "../errors.ts";
import { causeOf, isEnd, levelOf, refusalOf } from "./refusal.ts";

type Language = NonNullable<typeof keys.language.defaultValue>;
type Outcome = Parameters<ReturnType<ObserveRequest>>[0];

export type RouteReportOptions = {
  readonly logger: Logger;
  /** Chooses one of our languages by an accept-language header. */
  readonly languageOf: (acceptLanguage: string | undefined) => Language | undefined;
  /** Called when a request arrives; returns a function to call when it ends. */
  readonly observeRequest?: ObserveRequest | undefined;
  /** Begins the span of a request; undefined if the request is not traced. */
  readonly traceRequest?: ((endpoint: string, request: ArrivedRequest) => TracedRequest | undefined) | undefined;
};

export type TracedRequest = {
  /** Runs the work of the request. */
  readonly run: <T>(work: () => T) => T;
  readonly ended: (outcome: Outcome) => void;
};

/** A route whose requests each get a log line, a span and metrics. Preflights get none, as with rpcs. */
export const reportedRoute = (options: RouteReportOptions, route: HttpRoute): HttpRoute => ({
  ...route,
  observe(request) {
    if (request.method === "OPTIONS") return undefined;
    const line = new RequestLine(options, route.path, request);
    return (status) => line.ended(status);
  },
  handle(request) {
    const line = requestLineOf(request.values);
    return line ? line.run(request, route) : route.handle(request);
  },
});

/** The line of a request to a reported route; undefined for all others. */
export const requestLineOf = (values: ContextValues): RequestLine | undefined => values.get(lineKey);

/** The log line of a request, written once, when its response is sent. */
class RequestLine {
  readonly #options: RouteReportOptions;
  readonly #endpoint: string;
  readonly #request: ArrivedRequest;
  readonly #observed: ReturnType<ObserveRequest> | undefined;
  readonly #span: TracedRequest | undefined;
  #signal = neverAborted;
  #started = performance.now();

  constructor(options: RouteReportOptions, endpoint: string, request: ArrivedRequest) {
    this.#options = options;
    this.#endpoint = endpoint;
    this.#request = request;
    this.#observed = options.observeRequest?.(endpoint);
    this.#span = options.traceRequest?.(endpoint, request);
    request.values.set(lineKey, this);
  }

  /** Handles the request and restarts the clock, because how long the body takes is up to the client. */
  run(request: HttpRequest, route: HttpRoute): Promise<Response> | Response {
    this.#started = performance.now();
    this.#signal = request.signal;
    return this.#span ? this.#span.run(() => route.handle(request)) : route.handle(request);
  }

  /** Records an error that the route did not handle, and returns the error for the client. */
  failed(error: unknown): ConnectError {
    const refusal = refusalOf(error, this.#signal);
    const reason = reasonOf(refusal) ?? codeName(refusal.code);
    const { headers, values } = this.#request;
    values.set(keys.failure, { reason, level: levelOf(refusal), cause: refusal.cause });
    const language = values.get(keys.language) ?? this.#options.languageOf(headers["accept-language"]);
    return language ? localized(refusal, language) : refusal;
  }

  ended(status: number): void {
    const failure = this.#request.values.get(keys.failure);
    // A client's disconnect makes its statements fail, and it gets no response.
    const isGone = failure !== undefined && isEnd(failure.cause, this.#signal);
    if (isGone) this.#write(goneStatus, { reason: "CANCELLED", level: "info" });
    else this.#write(status, failure);
  }

  #write(status: number, failure: RequestFailure | undefined): void {
    const milliseconds = performance.now() - this.#started;
    const { reason, level = "info", cause } = failure ?? {};
    this.#observed?.({ status, reason }, milliseconds);
    this.#span?.ended({ status, reason });
    const { logger } = this.#options;
    if (!logger.isLevelEnabled(level)) return;
    const { values } = this.#request;
    const method = methodName(this.#request.method);
    const error = cause === undefined ? {} : { error: causeOf(cause, level) };
    const durationMs = Math.round(milliseconds * 100) / 100;
    const ids = { clientId: values.get(keys.clientId), requestId: values.get(keys.requestId) };
    logger[level]({ endpoint: this.#endpoint, method, status, reason, ...error, durationMs, ...ids }, "request");
  }
}

// The same status as the gateway's for a client that disconnected.
const goneStatus = 499;

const neverAborted = new AbortController().signal;

const lineKey = createContextKey<RequestLine | undefined>(undefined, { description: "line of the request" });
