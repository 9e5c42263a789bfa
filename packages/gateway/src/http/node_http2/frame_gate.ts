import { Duplex } from "node:stream";
import { drainTimeoutMs, unsentMaxBytes } from "../http2/limits.ts";
import { FrameScanner, type ScannedFrame } from "./frame_scanner.ts";

/** Callbacks of a gate. */
export type GateEvents = {
  readonly received: (frame: ScannedFrame) => void;
  /** Bytes of a client's field block. */
  readonly fragment: (bytes: Uint8Array, start: number, end: number) => void;
  readonly sent: (frame: ScannedFrame) => void;
  /** One read of the socket has been scanned. */
  readonly read: () => void;
  /** An error thrown by `received`, `fragment` or `sent`; nothing more is read. */
  readonly refused: (error: unknown) => void;
};

/** The socket of a gate, and the time limit for one write to it. */
export type GateOptions = { readonly socket: Duplex; readonly writeTimeoutMs: number; readonly events: GateEvents };

/** Sits between a socket and Node's session, and reports every frame that passes, because Node reports few of them. */
export class FrameGate extends Duplex {
  readonly #socket: Duplex;
  readonly #writeTimeoutMs: number;
  readonly #events: GateEvents;
  readonly #incoming: FrameScanner;
  readonly #outgoing: FrameScanner;
  #isRefused = false;
  #writingSince = 0;
  #inserted: Buffer[] = [];

  constructor({ socket, writeTimeoutMs, events }: GateOptions) {
    super({ allowHalfOpen: true, autoDestroy: false });
    this.#socket = socket;
    this.#writeTimeoutMs = writeTimeoutMs;
    this.#events = events;
    this.#incoming = new FrameScanner("client", { frame: events.received, fragment: events.fragment });
    this.#outgoing = new FrameScanner("server", { frame: events.sent });
    socket.on("data", (chunk: Buffer) => this.#received(chunk));
    socket.on("end", () => socket.destroy()).on("close", () => this.destroy());
  }

  /** Whether the client's bytes end within a frame. */
  get isIncomplete(): boolean {
    return this.#incoming.isIncomplete;
  }

  /** The number of the client's frames begun so far. */
  get count(): number {
    return this.#incoming.count;
  }

  /** Whether the socket has accepted nothing for too long. */
  isStalled(now: number): boolean {
    return this.#writingSince > 0 && now - this.#writingSince > this.#writeTimeoutMs;
  }

  /** Sends a frame that Node does not know about, between two of Node's. */
  insert(frame: Buffer): void {
    this.#inserted.push(frame);
    this.#sendInserted();
  }

  override _read(): void {
    if (this.#socket.writableLength <= unsentMaxBytes) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (!this.#guarded(() => this.#outgoing.scan(chunk)) || !this.#socket.writable) return void done();
    this.#writingSince = performance.now();
    this.#socket.write(chunk, () => {
      this.#writingSince = 0;
      this.#socket.resume();
      done();
    });
    this.#sendInserted();
  }

  override _final(done: () => void): void {
    this.#close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#isRefused = true;
    this.#close();
    done(error);
  }

  #sendInserted(): void {
    if (!this.#outgoing.isBetweenFrames || !this.#socket.writable) return;
    for (const frame of this.#inserted.splice(0)) this.#socket.write(frame);
  }

  #received(chunk: Buffer): void {
    if (this.#isRefused || !this.#guarded(() => this.#incoming.scan(chunk))) return;
    if (!this.push(chunk) || this.#socket.writableLength > unsentMaxBytes) this.#socket.pause();
    this.#events.read();
  }

  /** Runs a function that may throw to refuse the connection; false once it is refused. */
  #guarded(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (this.#isRefused) return true;
      this.#isRefused = true;
      this.#events.refused(error);
      return false;
    }
  }

  /** Sends the rest and closes the socket, while still reading: a reset because of unread bytes would make the client lose our GOAWAY. */
  #close(): void {
    const socket = this.#socket;
    if (socket.destroyed || socket.writableEnded) return;
    let destroying = setTimeout(() => socket.destroy(), this.#writeTimeoutMs);
    socket.on("finish", () => {
      clearTimeout(destroying);
      destroying = setTimeout(() => socket.destroy(), drainTimeoutMs);
    });
    socket.on("close", () => clearTimeout(destroying));
    socket.end();
    socket.resume();
  }
}
