import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { acceptedEncoding, decompressed, type Encoding, minCompressedBytes } from "../codec/compression.ts";
import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import type { Response } from "../http/exchange.ts";
import { StreamContext } from "./context.ts";
import { readMessages } from "./message_reader.ts";
import { unsupportedType } from "./negotiate.ts";
import { once } from "./pipeline.ts";
import { base64Bytes } from "./protocols/grpc_web.ts";
import { resume } from "./protocols/json_stream.ts";
import { decodeMessage, type Received, receiveMessage } from "./request_message.ts";
import { type CallInit, type Matched, RpcCall } from "./rpc_call.ts";
import type { StreamRpc } from "./rpc_method.ts";

// Proxies between us and a client close connections that are silent for longer.
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

  constructor(init: CallInit & { readonly matched: Matched<StreamRpc> }) {
    super(init);
    this.#rpc = init.matched.rpc;
    const { method } = this.#rpc;
    this.context = new StreamContext(this, {
      method,
      message: none,
      header: this.requestHeader,
      contextValues: this.values,
    });
  }

  /** Runs the call to the end of its response. */
  async start(): Promise<void> {
    const onClose = () => this.#clientClosed();
    const onStopping = () => this.end(this.#unavailable());
    this.exchange.onClose = onClose;
    const { stopping } = this.options;
    stopping.addEventListener("abort", onStopping);
    if (stopping.aborted) onStopping();
    try {
      this.context.message = await this.#requests();
      if (!this.isOver) await this.#respond();
    } catch (error) {
      this.fail(error);
    } finally {
      stopping.removeEventListener("abort", onStopping);
    }
  }

  override opensWith(begins: Promise<unknown>): void {
    // A rejection is an error that the responses throw as well.
    begins.then(() => this.#opened.resolve(), ignore);
  }

  fail(error: unknown): void {
    if (!this.isOver) this.#finish(this.reported(error));
  }

  /** Passes the gate, and reads the only message of the request, or prepares to read a stream of them. */
  async #requests(): Promise<AsyncIterable<Message>> {
    this.startDeadline(false);
    await this.passGate();
    if (this.isOver) return none;
    if (!this.exchange.account.openStream()) throw overloaded();
    if (this.#rpc.method.methodKind !== "server_streaming") return this.#streamedRequests();
    const received = await this.#message();
    // The client may have reset the stream in the same read that brought the end of the body.
    if (!received || this.isOver) return none;
    const message = await decodeMessage(this, received);
    resume(this.#rpc.method.input, message, this.exchange.headers);
    return once(message);
  }

  /** The body of the request; undefined if the call is over before it is complete. */
  #message(): Promise<Received | undefined> {
    receiveMessage(this);
    return Promise.race([this.#received.promise, this.#closed.promise]);
  }

  received(received: Received): void {
    this.#received.resolve(received);
  }

  #streamedRequests(): AsyncIterable<Message> {
    const { exchange, options, matched } = this;
    const { protocol } = matched.negotiated;
    if (!protocol.isEnveloped) throw unsupportedType(matched.rpc);
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
        yield isCompressed ? await this.#decompress(message, encoding) : this.matched.codec.decode(message);
    } catch (error) {
      // The implementation reads the requests, and expects ConnectError.
      throw this.options.toConnectError(error);
    }
  }

  async #decompress(message: Uint8Array, encoding: Encoding | undefined): Promise<Message> {
    if (!encoding) throw new GatewayError("ENCODING_MISSING");
    const { account } = this.exchange;
    const maxBytes = this.matched.rpc.limits.messageMaxBytes;
    // The decompressed size is unknown, so its maximum is reserved.
    if (!account.take(maxBytes)) throw overloaded();
    try {
      const bytes = await decompressed(encoding, message, maxBytes);
      if (bytes.length > maxBytes) throw tooLarge(maxBytes);
      return this.matched.codec.decode(bytes);
    } finally {
      account.give(maxBytes);
    }
  }

  async #respond(): Promise<void> {
    try {
      const responses = (await this.#rpc.invoke(this.context))[Symbol.asyncIterator]();
      if (this.isOver) return;
      this.#responses = responses;
      const first = responses.next();
      // An error before the first message is sent as a plain response, but a stream whose first message is late must not delay its headers.
      const opened = this.#opened.promise.then(nextTick);
      const isFirstReceived = await Promise.race([first.then(isReceived), opened]);
      if (this.exchange.method === "HEAD") first.catch(ignore);
      else {
        if (!isFirstReceived) this.#begin();
        await this.#send(responses, first);
      }
      if (!this.isOver) this.#finish(this.#isStopping ? this.#unavailable() : undefined);
    } catch (error) {
      if (this.isOver) return;
      // Interceptors have seen an error that the implementation throws.
      if (error instanceof ConnectError)
        this.#finish(this.#isStopping ? this.#unavailable() : this.options.toConnectError(error));
      else if (this.#isStopping) this.#finish(this.#unavailable());
      else this.fail(error);
    }
  }

  async #send(responses: AsyncIterator<Message>, first: Promise<IteratorResult<Message>>): Promise<void> {
    for (let next = await first; !next.done && !this.isOver; next = await responses.next()) {
      if (!this.#hasHeaders) this.#begin();
      const pause = this.options.pause?.(this.values);
      if (pause) await pause;
      if (this.isOver) return;
      const written = await this.#encode(next.value);
      if (this.isOver) return;
      const wait = this.exchange.write(written);
      if (wait) await wait;
    }
  }

  async #encode(message: Message): Promise<Uint8Array> {
    const { codec, negotiated } = this.matched;
    const bytes = codec.encode(message);
    const encoding = negotiated.protocol.isEnveloped && bytes.length >= minCompressedBytes ? this.#encoding : undefined;
    return encoding
      ? negotiated.protocol.message(await encoding.compress(bytes), true)
      : negotiated.protocol.message(bytes, false);
  }

  #begin(): void {
    if (this.isOver || this.#hasHeaders) return;
    this.#hasHeaders = true;
    const { exchange, values, matched } = this;
    const { protocol } = matched.negotiated;
    this.#encoding = protocol.isEnveloped ? acceptedEncoding(exchange.headers[protocol.acceptHeader]) : undefined;
    const { status, headers } = protocol.begin(this.#encoding, this.metadata);
    exchange.begin(status, this.options.responseHeaders(exchange, headers, values));
    const { heartbeat } = protocol;
    if (heartbeat) this.#heartbeat = setInterval(() => void exchange.write(heartbeat), heartbeatMs);
  }

  /** Ends the response, with its error if it failed. */
  #finish(error?: ConnectError): void {
    const { exchange, options, values, matched } = this;
    if (error && !this.#hasHeaders) {
      const response: Response = this.refusal(error);
      this.close();
      options.refuse(exchange, response, values);
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
    // Not awaited, because an iterator ends only after its pending step.
    this.#responses?.return?.().catch(ignore);
  }

  /** Client disconnected: aborts the handler. */
  #clientClosed(): void {
    if (this.isOver) return;
    const cancelled = this.options.toConnectError(new GatewayError("CANCELLED"));
    if (!this.#responses) this.reported(cancelled);
    this.end(cancelled);
    this.close();
  }

  get #isStopping(): boolean {
    return this.options.stopping.aborted;
  }

  #unavailable(): ConnectError {
    return this.options.toConnectError(new GatewayError("UNAVAILABLE"));
  }
}

const none: AsyncIterable<Message> = { async *[Symbol.asyncIterator]() {} };

const isReceived = () => true;
const nextTick = () => new Promise<false>((resolve) => setImmediate(resolve, false));

// Complete groups of four characters are decoded as they arrive; an incomplete group at the end of the body is an error.
async function* fromBase64(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = Buffer.concat([rest, chunk]);
    const whole = text.length - (text.length % 4);
    rest = text.subarray(whole);
    yield base64Bytes(text.subarray(0, whole));
  }
  if (rest.length > 0) throw unreadable("BODY_NOT_BASE64");
}

function ignore() {}
