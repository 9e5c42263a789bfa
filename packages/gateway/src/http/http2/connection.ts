import type { ConnectionOptions, Timeouts } from "../exchange.ts";
import { FlowControl } from "./flow_control.ts";
import { type Frame, FrameReader } from "./frame_reader.ts";
import { FrameWriter } from "./frame_writer.ts";
import { HeaderFrames } from "./header_frames.ts";
import { drainTimeoutMs, requestsPerTick, settingsFrames, unsentMaxBytes } from "./limits.ts";
import { TokenBucket } from "./rate_limit.ts";
import {
  ConnectionError,
  ErrorCode,
  enhanceYourCalm,
  Flag,
  FrameType,
  initialWindowSize,
  maxStreamId,
  preface,
} from "./rfc9113.ts";
import { readSettings, writeSettings } from "./settings.ts";
import { type StreamLimits, Streams } from "./streams.ts";

/** Limits of a connection. */
export type Http2Limits = StreamLimits & Timeouts;

const drainPing = Buffer.from("draining");

/** The server side of HTTP/2 on one socket: RFC 9113. Nothing that a client sends makes it throw. */
export class Http2Connection {
  readonly #options: ConnectionOptions<Http2Limits>;
  readonly #reader = new FrameReader((frame) => this.#dispatch(frame));
  #requestsBefore = 0;
  #readAt = 0;
  readonly #writer: FrameWriter;
  readonly #flowControl: FlowControl;
  readonly #streams: Streams;
  readonly #headerFrames: HeaderFrames;
  readonly #settings = new TokenBucket(settingsFrames);
  readonly #idleTimer: NodeJS.Timeout;
  #readTimer: NodeJS.Timeout | undefined;
  #drainTimer: NodeJS.Timeout | undefined;
  #prefaceBytes = 0;
  // Bytes read beyond the requests of one tick.
  #unread: Buffer | undefined;
  #hasSettings = false;
  // Draining: a first GOAWAY has been sent. Drained: the last one has, and open streams are finishing.
  #state: "open" | "draining" | "drained" | "closed" = "open";

