import type { ResponseFields } from "../exchange.ts";
import type { FrameWriter } from "./frame_writer.ts";
import { Encoder, maxEncodedBytes } from "./hpack/encoder.ts";
import { copiedMaxBytes } from "./limits.ts";
import {
  ConnectionError,
  ErrorCode,
  Flag,
  FrameType,
  frameHeaderBytes,
  initialWindowSize,
  maxFrameSize,
  maxWindowSize,
} from "./rfc9113.ts";

/** A response that is sent whole. */
export type WholeResponse = {
  readonly status: number;
  readonly headers: ResponseFields;
  readonly body?: Uint8Array | undefined;
  readonly trailers?: ResponseFields | undefined;
};

/** Callbacks of a response being sent. */
export type SendEvents = {
  /** END_STREAM is on its way. */
  readonly sent: () => void;
  /** No more DATA is waiting. */
  readonly drained: () => void;
  /** The client has not let any DATA through for too long. */
  readonly stalled: () => void;
};

/** The DATA of one response that is waiting for the client's windows. */
export class SendQueue {
  readonly streamId: number;
  readonly events: SendEvents;
  window: number;
  parts: Uint8Array[] = none;
  /** The number of waiting bytes. */
  bytes = 0;
  endsStream = false;
  trailers: ResponseFields | undefined;
  progressAt = 0;

  constructor(streamId: number, window: number, events: SendEvents) {
    this.streamId = streamId;
    this.window = window;
    this.events = events;
  }
}

const none: Uint8Array[] = [];

/** Sends the responses of a connection within its client's flow-control windows, taking turns frame by frame. */
export class FlowControl {
  readonly #writer: FrameWriter;
  readonly #stallMs: number;
  readonly #onStall: () => void;
  readonly #waiting = new Set<SendQueue>();
  #stallTimer: NodeJS.Timeout | undefined;
  #blockedAt = 0;
  readonly encoder = new Encoder();
  #window = initialWindowSize;
  /** The client's SETTINGS_INITIAL_WINDOW_SIZE. */
  streamWindow = initialWindowSize;
  /** DATA frames sent since this was last reset to 0; the client may respond to each with WINDOW_UPDATE. */
  dataFrames = 0;

  /** `onStall` is called when the socket has accepted nothing for `stallMs`. */
  constructor(writer: FrameWriter, stallMs: number, onStall: () => void) {
    this.#writer = writer;
    this.#stallMs = stallMs;
    this.#onStall = onStall;
  }

