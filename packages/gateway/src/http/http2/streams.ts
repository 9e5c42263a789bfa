import type { Network } from "../body_budget.ts";
import type { Headers } from "../exchange.ts";
import type { FlowControl } from "./flow_control.ts";
import { type Frame, uint32 } from "./frame_reader.ts";
import type { FrameWriter } from "./frame_writer.ts";
import { type HeaderBlock, HeaderBlockCache } from "./header_blocks.ts";
import {
  controlFrames,
  earlyResponses,
  earnedByData,
  earnedByDataSent,
  earnedByRequest,
  refusedStreams,
  resetStreamsRemembered,
  streamResets,
  streamWindowFor,
  streamWindowsPerConnection,
} from "./limits.ts";
import { refuseSelfDependency, withoutPadding } from "./payload.ts";
import { TokenBucket } from "./rate_limit.ts";
import { ConnectionError, ErrorCode, enhanceYourCalm, Flag, initialWindowSize, maxStreamId } from "./rfc9113.ts";
import { type ConnectionHandle, Stream } from "./stream.ts";

/** Limits on a connection's streams. */
export type StreamLimits = {
  readonly streamsMax: number;
  readonly headersMaxBytes: number;
  readonly messageMaxBytes: number;
};

/** The parts of the connection that its streams share. */
export type StreamsOptions = {
  readonly limits: StreamLimits;
  readonly clientOf: (headers: Headers) => Network;
  readonly writer: FrameWriter;
  readonly flowControl: FlowControl;
  readonly serve: (stream: Stream) => void;
  /** Called if the client begins requests faster than it ends them; the connection then takes no new ones. */
  readonly onFlood: () => void;
  /** Called when the last open stream is closed. */
  readonly onIdle: () => void;
};

