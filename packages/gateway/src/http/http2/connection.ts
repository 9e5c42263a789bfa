import type { ConnectionParts, Patience } from "../exchange.ts";
import { Allowance } from "./allowance.ts";
import { HeaderFrames } from "./header_frames.ts";
import { Outbox } from "./outbox.ts";
import { ConnectionFault, codes, firstWindow, flags, frameHeaderBytes, largest, preface, types } from "./protocol.ts";
import { type Frame, FrameReader } from "./reader.ts";
import { Sender } from "./sender.ts";
import { readSettings, writeSettings } from "./settings.ts";
import { calm, type StreamLimits, Streams } from "./streams.ts";

/** What bounds a connection. */
export type ConnectionLimits = StreamLimits & Patience;

// What a client that does not read may leave with us before we read no more of it.
const mostUnsent = 2 ** 20;
// How long a client may take to answer a last PING, or to hang up.
const partingMs = 1000;
const parting = Buffer.from("farewell");

/** HTTP/2 on one socket, by RFC 9113; nothing that comes in is thrown out of it. */
export class Connection {
  readonly #parts: ConnectionParts<ConnectionLimits>;
  readonly #reader = new FrameReader((frame) => this.#frame(frame));
  readonly #outbox: Outbox;
  readonly #sender: Sender;
  readonly #streams: Streams;
  readonly #fields: HeaderFrames;
  readonly #settings = new Allowance(100, 100);
  readonly #idle: NodeJS.Timeout;
  #patience: NodeJS.Timeout | undefined;
  #parting: NodeJS.Timeout | undefined;
  #prefaced = 0;
  #greeted = false;
  #state: "open" | "leaving" | "settled" | "over" = "open";

