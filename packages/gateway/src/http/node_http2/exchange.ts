import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { overloaded } from "../../errors/gateway_error.ts";
import type { BodyAccount, Network } from "../body_budget.ts";
import { BodyBuffer } from "../body_buffer.ts";
import {
  type BodySink,
  type Exchange,
  type RequestFault,
  type Response,
  type ResponseFields,
  unread,
} from "../exchange.ts";
import type { Fields, Head } from "../http2/head.ts";
import { ErrorCode, initialWindowSize, maxFrameSize } from "../http2/rfc9113.ts";
import type { StreamRecord } from "./flood_guard.ts";

/** A stream and its head, and callbacks of its connection. */
export type ExchangeOptions = {
  readonly stream: ServerHttp2Stream;
  readonly head: Head;
  readonly record: StreamRecord;
  readonly client: Network;
  /** Runs an event listener; an error only ends the connection. */
  readonly guarded: (work: () => void) => void;
  readonly closed: (exchange: NodeHttp2Exchange) => void;
};

/** A request and its response, on a stream of `node:http2`. */
export class NodeHttp2Exchange implements Exchange {
  readonly version = "2";
  readonly headers: Fields;
  readonly fault: RequestFault | undefined;
  readonly network: string | undefined;
  readonly address: string | undefined;
  readonly account: BodyAccount;
  onClose: (() => void) | undefined;
  closed = false;
  complete = false;
  readonly #stream: ServerHttp2Stream;
  readonly #options: ExchangeOptions;
  readonly #held: BodyBuffer;
  #sink: BodySink | undefined;
  #isOverloaded = false;
  #isBodyComplete: boolean;
  #begun = false;
  #ends = false;
  #trailers: ResponseFields | undefined;
  #parts: Uint8Array[] = [];
  #isWriting = false;
  #progressAt = 0;
  #wakeReader: (() => void) | undefined;
  #draining: PromiseWithResolvers<void> | undefined;