  /** Sends a short response whole if the windows permit it; otherwise returns false. */
  sendWhole(queue: SendQueue, { status, headers, body, trailers }: WholeResponse): boolean {
    const length = body ? body.length : 0;
    const fits = length <= copiedMaxBytes && length <= queue.window && length <= this.#window;
    if (!fits || this.#waiting.size > 0 || this.#writer.isBlocked) return false;
    const writer = this.#writer;
    const trailerBytes = trailers ? frameHeaderBytes + maxEncodedBytes(trailers) : 0;
    writer.reserve(2 * frameHeaderBytes + maxEncodedBytes(headers) + length + trailerBytes);
    const endsStream = length === 0 && !trailers;
    this.#headerBlock({ streamId: queue.streamId, status, fields: headers, endsStream });
    if (body && length > 0) {
      const start = writer.beginFrame(FrameType.DATA, queue.streamId);
      writer.copy(body);
      writer.endFrame(start, trailers ? Flag.NONE : Flag.END_STREAM);
      this.#window -= length;
      queue.window -= length;
      this.dataFrames += 1;
    }
    if (trailers) this.#headerBlock({ streamId: queue.streamId, fields: trailers, endsStream: true });
    return true;
  }

  /** Sends the HEADERS of a response. */
  sendHeaders({ streamId }: SendQueue, { status, headers }: WholeResponse, endsStream: boolean): void {
    this.#writer.reserve(frameHeaderBytes + maxEncodedBytes(headers));
    this.#headerBlock({ streamId, status, fields: headers, endsStream });
  }

  /** Sends a part of a body, now or as soon as the windows permit. */
  sendData(queue: SendQueue, part: Uint8Array): void {
    if (part.length === 0) return;
    if (queue.parts === none) queue.parts = [];
    queue.parts.push(part);
    queue.bytes += part.length;
    this.#enqueue(queue);
    this.pump();
  }

  /** Sends END_STREAM after the waiting DATA. */
  endStream(queue: SendQueue, trailers: ResponseFields | undefined): void {
    queue.endsStream = true;
    queue.trailers = trailers;
    if (queue.bytes === 0) this.#sendEnd(queue);
  }

  /** Drops the waiting DATA of a stream. */
  drop(queue: SendQueue): void {
    this.#waiting.delete(queue);
    queue.parts = none;
    queue.bytes = 0;
  }

  /** Increases the window of a stream or the connection; false if it exceeds the maximum. */
  windowUpdate(increment: number, queue?: SendQueue): boolean {
    const window = (queue ? queue.window : this.#window) + increment;
    if (queue) queue.window = window;
    else this.#window = window;
    return window <= maxWindowSize;
  }

  /** Applies SETTINGS_INITIAL_WINDOW_SIZE, including to open streams: RFC 9113, 6.9.2. */
  initialWindow(size: number, open: Iterable<SendQueue>): void {
    const difference = size - this.streamWindow;
    this.streamWindow = size;
    for (const queue of open)
      if (!this.windowUpdate(difference, queue))
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE overflows a window");
  }

  /** Sends the waiting DATA as far as windows and socket permit. */
  pump(): void {
    // Round robin: a Set iterates in insertion order, and a queue that is not empty is inserted again.
    for (const queue of this.#waiting) {
      if (this.#writer.isBlocked || this.#window <= 0) break;
      if (queue.window > 0) this.#sendFrame(queue);
    }
    this.#watchStalls();
  }

  /** The socket emitted "drain". */
  socketDrained(): void {
    this.#blockedAt = 0;
    this.pump();
  }

  stop(): void {
    clearTimeout(this.#stallTimer);
  }

  #sendFrame(queue: SendQueue): void {
    const [part] = queue.parts;
    if (!part) return;
    const length = Math.min(part.length, maxFrameSize, queue.window, this.#window);
    const rest = part.length - length;
    if (rest > 0) queue.parts[0] = part.subarray(length);
    else queue.parts.shift();
    queue.window -= length;
    queue.bytes -= length;
    queue.progressAt = performance.now();
    this.#window -= length;
    this.#waiting.delete(queue);
    if (queue.bytes > 0) this.#waiting.add(queue);
    const endsStream = queue.endsStream && queue.bytes === 0 && !queue.trailers;
    this.#data(queue.streamId, length === part.length ? part : part.subarray(0, length), endsStream);
    if (queue.bytes > 0) return;
    if (!queue.endsStream) return void queue.events.drained();
    if (queue.trailers) this.#trailers(queue);
    queue.events.sent();
  }

  #data(streamId: number, bytes: Uint8Array, endsStream: boolean): void {
    const writer = this.#writer;
    const isCopied = bytes.length <= copiedMaxBytes;
    this.dataFrames += 1;
    writer.reserve(frameHeaderBytes + (isCopied ? bytes.length : 0));
    const start = writer.beginFrame(FrameType.DATA, streamId);
    if (isCopied) writer.copy(bytes);
    writer.endFrame(start, endsStream ? Flag.END_STREAM : Flag.NONE, isCopied ? 0 : bytes.length);
    if (!isCopied) writer.attach(bytes);
  }

  #sendEnd(queue: SendQueue): void {
    if (queue.trailers) this.#trailers(queue);
    else this.#data(queue.streamId, empty, true);
    queue.events.sent();
  }

  #trailers({ streamId, trailers }: SendQueue): void {
    this.#writer.reserve(frameHeaderBytes + maxEncodedBytes(trailers));
    this.#headerBlock({ streamId, fields: trailers, endsStream: true });
  }

  #headerBlock({ streamId, status, fields, endsStream }: FieldSection): void {
    const writer = this.#writer;
    const start = writer.beginFrame(FrameType.HEADERS, streamId);
    try {
      if (status === undefined) this.encoder.begin(writer);
      else this.encoder.status(status, writer);
      this.encoder.fields(fields, writer);
    } catch (error) {
      writer.at = start;
      this.encoder.restart();
      throw error;
    }
    const end = endsStream ? Flag.END_STREAM : Flag.NONE;
    if (writer.at - start - frameHeaderBytes > maxFrameSize) this.#split(start, streamId, end);
    else writer.endFrame(start, Flag.END_HEADERS | end);
  }

  /** Splits a field block that is too large for one frame into HEADERS and CONTINUATION. */
  #split(from: number, streamId: number, end: number): void {
    const writer = this.#writer;
    const block = Buffer.from(writer.bytes.subarray(from + frameHeaderBytes, writer.at));
    writer.at = from;
    for (let at = 0; at < block.length; at += maxFrameSize) {
      const fragment = block.subarray(at, at + maxFrameSize);
      writer.reserve(frameHeaderBytes + fragment.length);
      const start = writer.beginFrame(at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION, streamId);
      writer.copy(fragment);
      const endHeaders = at + fragment.length === block.length ? Flag.END_HEADERS : Flag.NONE;
      writer.endFrame(start, endHeaders | (at === 0 ? end : Flag.NONE));
    }
  }

  #enqueue(queue: SendQueue): void {
    if (this.#waiting.has(queue)) return;
    queue.progressAt = performance.now();
    this.#waiting.add(queue);
  }

  #watchStalls(): void {
    if (this.#writer.isBlocked && this.#blockedAt === 0) this.#blockedAt = performance.now();
    if (this.#stallTimer || (this.#waiting.size === 0 && !this.#writer.isBlocked)) return;
    this.#stallTimer = setTimeout(() => this.#checkStalls(), this.#stallMs);
  }

  #checkStalls(): void {
    this.#stallTimer = undefined;
    const limit = performance.now() - this.#stallMs;
    if (this.#writer.isBlocked && this.#blockedAt <= limit) return void this.#onStall();
    for (const queue of this.#waiting) if (queue.progressAt <= limit) queue.events.stalled();
    this.#watchStalls();
  }
}

type FieldSection = {
  readonly streamId: number;
  readonly status?: number;
  readonly fields: ResponseFields | undefined;
  readonly endsStream: boolean;
};

const empty = new Uint8Array(0);