  constructor(parts: ConnectionParts<ConnectionLimits>) {
    const { socket, limits, serve, network } = parts;
    this.#parts = parts;
    this.#outbox = new Outbox(socket, (error) => this.#break(error));
    this.#sender = new Sender(this.#outbox, limits.bodyTimeoutMs, () => this.destroy());
    const idle = () => this.#rest();
    this.#streams = new Streams({ limits, serve, idle, network, outbox: this.#outbox, sender: this.#sender });
    this.#fields = new HeaderFrames(this.#streams, limits.headersMaxBytes);
    this.#idle = setTimeout(() => this.#streams.size === 0 && this.close(), limits.idleTimeoutMs);
    this.#wait(false);
    socket.on("data", (chunk: Buffer) => this.#guarded(() => this.#read(chunk)));
    socket.on("drain", () => this.#guarded(() => this.#drained()));
    socket.on("error", ignore).on("close", () => this.#guarded(() => this.#gone()));
    socket.on("end", () => this.destroy());
    const { streamsMax, headersMaxBytes } = limits;
    writeSettings(this.#outbox, { streams: streamsMax, window: firstWindow, headerBytes: headersMaxBytes });
    this.#streams.greet();
    socket.resume();
  }

  /** Whether it has begun a call. */
  get used(): boolean {
    return this.#streams.last > 0;
  }

  /** Lets what runs finish, and takes nothing new: RFC 9113, 6.8. */
  close(): void {
    if (this.#state !== "open") return;
    this.#state = "leaving";
    // What the client has sent until it knows is served too: its answer to the PING comes after that.
    this.#outbox.goaway(largest, codes.none);
    this.#outbox.ping(parting, flags.none);
    this.#parting = setTimeout(() => this.#guarded(() => this.#settle()), partingMs);
  }

  /** Ends when it may: what the client begins meanwhile is served by another connection. */
  retire(): void {
    this.close();
  }

  /** Its own timers look after it. */
  check(): void {}

  /** Cuts it off. */
  destroy(): void {
    this.#parts.socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#state === "over") return;
    const before = this.#reader.count;
    const rest = this.#prefaced < preface.length ? this.#preface(chunk) : chunk;
    this.#reader.read(rest);
    this.#wait(this.#reader.count > before);
    if (this.#parts.socket.writableLength > mostUnsent) this.#parts.socket.pause();
  }

  #preface(chunk: Buffer): Buffer {
    const part = chunk.subarray(0, preface.length - this.#prefaced);
    if (!part.equals(preface.subarray(this.#prefaced, this.#prefaced + part.length)))
      throw new ConnectionFault(codes.protocol, "no preface of HTTP/2");
    this.#prefaced += part.length;
    return chunk.subarray(part.length);
  }

  /** Bounds the time for the first SETTINGS, for a block of fields, and for a frame that is not complete. */
  #wait(moved: boolean): void {
    if (this.#state === "over") return;
    const waits = !this.#greeted || this.#fields.isWithin || this.#reader.isWithin;
    if (waits && !this.#patience)
      this.#patience = setTimeout(() => this.#lateness(), this.#parts.limits.headerTimeoutMs);
    else if (waits && moved && this.#greeted && !this.#fields.isWithin) this.#patience?.refresh();
    else if (!waits && this.#patience) {
      clearTimeout(this.#patience);
      this.#patience = undefined;
    }
  }

  #lateness(): void {
    this.#guarded(() => {
      throw new ConnectionFault(codes.calm, "a frame that does not come to its end");
    });
  }

  #frame(frame: Frame): void {
    if (this.#state === "over") return;
    const { type } = frame;
    if (!this.#greeted && (type !== types.settings || frame.has(flags.ack)))
      throw new ConnectionFault(codes.protocol, "something else than SETTINGS first");
    if (this.#fields.isWithin && type !== types.continuation)
      throw new ConnectionFault(codes.protocol, "something else than CONTINUATION within a block");
    switch (type) {
      case types.data:
        return void this.#streams.data(frame);
      case types.headers:
        return void this.#fields.begin(frame);
      case types.continuation:
        return void this.#fields.proceed(frame);
      case types.reset:
        return void this.#streams.reset(frame);
      case types.window:
        return void this.#streams.widen(frame);
      case types.priority:
        return void this.#streams.priority(frame);
      case types.push:
        throw new ConnectionFault(codes.protocol, "PUSH_PROMISE of a client");
      default:
        return void this.#own(frame);
    }
  }

  /** Frames about the connection itself, and those that nobody knows. */
  #own(frame: Frame): void {
    const { type, id, length } = frame;
    const known = type === types.settings || type === types.ping || type === types.goaway;
    if (!known) return void this.#streams.spend();
    if (id !== 0) throw new ConnectionFault(codes.protocol, "a stream where none belongs");
    if (type === types.settings) return void this.#obey(frame);
    if (type === types.ping && length !== 8) throw new ConnectionFault(codes.frameSize, "PING of an odd length");
    if (type === types.ping) return void this.#ping(frame);
    if (length < 8) throw new ConnectionFault(codes.frameSize, "GOAWAY of an odd length");
    // The client begins nothing new; what runs may end.
    if (this.#state === "open" || this.#state === "leaving") this.#settle();
  }

  #obey(frame: Frame): void {
    if (!this.#settings.spend()) throw calm("SETTINGS");
    this.#greeted = true;
    if (frame.has(flags.ack)) {
      if (frame.length > 0) throw new ConnectionFault(codes.frameSize, "an acknowledgement that says something");
      return;
    }
    readSettings(frame, {
      tableBytes: (bytes) => this.#sender.encoder.resize(bytes),
      window: (bytes) => this.#streams.resize(bytes),
    });
    const outbox = this.#outbox;
    outbox.reserve(frameHeaderBytes);
    outbox.close(outbox.open(types.settings, 0), flags.ack);
    // After the acknowledgement: it says that what follows goes by the new window.
    this.#sender.pump();
  }

  #ping(frame: Frame): void {
    this.#streams.spend();
    const payload = frame.bytes.subarray(frame.start, frame.end);
    if (!frame.has(flags.ack)) this.#outbox.ping(payload, flags.ack);
    else if (this.#state === "leaving" && payload.equals(parting)) this.#settle();
  }

  /** Says which request is the last, and ends when all are answered. */
  #settle(): void {
    if (this.#state === "settled" || this.#state === "over") return;
    this.#state = "settled";
    clearTimeout(this.#parting);
    this.#streams.close();
    this.#outbox.goaway(this.#streams.last, codes.none);
    if (this.#streams.size === 0) this.#end();
  }

  /** No stream is open. */
  #rest(): void {
    if (this.#state === "settled") this.#end();
    else if (this.#state !== "over") this.#idle.refresh();
  }

  #drained(): void {
    this.#outbox.choked = false;
    this.#parts.socket.resume();
    this.#sender.drained();
  }

  /** Sends what is left and hangs up; what still comes is read, or the client would lose our last words. */
  #end(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#stop();
    const { socket, limits } = this.#parts;
    this.#outbox.flush();
    // Our last words may take their time; the client, once it has them, may not.
    let cutting = setTimeout(() => socket.destroy(), limits.bodyTimeoutMs);
    socket.on("finish", () => {
      clearTimeout(cutting);
      cutting = setTimeout(() => socket.destroy(), partingMs);
    });
    socket.on("close", () => clearTimeout(cutting));
    socket.end();
    socket.resume();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#break(error);
    }
  }

  #break(error: unknown): void {
    const known = error instanceof ConnectionFault;
    const { told, socket } = this.#parts;
    try {
      if (!known) told(error);
      if (this.#state === "over") return;
      this.#outbox.goaway(this.#streams.last, known ? error.code : codes.internal, known ? error.message : "");
      this.#end();
      this.#streams.lose();
    } catch (again) {
      told(again);
      socket.destroy();
    }
  }

  #gone(): void {
    this.#state = "over";
    this.#stop();
    this.#streams.lose();
  }

  #stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#patience);
    clearTimeout(this.#parting);
    this.#sender.stop();
  }
}

// The end of the socket says the same, and always comes.
function ignore() {}
