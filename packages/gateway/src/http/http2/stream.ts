import type { BodyAccount, Network } from "../body_budget.ts";
import { BodyQueue, type BodySource } from "../body_queue.ts";
import {
  type BodySink,
  type Exchange,
  type RequestFault,
  type Response,
  type ResponseFields,
  unread,
} from "../exchange.ts";
import { type FlowControl, SendQueue } from "./flow_control.ts";
import type { FrameWriter } from "./frame_writer.ts";
import type { Fields, Head } from "./head.ts";
import { ErrorCode, initialWindowSize } from "./rfc9113.ts";

/** The part of a connection that its streams use. */
export type ConnectionHandle = {
  readonly flowControl: FlowControl;
  readonly writer: FrameWriter;
  /** The window of a stream whose body is being read. */
  readonly streamWindow: number;
  /** Finds the client of a request by its headers. */
  readonly clientOf: (headers: Fields) => Network;
  /** Called when bytes of a request body were consumed, so that the connection's window may open again. */
  readonly consumed: (bytes: number) => void;
  /** Called if a response is complete before its request. */
  readonly respondedEarly: () => void;
  /** Called when a stream is closed; `mayReceive` says whether more of its request may be in transit. */
  readonly streamClosed: (stream: Stream, mayReceive: boolean) => void;
};

type StreamOptions = { readonly id: number; readonly head: Head; readonly ended: boolean };

/** A stream: one request and its response. */
export class Stream implements Exchange, BodySource {
  readonly version = "2";
  readonly id: number;
  readonly headers: Fields;
  readonly fault: RequestFault | undefined;
  readonly network: string | undefined;
  readonly address: string | undefined;
  /** Called once, when the response is complete or the client has disconnected. */
  onClose: (() => void) | undefined;
  /** Whether the request is complete. */
  ended: boolean;
  closed = false;
  /** Whether the whole response was sent. */
  complete = false;
  readonly sendQueue: SendQueue;
  readonly account: BodyAccount;
  readonly #connection: ConnectionHandle;
  #begun = false;
  // The bytes still missing from the announced content-length.
  #remaining: number | undefined;
  #window = initialWindowSize;
  // The window once everything received is acknowledged; it stays the initial one until the body is read.
  #windowTarget = initialWindowSize;
  #unacknowledged = 0;
  readonly #body: BodyQueue;
  #draining: PromiseWithResolvers<void> | undefined;