  constructor(options: ExchangeOptions) {
    const { stream, head, client, guarded, record } = options;
    this.#options = options;
    this.#stream = stream;
    this.headers = head.fields;
    this.fault = head.tooLarge ? "HEADERS_TOO_LARGE" : undefined;
    this.network = client.name;
    this.address = client.address;
    this.account = client.account();
    this.#held = new BodyBuffer(this.account);
    this.#isBodyComplete = stream.endAfterHeaders;
    record.onResponseSent = this.#responseSent.bind(this);
    stream.on("close", () => guarded(() => this.#close()));
    stream.on("wantTrailers", () => guarded(() => this.#sendTrailers()));
    stream.on("data", (chunk: Buffer) => guarded(() => this.#accept(chunk)));
    stream.on("end", () => guarded(() => this.#end()));
  }

  get method(): string {
    return this.headers[":method"] ?? "";
  }

  get target(): string {
    return this.headers[":path"] ?? "";
  }

  get authority(): string | undefined {
    return this.headers[":authority"] ?? this.headers.host;
  }

  get ended(): boolean {
    return this.#options.record.ended;
  }

  receive(sink: BodySink): void {
    this.#sink = sink;
    this.#sendContinue();
    if (this.#isOverloaded) sink.overloaded();
    else if (this.#held.length > 0) sink.data(this.#held.take());
    this.#resume();
    if (this.#isBodyComplete) this.#endSink();
  }

  async *chunks(): AsyncGenerator<Buffer> {
    this.#sendContinue();
    while (true) {
      if (this.#isOverloaded) throw overloaded();
      if (this.#held.length > 0) {
        const part = this.#held.take();
        this.#resume();
        yield part;
      } else if (this.#isBodyComplete) return;
      else if (this.closed) throw new Error("the client aborted the request");
      else await this.#nextPart();
    }
  }

  answer({ status, headers, body: content, trailers }: Response): void {
    if (this.closed || this.#begun) return;
    const body = typeof content === "string" ? Buffer.from(content) : content;
    const isHeadersOnly = !body?.length && !trailers;
    // The client may delay the response for a long time, during which an unread body must not be held.
    if (!isHeadersOnly && !this.#sink) this.receive(unread);
    this.#respond(status, headers, isHeadersOnly);
    if (this.closed) return;
    if (isHeadersOnly) return void this.#sent();
    if (body?.length) this.write(body);
    this.finish(trailers);
  }

  begin(status: number, headers: ResponseFields): void {
    if (this.closed || this.#begun) return;
    this.#respond(status, headers, false);
  }

  write(part: Uint8Array): Promise<void> | undefined {
    if (this.closed || part.length === 0) return undefined;
    this.#parts.push(part);
    this.#pump();
    if (this.#parts.length === 0) return undefined;
    // One promise for all writers, because a heartbeat may be sent while the stream waits for its client.
    this.#draining ??= Promise.withResolvers<void>();
    return this.#draining.promise;
  }

  finish(trailers?: ResponseFields): void {
    if (this.closed) return;
    this.#ends = true;
    this.#trailers = trailers;
    this.#pump();
  }

  abort(): void {
    this.reset(ErrorCode.INTERNAL_ERROR);
  }

  /** Sends RST_STREAM and closes the stream. */
  reset(code: number): void {
    if (this.closed) return;
    this.#stream.close(code);
    this.#close();
  }

  /** Whether a part of the response has been waiting since `time`. */
  isStalledSince(time: number): boolean {
    return this.#isWriting && this.#progressAt <= time;
  }

  // RFC 9110, 10.1.1.
  #sendContinue(): void {
    const isExpected = !this.ended && this.headers.expect?.toLowerCase() === "100-continue";
    if (isExpected && !this.closed && !this.#begun && !this.#stream.destroyed)
      this.#stream.additionalHeaders({ ":status": 100 });
  }

  #respond(status: number, headers: ResponseFields, endStream: boolean): void {
    this.#begun = true;
    refuseUnsendable(headers);
    // The stream's "close" is about to be emitted.
    if (this.#stream.destroyed) return void this.#close();
    const fields: OutgoingHttpHeaders = { ":status": status, ...(headers as OutgoingHttpHeaders) };
    this.#stream.respond(fields, { endStream, waitForTrailers: !endStream });
  }

  // One frame at a time: Node combines waiting frames into one write, whose progress would be invisible.
  #pump(): void {
    if (this.#isWriting || this.closed) return;
    const [part] = this.#parts;
    if (!part) {
      this.#drained();
      if (this.#ends) this.#stream.end();
      return;
    }
    const rest = part.subarray(maxFrameSize);
    if (rest.length > 0) this.#parts[0] = rest;
    else this.#parts.shift();
    this.#isWriting = true;
    this.#progressAt = performance.now();
    this.#stream.write(part.subarray(0, maxFrameSize), () => {
      this.#isWriting = false;
      this.#options.guarded(() => this.#pump());
    });
  }

  #sendTrailers(): void {
    if (this.closed || this.#stream.destroyed) return;
    if (this.#trailers) refuseUnsendable(this.#trailers);
    // Without trailers, Node ends the stream with an empty DATA frame.
    this.#stream.sendTrailers({ ...(this.#trailers as OutgoingHttpHeaders) });
    this.#sent();
  }

  #sent(): void {
    this.complete = true;
    this.#close();
  }

  // RFC 9113, 8.1: after a response that precedes the end of the request, NO_ERROR asks the client to stop sending. Node sends RST_STREAM
  // ahead of all waiting frames, so END_STREAM must be out first.
  #responseSent(): void {
    const stream = this.#stream;
    if (!this.ended) process.nextTick(() => stream.close(ErrorCode.NO_ERROR));
  }

  #accept(chunk: Buffer): void {
    if (this.closed || this.#isOverloaded) return;
    if (this.#sink) this.#sink.data(chunk);
    else {
      this.#isOverloaded = !this.#held.add(chunk);
      if (this.#held.length >= initialWindowSize) this.#pause();
    }
    this.#resumeReader();
  }

  #end(): void {
    // Node also ends a body if the client resets its stream with NO_ERROR.
    if (!this.ended) return;
    this.#isBodyComplete = true;
    this.#endSink();
    this.#resumeReader();
  }

  // Releases the sink: a stream whose response takes hours must not keep the bytes that the sink collected.
  #endSink(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if (!this.closed) sink?.end();
  }

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#parts = [];
    this.#held.clear();
    this.account.close();
    this.#resume();
    this.#options.closed(this);
    this.#drained();
    this.#resumeReader();
    const { onClose } = this;
    this.onClose = undefined;
    onClose?.();
  }

  #pause(): void {
    this.#options.record.isPaused = true;
    this.#stream.pause();
  }

  #resume(): void {
    this.#options.record.isPaused = false;
    this.#stream.resume();
  }

  #drained(): void {
    this.#draining?.resolve();
    this.#draining = undefined;
  }

  #resumeReader(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }

  #nextPart(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeReader = resolve;
    return promise;
  }
}

// Node would send any value.
function refuseUnsendable(fields: ResponseFields): void {
  for (const name in fields) {
    const value = fields[name] ?? "";
    for (const one of typeof value === "string" ? [value] : value)
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(one))
        throw new TypeError(`the field ${JSON.stringify(name)} cannot be sent`);
  }
}
