import { type ConnectError, type ContextValues, createContextKey } from "@connectrpc/connect";
import { type Encoding, encodingOf } from "../codec/compression.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import type { Exchange, Response, ResponseFields } from "../http/exchange.ts";
import type { ContextSource, StreamContext, UnaryContext } from "./context.ts";
import type { Deadlines, Due } from "./deadlines.ts";
import { HeaderFields } from "./header_fields.ts";
import type { Metadata, Negotiated } from "./protocols/protocol.ts";
import type { Codec, RpcMethod } from "./rpc_method.ts";

/** A request that failed where no interceptor sees it. */
export type FailedRequest = {
  readonly values: ContextValues;
  readonly signal: AbortSignal;
  readonly requestHeader: Headers;
  /** The path of the rpc, or the HTTP method where there is none. */
  readonly operation: string;
};

/** A body that may take too long. */
export type SlowBody = Due & { readonly expire: () => void };

/** What all calls of a server share. */
export type CallOptions = {
  readonly limits: CallLimits;
  /** Sends a response that is complete, with the headers that every response has. */
  readonly respond: (exchange: Exchange, response: Response, values: ContextValues) => void;
  /** The headers that every response has. */
  readonly responseHeaders: (exchange: Exchange, headers: ResponseFields, values: ContextValues) => ResponseFields;
  /** Turns what went wrong outside the interceptors into the error that is sent. */
  readonly onError: (error: unknown, request: FailedRequest) => ConnectError;
  /** Puts an error into words that interceptors have seen. */
  readonly worded: (error: unknown) => ConnectError;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
  /** Ends unary calls that take too long. */
  readonly late: Deadlines<RpcCall>;
  /** Refuses bodies that take too long. */
  readonly slowBodies: Deadlines<SlowBody>;
};

/** What bounds a call. */
export type CallLimits = {
  readonly bodyTimeoutMs: number;
  /** The longest that a unary call may take. */
  readonly deadlineMaxMs: number;
};

/** An rpc that a request leads to, with what it is written in. */
export type Matched<M extends RpcMethod = RpcMethod> = {
  readonly rpc: M;
  readonly negotiated: Negotiated;
  readonly codec: Codec;
  /** The one message of the request, where it stands in the query. */
  readonly query?: { readonly message: Buffer; readonly encoding: string | undefined } | undefined;
};

// What is longer would ring at once.
const longestTimerMs = 2 ** 31 - 1;

/** The name of the caller that a gate has found, for limits that hold for each caller; undefined for callers nobody knows. */
export const callerKey = createContextKey<string | undefined>(undefined, { description: "caller, for limits" });

/** One call on its way from its head to its response: what unary and streaming calls have in common. */
export abstract class RpcCall implements ContextSource, Due {
  readonly options: CallOptions;
  readonly exchange: Exchange;
  readonly matched: Matched;
  readonly values: ContextValues;
  readonly requestHeader: HeaderFields;
  isOver = false;
  due = 0;
  earlier: Due | undefined = undefined;
  later: Due | undefined = undefined;
  #header: HeaderFields | undefined = undefined;
  #trailer: HeaderFields | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;
  #awaited: SlowBody | undefined = undefined;
  #deadlineAt: number | undefined = undefined;
  #endedBy: Error | undefined = undefined;
  #controller: AbortController | undefined = undefined;

  constructor({ options, exchange, matched, values }: CallParts) {
    this.options = options;
    this.exchange = exchange;
    this.matched = matched;
    this.values = values;
    const { headers } = exchange;
    // The query of Connect's GET states the version, where other requests have a header for the gate and the interceptors to see.
    this.requestHeader = new HeaderFields(matched.query ? { "connect-protocol-version": "1", ...headers } : headers);
  }

  /** What gate, interceptors and implementation see of the call. */
  abstract readonly context: UnaryContext | StreamContext;

  /** Ends the call with what went wrong, unless it is over. */
  abstract fail(error: unknown): void;

