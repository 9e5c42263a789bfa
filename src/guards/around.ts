import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import { once, single } from "@postern/gateway";
import type { Call } from "../deps.ts";

/** Passes a call on, to the next interceptor or to the handler. */
export type Next = ReturnType<Interceptor>;

/** A call as interceptors see it. */
export type Request = Parameters<Next>[0];

/** What comes before a handler; it throws to refuse the call, and answers nothing where it waits for nothing. */
export type Step = (request: Message, call: Call) => Promise<void> | void;

/** Makes something for each rpc when it is first called, and keeps it. */
export function forEachMethod<T>(make: (method: DescMethod) => T): (method: DescMethod) => T {
  const made = new Map<DescMethod, T>();
  return (method) => {
    const known = made.get(method);
    if (known !== undefined) return known;
    const fresh = make(method);
    made.set(method, fresh);
    return fresh;
  };
}

/** An interceptor that takes a step before the handler, of a unary call and of a stream of responses. */
export function before(stepOf: (method: DescMethod) => Step): Interceptor {
  const step = forEachMethod(stepOf);
  return (next) => (request) => {
    if (request.stream) return beforeStream(step(request.method), request, next);
    // A plain function: a promise for each of several steps costs as much as a small message.
    const pending = step(request.method)(request.message, callOf(request));
    return pending ? pending.then(() => next(request)) : next(request);
  };
}

/** A call of one message that is answered with one. */
export type UnaryRequest = Extract<Request, { stream: false }>;

/** A call that streams its requests, its responses or both. */
export type StreamRequest = Extract<Request, { stream: true }>;

async function beforeStream(step: Step, request: StreamRequest, next: Next) {
  const message = await messageOf(request);
  await step(message, callOf(request));
  return next({ ...request, message: once(message) });
}

/** The one message of a request that is answered by a stream. */
export function messageOf({ method, message }: StreamRequest): Promise<Message> {
  // A step that sees no message would let the call pass.
  if (method.methodKind !== "server_streaming")
    throw new Error(`${method.name} streams its requests: no guard can check`);
  return single(message);
}

/** The response with other messages. Not by a spread: the headers of the gateway's own are getters of its class. */
export const withMessages = (response: StreamResponse, message: StreamResponse["message"]): StreamResponse => ({
  stream: true,
  service: response.service,
  method: response.method,
  header: response.header,
  trailer: response.trailer,
  message,
});

/** What handlers know of a call. */
export const callOf = (request: Request): Call => (isCall(request) ? request : new InterceptedCall(request));

// The gateway has one object for both.
const isCall = (request: Request): request is Request & Call => "values" in request;

/** A class, so that nobody makes a signal who does not ask for it. */
class InterceptedCall implements Call {
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  get values() {
    return this.#request.contextValues;
  }

  get signal() {
    return this.#request.signal;
  }

  get requestHeader() {
    return this.#request.header;
  }
}
