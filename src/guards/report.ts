import type { DescMethod } from "@bufbuild/protobuf";
import {
  Code,
  type ConnectError,
  type ContextValues,
  createContextKey,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { type FailedRequest, HeaderFields, type HttpRoute, pathOf, type RequestGate } from "@postern/gateway";
import { type Call, keys } from "../deps.ts";
import { codeName, localized, reasonOf } from "../errors.ts";
import { keepCallerRequestId } from "./caller_request_id.ts";
import { callOf, withMessages } from "./interceptor.ts";
import { type Outages, outage } from "./outage.ts";
import { causeOf, levelOf, type RefusalLevel, refusalOf } from "./refusal.ts";
import { type RouteReportOptions, reportedRoute, requestLineOf } from "./report_route.ts";

type Language = NonNullable<typeof keys.language.defaultValue>;

export type ReportOptions = RouteReportOptions & {
  /** Tells failures of the database from faults of our own. */
  readonly outages: Outages;
  /** Called when a call begins; returns a function to call when it ends. */
  readonly observe?:
    | ((operation: string, headers: Call["requestHeader"]) => (code: string, milliseconds: number) => void)
    | undefined;
  /** Begins the span of a call; undefined if the call is not traced. */
  readonly trace?: ((operation: string, call: Call) => Traced | undefined) | undefined;
};

export type Traced = {
  /** Runs the work of the call. */
  readonly run: <T>(work: () => T) => T;
  readonly each: <T>(answers: AsyncIterable<T>) => AsyncIterable<T>;
  readonly ended: (outcome: { readonly code: string; readonly reason?: string | undefined }) => void;
};

/** Writes one log line per call and per request to a route, and lets only our own errors reach the client. */
export type Report = {
  /** Begins a call's line at its gate, and reports what the gate refuses. */
  readonly atGate: (gate: RequestGate) => RequestGate;
  readonly interceptor: Interceptor;
  /** Begins the line of a request to a route. */
  readonly route: (route: HttpRoute) => HttpRoute;
  /** Reports errors that no interceptor sees, such as an unreadable body. */
  readonly onError: (error: unknown, request: FailedRequest) => ConnectError;
};

/** Makes the outermost guard. */
export function report(options: ReportOptions): Report {
  return {
    onError(error, request) {
      const { values, operation } = request;
      const line = requestLineOf(values) ?? values.get(lineKey) ?? new Line(options, request, operation);
      return line.failed(error);
    },

    route: (route) => reportedRoute(options, route),

    atGate: (gate) => (context) => {
      keepCallerRequestId(context.method, context);
      const line = new Line(options, context, pathOf(context.method));
      try {
        const pending = line.span ? line.span.run(() => gate(context)) : gate(context);
        return pending instanceof Promise ? passed(pending, line) : pending;
      } catch (error) {
        throw line.failed(error);
      }
    },

    interceptor: (next) => async (request) => {
      const call = callOf(request);
      const line = lineOf(options, call, request.method);
      try {
        const { span } = line;
        const response = await (span ? span.run(() => next(request)) : next(request));
        if (response.stream) return withMessages(response, lined(line, response.message));
        line.done();
        return response;
      } catch (error) {
        throw line.failed(error);
      }
    },
  };
}

/** The headers and trailers of a call's response, for responses that no handler makes. */
export function responseFieldsOf(values: ContextValues): { readonly header: Headers; readonly trailer: Headers } {
  const { responseHeader = new HeaderFields(), responseTrailer = new HeaderFields() } = values.get(lineKey)?.call ?? {};
  return { header: responseHeader, trailer: responseTrailer };
}

async function passed(pending: Promise<void>, line: Line): Promise<void> {
  try {
    await pending;
    line.admitted();
  } catch (error) {
    throw line.failed(error);
  }
}

/** Ends a call's line together with its stream. */
async function* lined<T>(line: Line, messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* line.span ? line.span.each(messages) : messages;
    line.done();
  } catch (error) {
    throw line.failed(error);
  } finally {
    line.left();
  }
}

