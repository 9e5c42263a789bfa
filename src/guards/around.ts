import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
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

/** An interceptor that takes a step before the handler; of a stream of requests it sees none. */
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

type StreamRequest = Extract<Request, { stream: true }>;

async function beforeStream(step: Step, request: StreamRequest, next: Next) {
  const message = await messageOf(request);
  if (!message) return next(request);
  await step(message, callOf(request));
  return next({ ...request, message: once(message) });
}

/** The one message of a request that is answered by a stream; undefined for a stream of requests. */
export async function messageOf(request: StreamRequest): Promise<Message | undefined> {
  return request.method.methodKind === "server_streaming" ? single(request.message) : undefined;
}

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