  // What follows is made when somebody asks for it.

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#endedBy) this.#controller.abort(this.#endedBy);
    return this.#controller.signal;
  }

  get responseHeader(): HeaderFields {
    this.#header ??= new HeaderFields();
    return this.#header;
  }

  get responseTrailer(): HeaderFields {
    this.#trailer ??= new HeaderFields();
    return this.#trailer;
  }

  get protocolName(): string {
    return this.matched.negotiated.protocol.name;
  }

  get requestMethod(): string {
    return this.exchange.method;
  }

  get url(): string {
    const { authority = "localhost", target } = this.exchange;
    return `http://${authority}${target}`;
  }

  get timeoutMs(): () => number | undefined {
    const at = this.#deadlineAt;
    return () => (at === undefined ? undefined : Math.max(0, at - performance.now()));
  }

  opensWith(_begins: Promise<unknown>): void {}

  /** Reads the deadline of the client; a unary call always ends in time, a stream lives for as long as its client wants. */
  startDeadline(isUnary: boolean): void {
    const { limits, late } = this.options;
    const timeoutMs = this.matched.negotiated.protocol.timeout(this.exchange.headers);
    const mostMs = isUnary ? limits.deadlineMaxMs : longestTimerMs;
    if (timeoutMs !== undefined) this.#deadlineAt = performance.now() + Math.min(timeoutMs, mostMs);
    if (timeoutMs !== undefined && timeoutMs <= 0) throw new GatewayError("DEADLINE_EXCEEDED");
    if (timeoutMs !== undefined && timeoutMs < mostMs) this.#timer = setTimeout(expire, timeoutMs, this);
    else if (isUnary) late.add(this);
  }

  /** Asks the gate, before anything of a body is read; a promise when the gate has to wait for something. */
  passGate(): Promise<void> | undefined {
    const pending = this.matched.rpc.requestGate?.(this.context);
    if (pending instanceof Promise) return pending.then(() => this.#identify());
    this.#identify();
    return undefined;
  }

  /** Gives the body of the request its time, which ends with the call as well. */
  awaitBody(body: SlowBody): void {
    this.#awaited = body;
    this.options.slowBodies.add(body);
  }

  /** The body of the request is complete. */
  bodyArrived(): void {
    if (this.#awaited) this.options.slowBodies.drop(this.#awaited);
    this.#awaited = undefined;
  }

  /** The deadline has come. */
  expire(): void {
    const late = this.options.worded(new GatewayError("DEADLINE_EXCEEDED"));
    this.end(late);
    // A handler that heeds the signal ends in this tick, and its interceptors see it; the others are not waited for.
    setImmediate(fail, this, late);
  }

  /** Aborts the signal, also one that is asked for later. */
  end(reason: Error): void {
    this.#endedBy ??= reason;
    this.#controller?.abort(this.#endedBy);
  }

  /** Nothing more is sent or waited for; whoever works for the call may stop. */
  close(): void {
    this.isOver = true;
    this.options.late.drop(this);
    clearTimeout(this.#timer);
    // It would keep the call, with its headers, for the rest of its time.
    this.bodyArrived();
    this.end(completed);
  }

  /** The error that is sent for what went wrong where no interceptor sees it. */
  reported(error: unknown): ConnectError {
    const { values, signal, requestHeader } = this;
    return this.options.onError(error, { values, signal, requestHeader, operation: this.matched.rpc.path });
  }

  /** The encoding of the request, or a refusal that names those that are taken. */
  encodingOf(name: string | undefined): Encoding | undefined {
    if (name === undefined) return undefined;
    const { rpc, negotiated } = this.matched;
    const { encodings } = rpc.limits;
    const metadata = { [negotiated.protocol.acceptHeader]: encodings.join(",") };
    return encodingOf(name, { taken: encodings, metadata });
  }

  /** What goes with a response. */
  get metadata(): Metadata {
    return { contentType: this.matched.negotiated.contentType, header: this.#header, trailer: this.#trailer };
  }

  /** The response to an error, in the protocol of the call. */
  refusal(error: ConnectError): Response {
    const { protocol } = this.matched.negotiated;
    try {
      return protocol.refuse(error, this.metadata);
    } catch (cause) {
      // Also called by timers, where nobody would catch what a refusal that cannot be written throws.
      return protocol.refuse(this.reported(cause), { ...this.metadata, header: undefined, trailer: undefined });
    }
  }

  #identify(): void {
    this.exchange.account.identify(this.values.get(callerKey));
  }
}

/** What a call is made of. */
export type CallParts = Pick<RpcCall, "options" | "exchange" | "matched" | "values">;

// Made once, for it costs a stack.
const completed = new DOMException("the call is complete", "AbortError");

const expire = (call: RpcCall) => call.expire();
const fail = (call: RpcCall, error: unknown) => call.fail(error);
