import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import { once, single } from "@postern/gateway";
import type { Call } from "../deps.ts";

/** Passes a call on to the next interceptor or the handler. */
export type Next = ReturnType<Interceptor>;

export type Request = Parameters<Next>[0];

/** A step before the handler. It throws to refuse the call, and returns a promise only if it has to wait. */
export type Step = (request: Message, call: Call) => Promise<void> | void;

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

/** Makes an interceptor that runs a step before the handler, for unary calls and server streams. */
export function before(stepOf: (method: DescMethod) => Step): Interceptor {
  const step = forEachMethod(stepOf);
  return (next) => (request) => {
    if (request.stream) return beforeStream(step(request.method), request, next);
    // Not async: a promise for each of several steps costs as much as a small message.
    const pending = step(request.method)(request.message, callOf(request));
    return pending ? pending.then(() => next(request)) : next(request);
  };
}

export type UnaryRequest = Extract<Request, { stream: false }>;

export type StreamRequest = Extract<Request, { stream: true }>;

async function beforeStream(step: Step, request: StreamRequest, next: Next) {
  const message = await messageOf(request);
  await step(message, callOf(request));
  return next({ ...request, message: once(message) });
}

/** Reads the one message of a server-streaming call. */
export function messageOf({ method, message }: StreamRequest): Promise<Message> {
  // A step without a message would let the call pass.
  if (method.methodKind !== "server_streaming")
    throw new Error(`${method.name} streams its requests: no guard can check`);
  return single(message);
}

/** Replaces the messages of a response. A spread would lose the gateway's headers, which are getters of a class. */
export const withMessages = (response: StreamResponse, message: StreamResponse["message"]): StreamResponse => ({
  stream: true,
  service: response.service,
  method: response.method,
  header: response.header,
  trailer: response.trailer,
  message,
});

/** Converts an interceptor's request to the call that handlers receive. */
export const callOf = (request: Request): Call => (isCall(request) ? request : new InterceptedCall(request));

// The gateway's requests are also calls.
const isCall = (request: Request): request is Request & Call => "values" in request;

/** A class with getters, so that a signal is only created when it is read. */
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
