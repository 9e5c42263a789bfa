import type { DescMethodStreaming, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext, StreamRequest, UnaryRequest } from "@connectrpc/connect";

/** The call behind a context, which makes what few ask for when somebody does. */
export type ContextSource = Pick<
  HandlerContext,
  "signal" | "responseHeader" | "responseTrailer" | "protocolName" | "requestMethod" | "url" | "timeoutMs"
> & {
  /** Sends the headers of a stream once the promise is kept, also when there is no message yet. */
  readonly opensWith: (begins: Promise<unknown>) => void;
};

type ContextParts = { readonly header: Headers; readonly contextValues: ContextValues };

/** Where a context keeps its call, so that a copy of its properties leads to the call as well. */
export const sourceKey = Symbol("call");

/**
 * A call as implementations see it (HandlerContext) and as interceptors do (UnaryRequest, StreamRequest), in one object. A class,
 * because its getters cost nothing until somebody asks for a signal, a URL, or headers of the response.
 */
abstract class Context {
  readonly service: DescService;
  readonly requestMethod: string;
  readonly header: Headers;
  readonly contextValues: ContextValues;
  readonly [sourceKey]: ContextSource;

  constructor(source: ContextSource, service: DescService, { header, contextValues }: ContextParts) {
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

  constructor(source: ContextSource, parts: ContextParts & { method: DescMethodUnary; message: Message }) {
    super(source, parts.method.parent, parts);
    this.method = parts.method;
    this.message = parts.message;
  }
}

/** The context of a call that streams its requests, its responses or both. */
export class StreamContext extends Context implements HandlerContext, StreamRequest {
  readonly stream = true;
  readonly method: DescMethodStreaming;
  message: AsyncIterable<Message>;

  constructor(
    source: ContextSource,
    parts: ContextParts & { method: DescMethodStreaming; message: AsyncIterable<Message> },
  ) {
    super(source, parts.method.parent, parts);
    this.method = parts.method;
    this.message = parts.message;
  }
}

/** Whether a request is the context of its call, and no copy. */
export const isContext = (request: UnaryRequest | StreamRequest): request is UnaryContext | StreamContext =>
  request instanceof Context;

/** A request that an interceptor passes on: the context itself, or a copy of its properties with some of them changed. */
export function contextOf(request: UnaryRequest | StreamRequest): UnaryContext | StreamContext {
  if (isContext(request)) return request;
  const source = sourceKey in request ? request[sourceKey] : undefined;
  if (!isSource(source)) throw new Error("an interceptor passed on a request that is not that of the call");
  return request.stream ? new StreamContext(source, request) : new UnaryContext(source, request);
}

const isSource = (value: unknown): value is ContextSource =>
  typeof value === "object" && value !== null && "requestMethod" in value;