  constructor({ id, head, ended }: StreamOptions, connection: ConnectionHandle) {
    this.id = id;
    this.headers = head.fields;
    // The header fields exceeded a limit, and are incomplete.
    this.fault = head.tooLarge ? "HEADERS_TOO_LARGE" : undefined;
    this.ended = ended;
    this.#remaining = head.contentLength;
    this.#connection = connection;
    const client = connection.clientOf(head.fields);
    this.network = client.name;
    this.address = client.address;
    this.account = client.account();
    this.#body = new BodyQueue(this);
    this.sendQueue = new SendQueue(id, connection.flowControl.streamWindow, this);
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

  /** Passes the body to a sink as it arrives; nothing more is passed once the stream is closed. */
  receive(sink: BodySink): void {
    this.#body.receive(sink);
  }

  /** The body in parts; the next part is let in when it is requested. Throws if the body is cut short. */
  chunks(): AsyncGenerator<Buffer> {
    return this.#body.parts();
  }

  /** Sends a complete response. */
  answer({ status, headers, body: content, trailers }: Response): void {
    if (this.closed || this.#begun) return;
    this.#begun = true;
    const { flowControl } = this.#connection;
    const body = typeof content === "string" ? Buffer.from(content) : content;
    const response = { status, headers, body, trailers };
    if (flowControl.sendWhole(this.sendQueue, response)) return void this.sent();
    // The client may delay the response for a long time, during which an unread body must not be held.
    if (!this.#body.hasSink) this.receive(unread);
    const isHeadersOnly = !body?.length && !trailers;
    flowControl.sendHeaders(this.sendQueue, response, isHeadersOnly);
    if (isHeadersOnly) return void this.sent();
    // Set before the DATA is sent, so that its last frame carries END_STREAM.
    this.sendQueue.endsStream = true;
    this.sendQueue.trailers = trailers;
    if (body?.length) flowControl.sendData(this.sendQueue, body);
    else flowControl.endStream(this.sendQueue, trailers);
  }

  /** Begins a response whose body follows in parts. */
  begin(status: number, headers: ResponseFields): void {
    if (this.closed || this.#begun) return;
    this.#begun = true;
    this.#connection.flowControl.sendHeaders(this.sendQueue, { status, headers }, false);
  }

  /** Sends a part of the body; returns a promise if the next one should wait until this one is sent, or the stream is closed. */
  write(part: Uint8Array): Promise<void> | undefined {
    if (this.closed) return undefined;
    this.#connection.flowControl.sendData(this.sendQueue, part);
    if (this.sendQueue.bytes === 0 || this.closed) return undefined;
    // One promise for all writers, because a heartbeat may be sent while the stream waits for its client.
    this.#draining ??= Promise.withResolvers<void>();
    return this.#draining.promise;
  }

  /** Ends the body. */
  finish(trailers?: ResponseFields): void {
    if (!this.closed) this.#connection.flowControl.endStream(this.sendQueue, trailers);
  }

  abort(): void {
    this.reset(ErrorCode.INTERNAL_ERROR);
  }

  /** Sends RST_STREAM and closes the stream. */
  reset(code: number): void {
    if (this.closed) return;
    this.#connection.writer.rstStream(this.id, code);
    this.#close(!this.ended);
  }

  // Called by the connection.

  /** Takes the payload of DATA, which with its padding counts as `flowControlled` bytes; returns a stream error's code, or NO_ERROR. */
  data(payload: Buffer, flowControlled: number, endsStream: boolean): number {
    this.#window -= flowControlled;
    if (this.#window < 0) return ErrorCode.FLOW_CONTROL_ERROR;
    if (!this.#fitsContentLength(payload.length, endsStream)) return ErrorCode.PROTOCOL_ERROR;
    // Set before the payload is handed over: a response to it must not ask the client to stop sending.
    this.ended = endsStream;
    this.taken(flowControlled - payload.length);
    if (payload.length > 0) this.#body.add(payload);
    if (endsStream) this.#body.end();
    return ErrorCode.NO_ERROR;
  }

  /** Trailers ended the request; false if its body is shorter than its content-length. */
  trailers(): boolean {
    if (this.#remaining) return false;
    this.ended = true;
    this.#body.end();
    return true;
  }

  /** Closes the stream without a frame, because its client reset it or the connection is closed. */
  discard(): void {
    if (!this.closed) this.#close(false);
  }

  sent(): void {
    this.complete = true;
    // RFC 9113, 8.1: after a response that precedes the end of the request, NO_ERROR asks the client to stop sending.
    if (!this.ended) this.#connection.writer.rstStream(this.id, ErrorCode.NO_ERROR);
    if (!this.ended) this.#connection.respondedEarly();
    this.#close(!this.ended);
  }

  drained(): void {
    this.#draining?.resolve();
    this.#draining = undefined;
  }

  stalled(): void {
    this.reset(ErrorCode.CANCEL);
  }

  // Called by the queue of the body.

  /** Sends 100 (Continue) to a client that is waiting for it: RFC 9110, 10.1.1. */
  sendContinue(): void {
    const isExpected = !this.ended && this.headers.expect?.toLowerCase() === "100-continue";
    if (isExpected && !this.closed && !this.#begun)
      this.#connection.flowControl.sendHeaders(this.sendQueue, { status: 100, headers: {} }, false);
  }

  /** Bytes were consumed: reopens the windows, with one WINDOW_UPDATE per half window. */
  taken(bytes: number): void {
    if (bytes === 0) return;
    this.#connection.consumed(bytes);
    if (this.ended || this.closed) return;
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < this.#windowTarget / 2) return;
    const { streamWindow } = this.#connection;
    const increment = this.#unacknowledged + streamWindow - this.#windowTarget;
    this.#windowTarget = streamWindow;
    this.#window += increment;
    this.#connection.writer.windowUpdate(this.id, increment);
    this.#unacknowledged = 0;
  }

  #fitsContentLength(bytes: number, endsStream: boolean): boolean {
    if (this.#remaining === undefined) return true;
    this.#remaining -= bytes;
    return this.#remaining >= 0 && !(endsStream && this.#remaining > 0);
  }

  #close(mayReceive: boolean): void {
    this.closed = true;
    if (!this.complete) this.#connection.flowControl.drop(this.sendQueue);
    this.#body.close();
    this.account.close();
    this.#connection.streamClosed(this, mayReceive);
    this.drained();
    const { onClose } = this;
    this.onClose = undefined;
    onClose?.();
  }
}