/** The streams of a connection, and the frames about them. */
export class Streams implements ConnectionHandle {
  readonly writer: FrameWriter;
  readonly flowControl: FlowControl;
  readonly streamWindow: number;
  readonly #controlFrames = new TokenBucket(controlFrames);
  readonly #resets = new TokenBucket(streamResets);
  readonly #refusals = new TokenBucket(refusedStreams);
  readonly #earlyResponses = new TokenBucket(earlyResponses);
  readonly #options: StreamsOptions;
  readonly #headerBlocks: HeaderBlockCache;
  readonly #open = new Map<number, Stream>();
  // Streams that we reset while their clients may still be sending; further frames for them are dropped.
  readonly #recentlyReset = new Set<number>();
  /** The number of requests begun so far. */
  requests = 0;
  /** The highest stream identifier of the client. */
  lastStreamId = 0;
  // The stream identifiers that the client skipped most recently: idle streams that count as closed, RFC 9113, 5.1.1.
  #skipped = { from: 0, to: 0 };
  #lastServedId = maxStreamId;
  readonly #connectionWindow: number;
  #window = initialWindowSize;
  #unacknowledged = 0;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.writer = options.writer;
    this.flowControl = options.flowControl;
    this.streamWindow = streamWindowFor(options.limits.messageMaxBytes);
    this.#connectionWindow = this.streamWindow * streamWindowsPerConnection;
    this.#headerBlocks = new HeaderBlockCache(options.limits);
  }

  /** The number of open streams. */
  get size(): number {
    return this.#open.size;
  }

  /** Enlarges the connection's window beyond the initial one. */
  openConnectionWindow(): void {
    this.writer.windowUpdate(0, this.#connectionWindow - initialWindowSize);
    this.#window = this.#connectionWindow;
  }

  /** Ignores streams that begin from now on. */
  refuseNew(): void {
    this.#lastServedId = this.lastStreamId;
  }

  /** Closes all streams without a frame. */
  discardAll(): void {
    for (const stream of [...this.#open.values()]) stream.discard();
  }

  /** Applies the client's SETTINGS_INITIAL_WINDOW_SIZE. */
  initialWindow(size: number): void {
    const queues = Array.from(this.#open.values(), ({ sendQueue }) => sendQueue);
    this.flowControl.initialWindow(size, queues);
  }

  clientOf(headers: Headers): Network {
    return this.#options.clientOf(headers);
  }

  consumed(bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < this.#connectionWindow / 2) return;
    this.writer.windowUpdate(0, this.#unacknowledged);
    this.#window += this.#unacknowledged;
    this.#unacknowledged = 0;
  }

  respondedEarly(): void {
    if (!this.#earlyResponses.take()) this.#options.onFlood();
  }

  streamClosed(stream: Stream, mayReceive: boolean): void {
    this.#open.delete(stream.id);
    if (mayReceive) this.#rememberReset(stream.id);
    if (this.#open.size === 0) this.#options.onIdle();
  }

  /** A field block: the head of a request, or trailers. */
  headers(id: number, endsStream: boolean, block: HeaderBlock): void {
    const stream = this.#open.get(id);
    if (!stream && id > this.lastStreamId) return void this.#openStream(id, endsStream, block);
    const areSound = this.#headerBlocks.trailers(block);
    if (!stream) return void this.#headersOnClosed(id, endsStream);
    if (stream.ended) return void this.#streamError(stream, ErrorCode.STREAM_CLOSED);
    if (!endsStream || !areSound || !stream.trailers()) this.#streamError(stream, ErrorCode.PROTOCOL_ERROR);
  }

  data(frame: Frame): void {
    const { streamId, length } = frame;
    if (this.#isIdle(streamId)) throw onIdleStream("DATA");
    this.#window -= length;
    if (this.#window < 0)
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "DATA beyond the window of the connection");
    const { start, end } = withoutPadding(frame);
    const endsStream = frame.has(Flag.END_STREAM);
    const stream = this.#open.get(streamId);
    // Padding is not payload, so a frame with nothing else has no effect.
    const isEmpty = start === end && !endsStream;
    if (isEmpty) this.countControlFrame();
    if (!stream || stream.ended) {
      this.consumed(length);
      if (stream) this.#streamError(stream, ErrorCode.STREAM_CLOSED);
      else this.#dataOnClosed(streamId, endsStream);
      return;
    }
    if (!isEmpty) this.#controlFrames.add(earnedByData);
    const code = stream.data(frame.bytes.subarray(start, end), length, endsStream);
    if (code === ErrorCode.NO_ERROR) return;
    this.consumed(length);
    this.#streamError(stream, code);
  }

  rstStream({ streamId, length }: Frame): void {
    if (length !== 4) throw wrongLength("RST_STREAM");
    if (this.#isIdle(streamId)) throw onIdleStream("RST_STREAM");
    const stream = this.#open.get(streamId);
    if (!stream) return void this.countControlFrame();
    if (!this.#resets.take()) throw enhanceYourCalm("RST_STREAM frames");
    stream.discard();
  }

  windowUpdate({ streamId, bytes, start, length }: Frame): void {
    if (length !== 4) throw wrongLength("WINDOW_UPDATE");
    if (streamId !== 0 && this.#isIdle(streamId)) throw onIdleStream("WINDOW_UPDATE");
    this.#controlFrames.add(earnedByDataSent * this.flowControl.dataFrames);
    this.flowControl.dataFrames = 0;
    this.countControlFrame();
    const increment = uint32(bytes, start) & 0x7fffffff;
    const stream = this.#open.get(streamId);
    if (streamId !== 0 && !stream) return;
    const isInRange = this.flowControl.windowUpdate(increment, stream?.sendQueue);
    if (increment === 0 || !isInRange) {
      const code = isInRange ? ErrorCode.PROTOCOL_ERROR : ErrorCode.FLOW_CONTROL_ERROR;
      if (stream) return void this.#streamError(stream, code);
      throw new ConnectionError(code, `WINDOW_UPDATE of the connection ${isInRange ? "by 0" : "overflows its window"}`);
    }
    this.flowControl.pump();
  }

  /** Validates and ignores PRIORITY, which RFC 9113, 5.3.2 deprecates. */
  priority({ streamId, bytes, start, length }: Frame): void {
    if (length !== 5) throw wrongLength("PRIORITY");
    if (streamId === 0) throw onIdleStream("PRIORITY");
    refuseSelfDependency(streamId, bytes, start);
    this.countControlFrame();
  }

  /** Counts a frame that costs its sender nothing. */
  countControlFrame(): void {
    if (!this.#controlFrames.take()) throw enhanceYourCalm("frames without effect");
  }

  /** Whether a stream was never opened; even identifiers are ours to open, and we open none. */
  #isIdle(streamId: number): boolean {
    return streamId % 2 === 0 || streamId > this.lastStreamId;
  }

  #openStream(id: number, ended: boolean, block: HeaderBlock): void {
    if (id !== this.lastStreamId + 2) this.#skipped = { from: this.lastStreamId + 1, to: id - 1 };
    this.lastStreamId = id;
    const head = this.#headerBlocks.request(block);
    if (id > this.#lastServedId) return void this.#rememberReset(id);
    if (!head || (ended && head.contentLength)) return void this.#refuse(id, ended, ErrorCode.PROTOCOL_ERROR);
    if (this.#open.size >= this.#options.limits.streamsMax)
      return void this.#refuse(id, ended, ErrorCode.REFUSED_STREAM);
    this.#controlFrames.add(earnedByRequest);
    this.requests += 1;
    const stream = new Stream({ id, head, ended }, this);
    this.#open.set(id, stream);
    this.#options.serve(stream);
  }

  #refuse(id: number, ended: boolean, code: number): void {
    const bucket = code === ErrorCode.REFUSED_STREAM ? this.#refusals : this.#resets;
    if (!bucket.take()) throw enhanceYourCalm("requests that cannot be served");
    this.writer.rstStream(id, code);
    if (!ended) this.#rememberReset(id);
  }

  /** A stream error: RFC 9113, 5.4.2. */
  #streamError(stream: Stream, code: number): void {
    if (!this.#resets.take()) throw enhanceYourCalm("stream errors");
    if (!stream.closed) stream.reset(code);
  }

  #headersOnClosed(id: number, endsStream: boolean): void {
    this.countControlFrame();
    if (this.#recentlyReset.has(id)) {
      if (endsStream) this.#endedAfterReset(id);
      return;
    }
    const wasSkipped = id >= this.#skipped.from && id <= this.#skipped.to;
    const code = wasSkipped ? ErrorCode.PROTOCOL_ERROR : ErrorCode.STREAM_CLOSED;
    throw new ConnectionError(code, "HEADERS on a closed stream");
  }

  #dataOnClosed(id: number, endsStream: boolean): void {
    if (!this.#recentlyReset.has(id)) {
      this.countControlFrame();
      this.writer.rstStream(id, ErrorCode.STREAM_CLOSED);
    } else if (endsStream) this.#endedAfterReset(id);
  }

  #endedAfterReset(id: number): void {
    this.#recentlyReset.delete(id);
    this.#earlyResponses.add(1);
  }

  #rememberReset(id: number): void {
    this.#recentlyReset.add(id);
    if (this.#recentlyReset.size <= resetStreamsRemembered) return;
    const [oldest = id] = this.#recentlyReset;
    this.#recentlyReset.delete(oldest);
  }
}

const wrongLength = (type: string) => new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `${type} of a wrong length`);

const onIdleStream = (type: string) => new ConnectionError(ErrorCode.PROTOCOL_ERROR, `${type} on an idle stream`);
