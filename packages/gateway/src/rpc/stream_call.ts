import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { accepted, decompressed, type Encoding, leastCompressed } from "../codec/compression.ts";
import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import type { Response } from "../http/exchange.ts";
import { StreamContext } from "./context.ts";
import { readMessages } from "./message_reader.ts";
import { once } from "./pipeline.ts";
import { base64Bytes } from "./protocols/grpc_web.ts";
import { resume } from "./protocols/json_stream.ts";
import { decodeMessage, type Received, receiveMessage } from "./request_message.ts";
import { type CallParts, type Matched, RpcCall } from "./rpc_call.ts";
import type { StreamRpc } from "./rpc_method.ts";

// What lies between us and a client takes a longer silence for the end.
const heartbeatMs = 15_000;

/** A call that streams requests, responses or both. */
export class StreamCall extends RpcCall {
  readonly context: StreamContext;
  readonly #rpc: StreamRpc;
  readonly #opened = Promise.withResolvers<void>();
  readonly #received = Promise.withResolvers<Received>();
  readonly #closed = Promise.withResolvers<undefined>();
  #encoding: Encoding | undefined;
  #hasHeaders = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #responses: AsyncIterator<Message> | undefined;

  constructor(parts: CallParts & { readonly matched: Matched<StreamRpc> }) {
    super(parts);
    this.#rpc = parts.matched.rpc;
    const { method } = this.#rpc;
    this.context = new StreamContext(this, {
      method,
      message: none,
      header: this.requestHeader,
      contextValues: this.values,
    });
  }