/** The line that the call's gate began, or a new one if there was no gate. */
function lineOf(options: ReportOptions, call: Call, method: DescMethod): Line {
  const begun = call.values.get(lineKey);
  if (!begun) return new Line(options, call, pathOf(method));
  begun.begin();
  return begun;
}

// A gate's context also has the response headers.
type GateCall = Call & Partial<Pick<HandlerContext, "responseHeader" | "responseTrailer">>;

/** The log line of a call, written once, at the end. A class, because closures would be created for every call. */
class Line {
  readonly span: Traced | undefined;
  readonly #options: ReportOptions;
  readonly call: GateCall;
  readonly #operation: string;
  readonly #language: Language | undefined;
  #started = performance.now();
  #gateMs = 0;
  readonly #ended: ReturnType<NonNullable<ReportOptions["observe"]>> | undefined;
  #written = false;
  #refusal: ConnectError | undefined;

  constructor(options: ReportOptions, call: GateCall, operation: string) {
    this.#options = options;
    this.call = call;
    this.#operation = operation;
    const accepted = call.requestHeader.get("accept-language");
    this.#language = accepted === null ? undefined : options.languageOf(accepted);
    if (this.#language) call.values.set(keys.language, this.#language);
    this.#ended = options.observe?.(operation, call.requestHeader);
    this.span = options.trace?.(operation, call);
    call.values.set(lineKey, this);
  }

  /** Called when the gate admits the call. */
  admitted(): void {
    this.#gateMs = performance.now() - this.#started;
  }

  /** Restarts the clock once the request is complete, because how long the body takes is up to the client. */
  begin(): void {
    this.#started = performance.now() - this.#gateMs;
  }

  done(): void {
    this.#write("info", { code: "OK" });
  }

  /** Ends the line of a client that stopped reading. */
  left(): void {
    this.#write("info", { code: codeName(Code.Canceled), reason: "CANCELLED" });
  }

  failed(error: unknown): ConnectError {
    // The gateway passes on the gate's refusals, whose line is already written.
    if (error !== undefined && error === this.#refusal) return this.#refusal;
    const { outages } = this.#options;
    const refusal = refusalOf(outage(outages, error, this.call), this.call.signal);
    const told = this.#language ? localized(refusal, this.#language) : refusal;
    this.#refusal = told;
    const level = levelOf(refusal);
    const cause = refusal.cause === undefined ? {} : { error: causeOf(refusal.cause, level) };
    this.#write(level, { code: codeName(refusal.code), reason: reasonOf(refusal), ...cause });
    return told;
  }

  #write(level: RefusalLevel, outcome: LoggedOutcome): void {
    // A bug gets a line of its own, even after another response has been sent.
    if (this.#written && level !== "error") return;
    const milliseconds = performance.now() - this.#started;
    if (!this.#written) this.#ended?.(outcome.code, milliseconds);
    if (!this.#written) this.span?.ended(outcome);
    this.#written = true;
    const { logger } = this.#options;
    if (!logger.isLevelEnabled(level)) return;
    const { values } = this.call;
    const durationMs = Math.round(milliseconds * 100) / 100;
    const ids = { caller: values.get(keys.caller)?.userId, requestId: values.get(keys.requestId) };
    const named = values.get(keys.callerRequestId);
    const about = { operation: this.#operation, ...outcome, durationMs, ...ids };
    logger[level](named === undefined ? about : { ...about, callerRequestId: named }, "call");
  }
}

// At its deadline, a call is refused from outside while its handler may still be running, but it gets only one line.
const lineKey = createContextKey<Line | undefined>(undefined, { description: "line of the call" });

type LoggedOutcome = { readonly code: string; readonly reason?: string | undefined; readonly error?: object };
