import type { DescMethodStreaming, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext, StreamRequest, UnaryRequest } from "@connectrpc/connect";

import type { Pause } from "../codec/pieces.ts";

/** The call behind a context. Its members are created on first use, because few handlers use them. */
export type ContextSource = Pick<
  HandlerContext,
  "signal" | "responseHeader" | "responseTrailer" | "protocolName" | "requestMethod" | "url" | "timeoutMs"
> & {
  /** Called between the steps of long work; absent if nothing else waits for the event loop. */
  readonly pause: Pause | undefined;
  /** Sends the headers of a stream once the promise resolves, even if there is no message yet. */
  readonly opensWith: (begins: Promise<unknown>) => void;
};

type ContextOptions = { readonly header: Headers; readonly contextValues: ContextValues };

/** The property that holds a context's call; copies of the context's properties keep it. */
export const sourceKey = Symbol("call");

/**
 * HandlerContext for implementations, and UnaryRequest or StreamRequest for interceptors, in one object. A class, because its getters cost
 * nothing until a signal, URL or response headers are used.
 */
abstract class Context {
  readonly service: DescService;
  readonly requestMethod: string;
  readonly header: Headers;
  readonly contextValues: ContextValues;
  readonly [sourceKey]: ContextSource;

  constructor(source: ContextSource, service: DescService, { header, contextValues }: ContextOptions) {
    this[sourceKey] = source;
    this.service = service;
    this.requestMethod = source.requestMethod;
    this.header = header;
    this.contextValues = contextValues;
  }

  get requestHeader(): Headers {
    return this.header;
  }

  get values(): ContextValues {
    return this.contextValues;
  }

  get responseHeader(): Headers {
    return this[sourceKey].responseHeader;
  }

  get responseTrailer(): Headers {
    return this[sourceKey].responseTrailer;
  }

  get protocolName(): string {
    return this[sourceKey].protocolName;
  }

  get url(): string {
    return this[sourceKey].url;
  }

  get signal(): AbortSignal {
    return this[sourceKey].signal;
  }

  get timeoutMs(): () => number | undefined {
    return this[sourceKey].timeoutMs;
  }
}

/** The context of a unary call. */
export class UnaryContext extends Context implements HandlerContext, UnaryRequest {
  readonly stream = false;
  readonly method: DescMethodUnary;
  message: Message;

  constructor(source: ContextSource, options: ContextOptions & { method: DescMethodUnary; message: Message }) {
    super(source, options.method.parent, options);
    this.method = options.method;
    this.message = options.message;
  }
}

/** The context of a call that streams its requests, its responses or both. */
export class StreamContext extends Context implements HandlerContext, StreamRequest {
  readonly stream = true;
  readonly method: DescMethodStreaming;
  message: AsyncIterable<Message>;

  constructor(
    source: ContextSource,
    options: ContextOptions & { method: DescMethodStreaming; message: AsyncIterable<Message> },
  ) {
    super(source, options.method.parent, options);
    this.method = options.method;
    this.message = options.message;
  }
}

/** Whether a request is its call's context itself, and not a copy. */
export const isContext = (request: UnaryRequest | StreamRequest): request is UnaryContext | StreamContext =>
  request instanceof Context;

/** The context of a request that an interceptor passes on: the context itself, or a copy of its properties with some of them changed. */
export function contextOf(request: UnaryRequest | StreamRequest): UnaryContext | StreamContext {
  if (isContext(request)) return request;
  const source = sourceKey in request ? request[sourceKey] : undefined;
  if (!isSource(source)) throw new Error("an interceptor passed on a request that is not that of the call");
  return request.stream ? new StreamContext(source, request) : new UnaryContext(source, request);
}

const isSource = (value: unknown): value is ContextSource =>
  typeof value === "object" && value !== null && "requestMethod" in value;