  /** Takes the call from its head to the end of its response. */
  async start(): Promise<void> {
    const left = () => this.#left();
    const stop = () => this.end(this.#stopped());
    this.exchange.onClose = left;
    const { stopping } = this.options;
    stopping.addEventListener("abort", stop);
    if (stopping.aborted) stop();
    try {
      this.context.message = await this.#requests();
      if (!this.isOver) await this.#respond();
    } catch (error) {
      this.fail(error);
    } finally {
      stopping.removeEventListener("abort", stop);
    }
  }

  override opensWith(begins: Promise<unknown>): void {
    // A promise that is broken is a refusal, which the responses throw as well.
    begins.then(() => this.#opened.resolve(), ignore);
  }

  fail(error: unknown): void {
    if (!this.isOver) this.#finish(this.reported(error));
  }

  /** Passes the gate, and reads the one message of the request, or prepares to read many. */
  async #requests(): Promise<AsyncIterable<Message>> {
    this.startDeadline(false);
    await this.passGate();
    if (this.isOver) return none;
    if (!this.exchange.account.openStream()) throw overloaded();
    if (this.#rpc.method.methodKind !== "server_streaming") return this.#many();
    const received = await this.#message();
    // The client may have reset the stream in the same read that brought the end of the body.
    if (!received || this.isOver) return none;
    const message = await decodeMessage(this, received);
    resume(this.#rpc.method.input, message, this.exchange.headers);
    return once(message);
  }

  /** The body of the request; undefined when the call is over before it is complete. */
  #message(): Promise<Received | undefined> {
    receiveMessage(this);
    return Promise.race([this.#received.promise, this.#closed.promise]);
  }

  received(received: Received): void {
    this.#received.resolve(received);
  }

  #many(): AsyncIterable<Message> {
    const { exchange, options, matched } = this;
    const { protocol } = matched.negotiated;
    if (!protocol.isEnveloped) throw new GatewayError("UNSUPPORTED_CONTENT_TYPE");
    const encoding = this.encodingOf(exchange.headers[protocol.encodingHeader]);
    const { messageMaxBytes } = matched.rpc.limits;
    const { bodyTimeoutMs: timeoutMs } = options.limits;
    const chunks = protocol.isText ? fromBase64(exchange.chunks()) : exchange.chunks();
    const limits = { messageMaxBytes, timeoutMs, signal: this.signal, account: exchange.account };
    return this.#decoded(readMessages(chunks, limits), encoding);
  }

  async *#decoded(messages: ReturnType<typeof readMessages>, encoding: Encoding | undefined): AsyncGenerator<Message> {
    try {
      for await (const { message, isCompressed } of messages)
        yield isCompressed ? await this.#inflated(message, encoding) : this.matched.codec.decode(message);
    } catch (error) {
      // The implementation, which reads the requests, sees errors of Connect only.
      throw this.options.worded(error);
    }
  }

  async #inflated(message: Uint8Array, encoding: Encoding | undefined): Promise<Message> {
    if (!encoding) throw new GatewayError("ENCODING_MISSING");
    const { account } = this.exchange;
    const most = this.matched.rpc.limits.messageMaxBytes;
    // As much as it may become; nobody knows before.
    if (!account.take(most)) throw overloaded();
    try {
      const bytes = await decompressed(encoding, message, most);
      if (bytes.length > most) throw tooLarge(most);
      return this.matched.codec.decode(bytes);
    } finally {
      account.give(most);
    }
  }

  async #respond(): Promise<void> {
    try {
      const responses = (await this.#rpc.invoke(this.context))[Symbol.asyncIterator]();
      if (this.isOver) return;
      this.#responses = responses;
      const first = responses.next();
      // A refusal before the first message is a response of its own, and a stream without any must not hold back its headers.
      const opened = this.#opened.promise.then(nextTick);
      const isFirstHere = await Promise.race([first.then(isHere), opened]);
      if (this.exchange.method === "HEAD") first.catch(ignore);
      else {
        if (!isFirstHere) this.#begin();
        await this.#send(responses, first);
      }
      if (!this.isOver) this.#finish(this.#isStopping ? this.#stopped() : undefined);
    } catch (error) {
      if (this.isOver) return;
      // Interceptors have seen what the implementation refused with.
      if (error instanceof ConnectError) this.#finish(this.#isStopping ? this.#stopped() : this.options.worded(error));
      else if (this.#isStopping) this.#finish(this.#stopped());
      else this.fail(error);
    }
  }

  async #send(responses: AsyncIterator<Message>, first: Promise<IteratorResult<Message>>): Promise<void> {
    for (let next = await first; !next.done && !this.isOver; next = await responses.next()) {
      if (!this.#hasHeaders) this.#begin();
      const written = await this.#written(next.value);
      if (this.isOver) return;
      const wait = this.exchange.write(written);
      if (wait) await wait;
    }
  }

  async #written(message: Message): Promise<Uint8Array> {
    const { codec, negotiated } = this.matched;
    const bytes = codec.encode(message);
    const encoding = negotiated.protocol.isEnveloped && bytes.length >= leastCompressed ? this.#encoding : undefined;
    return encoding
      ? negotiated.protocol.message(await encoding.compress(bytes), true)
      : negotiated.protocol.message(bytes, false);
  }

  #begin(): void {
    if (this.isOver || this.#hasHeaders) return;
    this.#hasHeaders = true;
    const { exchange, values, matched } = this;
    const { protocol } = matched.negotiated;
    this.#encoding = protocol.isEnveloped ? accepted(exchange.headers[protocol.acceptHeader]) : undefined;
    const { status, headers } = protocol.begin(this.#encoding, this.metadata);
    exchange.begin(status, this.options.responseHeaders(exchange, headers, values));
    const { heartbeat } = protocol;
    if (heartbeat) this.#heartbeat = setInterval(() => void exchange.write(heartbeat), heartbeatMs);
  }

  /** Ends the response, with the error that it failed by. */
  #finish(error?: ConnectError): void {
    const { exchange, options, values, matched } = this;
    if (error && !this.#hasHeaders) {
      const response: Response = this.refusal(error);
      this.close();
      options.respond(exchange, response, values);
      return;
    }
    if (!this.#hasHeaders) this.#begin();
    const { body, trailers } = matched.negotiated.protocol.end(error, this.metadata);
    this.close();
    if (body && exchange.method !== "HEAD") exchange.write(typeof body === "string" ? Buffer.from(body) : body);
    exchange.finish(trailers);
  }

  override close(): void {
    clearInterval(this.#heartbeat);
    super.close();
    this.#closed.resolve(undefined);
    // Not waited for: it ends no sooner than what it is doing now.
    this.#responses?.return?.().catch(ignore);
  }

  /** The client is gone: the implementation may stop. */
  #left(): void {
    if (this.isOver) return;
    const cancelled = this.options.worded(new GatewayError("CANCELLED"));
    if (!this.#responses) this.reported(cancelled);
    this.end(cancelled);
    this.close();
  }

  get #isStopping(): boolean {
    return this.options.stopping.aborted;
  }

  #stopped(): ConnectError {
    return this.options.worded(new GatewayError("UNAVAILABLE"));
  }
}

const none: AsyncIterable<Message> = { async *[Symbol.asyncIterator]() {} };

const isHere = () => true;
const nextTick = () => new Promise<false>((resolve) => setImmediate(resolve, false));

// Complete groups of four are decoded as they come; what is left is an error when the body ends.
async function* fromBase64(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = Buffer.concat([rest, chunk]);
    const whole = text.length - (text.length % 4);
    rest = text.subarray(whole);
    yield base64Bytes(text.subarray(0, whole));
  }
  if (rest.length > 0) throw new GatewayError("MALFORMED_BODY");
}

function ignore() {}
