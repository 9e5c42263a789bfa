import { type ConnectError, type ContextValues, createContextKey } from "@connectrpc/connect";
import { type Encoding, encodingOf } from "../codec/compression.ts";
import type { Pause } from "../codec/pieces.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import { HeaderFields } from "../header_fields.ts";
import type { Exchange, Response, ResponseFields } from "../http/exchange.ts";
import type { ContextSource, StreamContext, UnaryContext } from "./context.ts";
import type { Deadlines, Due } from "./deadlines.ts";
import type { Metadata, Negotiated } from "./protocols/protocol.ts";
import type { Codec, RpcMethod } from "./rpc_method.ts";

/** A request that failed where no interceptor could see it. */
export type FailedRequest = {
  readonly values: ContextValues;
  readonly signal: AbortSignal;
  readonly requestHeader: Headers;
  /** The path of the rpc, or the HTTP method if there is none. */
  readonly operation: string;
};

/** A body that may take too long. */
export type SlowBody = Due & { readonly expire: () => void };

/** The options that all calls of a server share. */
export type CallOptions = {
  readonly limits: CallLimits;
  /** Sends a complete response with the common headers. */
  readonly respond: (exchange: Exchange, response: Response, values: ContextValues) => void;
  /** Sends an error, which may be readable by pages that can read no other response. */
  readonly refuse: (exchange: Exchange, response: Response, values: ContextValues) => void;
  /** Adds the common headers to a response's own. */
  readonly responseHeaders: (exchange: Exchange, headers: ResponseFields, values: ContextValues) => ResponseFields;
  /** Reports an error that no interceptor has seen, and returns the error to send. */
  readonly onError: (error: unknown, request: FailedRequest) => ConnectError;
  /** Converts an error that interceptors have seen to the one to send. */
  readonly toConnectError: (error: unknown) => ConnectError;
  /** Called between the steps of long work; see `GatewayOptions`. */
  readonly pause: PauseOf | undefined;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
  /** Ends unary calls that take too long. */
  readonly unaryDeadlines: Deadlines<RpcCall>;
  /** Refuses bodies that take too long. */
  readonly slowBodies: Deadlines<SlowBody>;
};

/** Gives way to other calls, for a call of these values: returns a promise if its work has to wait for its turn. */
export type PauseOf = (values: ContextValues) => Promise<void> | undefined;

/** Limits of a call. */
export type CallLimits = {
  readonly bodyTimeoutMs: number;
  /** The maximum duration of a unary call. */
  readonly deadlineMaxMs: number;
};

/** The rpc of a request, with its protocol and codec. */
export type Matched<M extends RpcMethod = RpcMethod> = {
  readonly rpc: M;
  readonly negotiated: Negotiated;
  readonly codec: Codec;
  /** The message of a request that carries it in its query. */
  readonly query?: { readonly message: Buffer; readonly encoding: string | undefined } | undefined;
};

// A longer timeout would make setTimeout fire immediately.
const maxTimerMs = 2 ** 31 - 1;

/** The name of an authenticated caller, for limits by caller; undefined for unknown callers. Set by the gate. */
export const callerKey = createContextKey<string | undefined>(undefined, { description: "caller, for limits" });

/** A call from its head to its response: the common part of unary and streaming calls. */
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

  constructor({ options, exchange, matched, values }: CallInit) {
    this.options = options;
    this.exchange = exchange;
    this.matched = matched;
    this.values = values;
    const { headers } = exchange;
    // Connect's GET has the version in its query, but gate and interceptors expect it in the header.
    this.requestHeader = new HeaderFields(matched.query ? { "connect-protocol-version": "1", ...headers } : headers);
  }

  /** The call as gate, interceptors and implementation see it. */
  abstract readonly context: UnaryContext | StreamContext;

  /** Ends the call with an error, unless it is already over. */
  abstract fail(error: unknown): void;

  // Created on first use.

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

  get pause(): Pause | undefined {
    const { pause } = this.options;
    return pause && (() => pause(this.values));
  }

  /** Starts the client's deadline. A unary call has a maximum; a stream without a deadline has none. */
  startDeadline(isUnary: boolean): void {
    const { limits, unaryDeadlines } = this.options;
    const timeoutMs = this.matched.negotiated.protocol.timeout(this.exchange.headers);
    const maxMs = isUnary ? limits.deadlineMaxMs : maxTimerMs;
    if (timeoutMs !== undefined) this.#deadlineAt = performance.now() + Math.min(timeoutMs, maxMs);
    if (timeoutMs !== undefined && timeoutMs <= 0) throw new GatewayError("DEADLINE_EXCEEDED");
    if (timeoutMs !== undefined && timeoutMs < maxMs) this.#timer = setTimeout(expire, timeoutMs, this);
    else if (isUnary) unaryDeadlines.add(this);
  }

  /** Calls the gate, before the body is read; returns a promise if the gate is asynchronous. */
  passGate(): Promise<void> | undefined {
    const pending = this.matched.rpc.requestGate?.(this.context);
    if (pending instanceof Promise) return pending.then(() => this.#identify());
    this.#identify();
    return undefined;
  }

  /** Starts the time limit of the request body, which also ends with the call. */
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
    const error = this.options.toConnectError(new GatewayError("DEADLINE_EXCEEDED"));
    this.end(error);
    // A handler that reacts to the signal ends within this tick, so that its interceptors see the error; no other is waited for.
    setImmediate(fail, this, error);
  }

  /** Aborts the signal, even if it is first used later. */
  end(reason: Error): void {
    this.#endedBy ??= reason;
    this.#controller?.abort(this.#endedBy);
  }

  /** Marks the call as over: stops its timers and aborts its signal. */
  close(): void {
    this.isOver = true;
    this.options.unaryDeadlines.drop(this);
    clearTimeout(this.#timer);
    // Otherwise, it would keep the call and its headers for the rest of its time.
    this.bodyArrived();
    this.end(completed);
  }

  /** Reports an error that no interceptor has seen, and returns the error to send. */
  reported(error: unknown): ConnectError {
    const { values, signal, requestHeader } = this;
    return this.options.onError(error, { values, signal, requestHeader, operation: this.matched.rpc.path });
  }

  /** The encoding of the request; fails for an unsupported one, naming the supported ones. */
  encodingOf(name: string | undefined): Encoding | undefined {
    if (name === undefined) return undefined;
    const { rpc, negotiated } = this.matched;
    const { encodings } = rpc.limits;
    const metadata = { [negotiated.protocol.acceptHeader]: encodings.join(",") };
    return encodingOf(name, { supported: encodings, metadata });
  }

  /** Content type, headers and trailers of the response. */
  get metadata(): Metadata {
    return { contentType: this.matched.negotiated.contentType, header: this.#header, trailer: this.#trailer };
  }

  /** The response for an error, in the call's protocol. */
  refusal(error: ConnectError): Response {
    const { protocol } = this.matched.negotiated;
    try {
      return protocol.refuse(error, this.metadata);
    } catch (cause) {
      // Timers call this too, where nobody would catch the failure to encode an error.
      return protocol.refuse(this.reported(cause), { ...this.metadata, header: undefined, trailer: undefined });
    }
  }

  #identify(): void {
    this.exchange.account.identify(this.values.get(callerKey));
  }
}

/** Constructor options of a call. */
export type CallInit = Pick<RpcCall, "options" | "exchange" | "matched" | "values">;

// Created once, because an error captures a stack.
const completed = new DOMException("the call is complete", "AbortError");

const expire = (call: RpcCall) => call.expire();
const fail = (call: RpcCall, error: unknown) => call.fail(error);
