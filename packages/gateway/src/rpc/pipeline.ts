import {
  create,
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  isMessage,
  type Message,
} from "@bufbuild/protobuf";
import type { Interceptor, MethodImplSpec, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import { createInPieces, hasListOfMessages, longListIn } from "../codec/pieces.ts";
import { wrongCount } from "../errors/problem.ts";
import {
  type ContextSource,
  contextOf,
  isContext,
  type StreamContext,
  sourceKey,
  type UnaryContext,
} from "./context.ts";
import { sharedMessage } from "./shared_message.ts";

type AnyFn = ReturnType<Interceptor>;
type UnarySpec = Extract<MethodImplSpec, { kind: "unary" }>;
type StreamSpec = Exclude<MethodImplSpec, { kind: "unary" }>;

/** Calls an implementation through its interceptors. */
export type InvokeUnary = (context: UnaryContext) => ReturnType<AnyFn>;

/**
 * The same for a stream. Its headers are sent with its first message, or, if the implementation returns an iterable with a promise
 * `begins`, once that resolves. If the iterable has `sharesMessages`, each message is encoded once, though other streams send it too.
 */
export type InvokeStream = (context: StreamContext) => Promise<AsyncIterable<Message>>;

/** Wraps the implementation of a unary rpc in its interceptors; the first one is the outermost. */
export function unaryPipeline(spec: UnarySpec, interceptors: readonly Interceptor[]): InvokeUnary {
  const { impl, method } = spec;
  const complete = hasListOfMessages(method.output) ? normalizedInPieces : normalized;
  const innermost = async (context: UnaryContext) => {
    const message = complete(method.output, await impl(context.message, context), context[sourceKey]);
    // Awaiting what is no promise costs as much as a step of a call.
    return new OwnUnaryResponse(context, message instanceof Promise ? await message : message);
  };
  return wrap((request) => {
    const context = contextOf(request);
    return context.stream ? otherKind() : innermost(context);
  }, interceptors);
}

/** The message of what the interceptors return for a unary call; one may have made the response itself. */
export function messageOf(context: UnaryContext, response: Awaited<ReturnType<InvokeUnary>>): Message {
  if (response.stream) return otherKind();
  if (!(response instanceof OwnResponse)) copyMetadata(context, response);
  return response.message;
}

/** Wraps the implementation of a streaming rpc in its interceptors. */
export function streamPipeline(spec: StreamSpec, interceptors: readonly Interceptor[]): InvokeStream {
  const innermost = async (context: StreamContext) => new OwnStreamResponse(context, await responsesOf(spec, context));
  const next = wrap((request) => {
    const context = contextOf(request);
    return context.stream ? innermost(context) : otherKind();
  }, interceptors);
  return async (context) => {
    const response = await next(context);
    if (!response.stream) return otherKind();
    if (!(response instanceof OwnResponse)) copyMetadata(context, response);
    return response.message;
  };
}

/** Applied once per rpc instead of per call: the call contains everything that an interceptor knows about it. */
function wrap(innermost: AnyFn, interceptors: readonly Interceptor[]): AnyFn {
  // If one interceptor copies the request, the copy must contain everything for the next one.
  const whole =
    (next: AnyFn): AnyFn =>
    (request) =>
      next(isContext(request) ? request : contextOf(request));
  const apply = (next: AnyFn, interceptor: Interceptor) => interceptor(whole(next));
  return interceptors.reduceRight<AnyFn>(apply, innermost);
}

async function responsesOf(spec: StreamSpec, context: StreamContext): Promise<AsyncIterable<Message>> {
  const { output } = spec.method;
  const { [sourceKey]: source, message } = context;
  switch (spec.kind) {
    case "server_streaming": {
      return startResponses(source, output, spec.impl(await single(message), context));
    }
    case "client_streaming": {
      return once(normalized(output, await spec.impl(message, context)));
    }
    case "bidi_streaming": {
      return startResponses(source, output, spec.impl(message, context));
    }
  }
}

function startResponses(
  source: ContextSource,
  output: DescMessage,
  responses: AsyncIterable<object>,
): AsyncIterable<Message> {
  if ("begins" in responses && responses.begins instanceof Promise) source.opensWith(responses.begins);
  return "sharesMessages" in responses ? sharedEach(output, responses) : normalizedEach(output, responses);
}

/** A stream whose headers are sent immediately instead of with its first message. */
export const opensAtOnce = <T>(messages: AsyncIterable<T>): AsyncIterable<T> & { readonly begins: Promise<void> } => ({
  begins: Promise.resolve(),
  [Symbol.asyncIterator]: () => messages[Symbol.asyncIterator](),
});

/** The only message of a stream; fails if there is none or more than one. */
export async function single<T>(messages: AsyncIterable<T>): Promise<T> {
  const iterator = messages[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done || !(await iterator.next()).done) throw wrongCount();
  return first.value;
}

/** A stream of one message, which can be iterated repeatedly. */
export const once = <T>(message: T): AsyncIterable<T> => ({
  async *[Symbol.asyncIterator]() {
    yield message;
  },
});

async function* normalizedEach(output: DescMessage, responses: AsyncIterable<object>): AsyncGenerator<Message> {
  for await (const response of responses) yield normalized(output, response);
}

/** The messages of a stream with `sharesMessages`, which yields the same message objects as other streams. */
async function* sharedEach(output: DescMessage, responses: AsyncIterable<object>): AsyncGenerator<Message> {
  for await (const response of responses) yield sharedMessage(normalized(output, response));
}

/** The message returned by an implementation, which may be a plain object with some of its fields. */
const normalized = (output: DescMessage, response: object): Message =>
  isMessage(response, output) ? response : create(output, { ...response });

/** The same for the message of a unary call, whose long list is made in pieces. */
function normalizedInPieces(output: DescMessage, response: object, source: ContextSource): Message | Promise<Message> {
  const list = isMessage(response, output) ? undefined : longListIn(output, response);
  const pause = list && source.pause;
  return pause ? createInPieces(output, response, { list, pause }) : normalized(output, response);
}

/** A response for interceptors; its headers are the call's, created on first use. */
class OwnResponse {
  readonly service: DescService;
  readonly [sourceKey]: ContextSource;

  constructor(context: UnaryContext | StreamContext) {
    this.service = context.service;
    this[sourceKey] = context[sourceKey];
  }

  get header(): Headers {
    return this[sourceKey].responseHeader;
  }

  get trailer(): Headers {
    return this[sourceKey].responseTrailer;
  }
}

class OwnUnaryResponse extends OwnResponse implements UnaryResponse {
  readonly stream = false;
  readonly method: DescMethodUnary;
  readonly message: Message;

  constructor(context: UnaryContext, message: Message) {
    super(context);
    this.method = context.method;
    this.message = message;
  }
}

class OwnStreamResponse extends OwnResponse implements StreamResponse {
  readonly stream = true;
  readonly method: DescMethodStreaming;
  readonly message: AsyncIterable<Message>;

  constructor(context: StreamContext, message: AsyncIterable<Message>) {
    super(context);
    this.method = context.method;
    this.message = message;
  }
}

/** Copies the headers of a response that an interceptor created itself. */
function copyMetadata({ [sourceKey]: call }: UnaryContext | StreamContext, response: UnaryResponse | StreamResponse) {
  copy(response.header, call.responseHeader);
  copy(response.trailer, call.responseTrailer);
}

function copy(from: Headers | undefined, to: Headers): void {
  if (!from || from === to) return;
  for (const name of [...to.keys()]) to.delete(name);
  for (const [name, value] of from) to.append(name, value);
}

function otherKind(): never {
  throw new Error("an interceptor returned a stream for a unary call, or a message for a stream");
}