  constructor(options: ConnectionOptions<Http2Limits>) {
    const { socket, limits, serve, clientOf } = options;
    this.#options = options;
    const writer = new FrameWriter(socket, (error) => this.#fault(error));
    const flowControl = new FlowControl(writer, limits.bodyTimeoutMs, () => this.destroy());
    const onIdle = () => this.#allStreamsClosed();
    this.#writer = writer;
    this.#flowControl = flowControl;
    const onFlood = () => this.#lastGoaway(ErrorCode.ENHANCE_YOUR_CALM);
    this.#streams = new Streams({ limits, serve, onFlood, onIdle, clientOf, writer, flowControl });
    this.#headerFrames = new HeaderFrames(this.#streams, limits.headersMaxBytes);
    this.#idleTimer = setTimeout(() => this.#streams.size === 0 && this.close(), limits.idleTimeoutMs);
    this.#updateReadTimer(false);
    socket.on("data", (chunk: Buffer) => this.#guarded(() => this.#received(chunk)));
    socket.on("drain", () => this.#guarded(() => this.#socketDrained()));
    socket.on("error", ignore).on("close", () => this.#guarded(() => this.#socketClosed()));
    socket.on("end", () => this.destroy());
    const { streamsMax: maxConcurrentStreams, headersMaxBytes: maxHeaderListSize } = limits;
    writeSettings(writer, { maxConcurrentStreams, initialWindowSize, maxHeaderListSize });
    this.#streams.openConnectionWindow();
    socket.resume();
  }

  /** Whether a stream was ever opened. */
  get used(): boolean {
    return this.#streams.lastStreamId > 0;
  }

  /** Lets open streams finish, and takes no new ones: RFC 9113, 6.8. */
  close(): void {
    if (this.#state !== "open") return;
    this.#state = "draining";
    // Streams that the client opens before it sees this GOAWAY are served: its response to the PING comes after them.
    this.#writer.goaway(maxStreamId, ErrorCode.NO_ERROR);
    this.#writer.ping(drainPing, Flag.NONE);
    this.#drainTimer = setTimeout(() => this.#guarded(() => this.#lastGoaway()), drainTimeoutMs);
  }

  /** Ends the connection gracefully; the client opens another one for new requests. */
  retire(): void {
    this.close();
  }

  /** Does nothing, because this connection has its own timers. */
  check(): void {}

  /** Destroys the socket. */
  destroy(): void {
    this.#options.socket.destroy();
  }

  #received(chunk: Buffer): void {
    if (this.#state === "closed") return;
    if (this.#unread) this.#unread = Buffer.concat([this.#unread, chunk]);
    else this.#read(this.#prefaceBytes < preface.length ? this.#readPreface(chunk) : chunk);
  }

  /** Reads frames up to the maximum number of requests that one tick may begin, because others wait for the same thread. */
  #read(chunk: Buffer): void {
    const before = this.#reader.count;
    this.#requestsBefore = this.#streams.requests;
    this.#readAt = performance.now();
    const at = this.#reader.read(chunk);
    this.#updateReadTimer(this.#reader.count > before);
    if (at < chunk.length) this.#readLater(chunk.subarray(at));
    else if (this.#options.socket.writableLength > unsentMaxBytes) this.#options.socket.pause();
  }

  #readLater(rest: Buffer): void {
    this.#unread = rest;
    this.#options.socket.pause();
    setImmediate(() => this.#guarded(() => this.#readOn()));
  }

  #readOn(): void {
    const { socket } = this.#options;
    const rest = this.#unread;
    // If a client leaves our responses unread, we stop reading from it; "drain" continues.
    if (!rest || this.#state === "closed" || socket.writableLength > unsentMaxBytes) return;
    this.#unread = undefined;
    this.#read(rest);
    if (!this.#unread && socket.writableLength <= unsentMaxBytes) socket.resume();
  }

  #readPreface(chunk: Buffer): Buffer {
    const part = chunk.subarray(0, preface.length - this.#prefaceBytes);
    if (!part.equals(preface.subarray(this.#prefaceBytes, this.#prefaceBytes + part.length)))
      throw protocolError("not the connection preface");
    this.#prefaceBytes += part.length;
    return chunk.subarray(part.length);
  }

  /** Limits the time for the first SETTINGS, for a field block, and for an incomplete frame. */
  #updateReadTimer(hasProgress: boolean): void {
    if (this.#state === "closed") return;
    const isBlockIncomplete = this.#headerFrames.isIncomplete;
    const isWaiting = !this.#hasSettings || isBlockIncomplete || this.#reader.isIncomplete;
    if (isWaiting && !this.#readTimer)
      this.#readTimer = setTimeout(() => this.#readTimedOut(), this.#options.limits.headerTimeoutMs);
    else if (isWaiting && hasProgress && this.#hasSettings && !isBlockIncomplete) this.#readTimer?.refresh();
    else if (!isWaiting && this.#readTimer) {
      clearTimeout(this.#readTimer);
      this.#readTimer = undefined;
    }
  }

  #readTimedOut(): void {
    this.#fault(new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a frame or a field block took too long"));
  }

  /** Handles a frame; false if no more may be read in this tick. */
  #dispatch(frame: Frame): boolean {
    if (this.#state === "closed") return true;
    this.#handle(frame);
    return this.#mayBegin();
  }

  #mayBegin(): boolean {
    const begun = this.#streams.requests - this.#requestsBefore;
    const { least, most, ms } = requestsPerTick;
    return begun < least || (begun < most && performance.now() - this.#readAt < ms);
  }

  #handle(frame: Frame): void {
    const { type } = frame;
    if (!this.#hasSettings && (type !== FrameType.SETTINGS || frame.has(Flag.ACK)))
      throw protocolError("the first frame is not SETTINGS");
    if (this.#headerFrames.isIncomplete && type !== FrameType.CONTINUATION)
      throw protocolError("a field block is interrupted by another frame");
    switch (type) {
      case FrameType.DATA:
        return void this.#streams.data(frame);
      case FrameType.HEADERS:
        return void this.#headerFrames.headers(frame);
      case FrameType.CONTINUATION:
        return void this.#headerFrames.continuation(frame);
      case FrameType.RST_STREAM:
        return void this.#streams.rstStream(frame);
      case FrameType.WINDOW_UPDATE:
        return void this.#streams.windowUpdate(frame);
      case FrameType.PRIORITY:
        return void this.#streams.priority(frame);
      case FrameType.PUSH_PROMISE:
        throw protocolError("PUSH_PROMISE from a client");
      default:
        return void this.#connectionFrame(frame);
    }
  }

  /** Handles SETTINGS, PING and GOAWAY; frames of unknown types are ignored: RFC 9113, 5.5. */
  #connectionFrame(frame: Frame): void {
    const { type, streamId, length } = frame;
    const isKnown = type === FrameType.SETTINGS || type === FrameType.PING || type === FrameType.GOAWAY;
    if (!isKnown) return void this.#streams.countControlFrame();
    if (streamId !== 0) throw protocolError("a frame of the connection on a stream");
    if (type === FrameType.SETTINGS) return void this.#settingsFrame(frame);
    if (type === FrameType.PING && length !== 8) throw frameSizeError("PING of a wrong length");
    if (type === FrameType.PING) return void this.#pingFrame(frame);
    if (length < 8) throw frameSizeError("GOAWAY of a wrong length");
    // The client will open no new streams, but open ones may finish.
    if (this.#state === "open" || this.#state === "draining") this.#lastGoaway();
  }

  #settingsFrame(frame: Frame): void {
    if (!this.#settings.take()) throw enhanceYourCalm("SETTINGS frames");
    this.#hasSettings = true;
    if (frame.has(Flag.ACK)) {
      if (frame.length > 0) throw frameSizeError("SETTINGS acknowledgement with a payload");
      return;
    }
    readSettings(frame, {
      headerTableSize: (bytes) => this.#flowControl.encoder.resize(bytes),
      initialWindowSize: (bytes) => this.#streams.initialWindow(bytes),
    });
    this.#writer.settingsAck();
    // After the acknowledgement, so that the client knows that the following DATA uses its new window.
    this.#flowControl.pump();
  }

  #pingFrame(frame: Frame): void {
    this.#streams.countControlFrame();
    const payload = frame.bytes.subarray(frame.start, frame.end);
    if (!frame.has(Flag.ACK)) this.#writer.ping(payload, Flag.ACK);
    else if (this.#state === "draining" && payload.equals(drainPing)) this.#lastGoaway();
  }

  /** Sends the GOAWAY that names the last stream, and closes the connection once all streams have finished. */
  #lastGoaway(code: number = ErrorCode.NO_ERROR): void {
    if (this.#state === "drained" || this.#state === "closed") return;
    this.#state = "drained";
    clearTimeout(this.#drainTimer);
    this.#streams.refuseNew();
    this.#writer.goaway(this.#streams.lastStreamId, code);
    if (this.#streams.size === 0) this.#end();
  }

  #allStreamsClosed(): void {
    if (this.#state === "drained") this.#end();
    else if (this.#state !== "closed") this.#idleTimer.refresh();
  }

  #socketDrained(): void {
    this.#writer.isBlocked = false;
    this.#flowControl.socketDrained();
    if (this.#unread) this.#readOn();
    else this.#options.socket.resume();
  }

  /** Sends the rest and closes the socket, while still reading: a reset because of unread bytes would make the client lose our GOAWAY. */
  #end(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#clearTimers();
    const { socket, limits } = this.#options;
    this.#writer.flush();
    // A slow client may take its time to receive our last frames, but once it has them, it has to close.
    let destroying = setTimeout(() => socket.destroy(), limits.bodyTimeoutMs);
    socket.on("finish", () => {
      clearTimeout(destroying);
      destroying = setTimeout(() => socket.destroy(), drainTimeoutMs);
    });
    socket.on("close", () => clearTimeout(destroying));
    socket.end();
    socket.resume();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error: unknown): void {
    const isOfClient = error instanceof ConnectionError;
    const { onFault, socket } = this.#options;
    try {
      if (!isOfClient) onFault(error);
      if (this.#state === "closed") return;
      const code = isOfClient ? error.code : ErrorCode.INTERNAL_ERROR;
      this.#writer.goaway(this.#streams.lastStreamId, code, isOfClient ? error.message : "");
      this.#end();
      this.#streams.discardAll();
    } catch (again) {
      onFault(again);
      socket.destroy();
    }
  }

  #socketClosed(): void {
    this.#state = "closed";
    this.#clearTimers();
    this.#streams.discardAll();
  }

  #clearTimers(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#readTimer);
    clearTimeout(this.#drainTimer);
    this.#flowControl.stop();
  }
}

const protocolError = (message: string) => new ConnectionError(ErrorCode.PROTOCOL_ERROR, message);
const frameSizeError = (message: string) => new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, message);

// "close" always follows.
function ignore() {}
