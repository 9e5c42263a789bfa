import type { ConnectionParts, Flaw, Timeouts } from "../exchange.ts";
import { type BodyReader, bodyReader } from "./body.ts";
import { type Host, Http1Exchange } from "./exchange.ts";
import { type Head, readHead, type Unreadable } from "./head.ts";

/** What bounds a connection. */
export type ConnectionLimits = Timeouts & { readonly headersMaxBytes: number };

const nothing = Buffer.alloc(0);
const blank = Buffer.from("\r\n\r\n");
// What a client may send ahead of its answers before we read no more of it.
const mostAhead = 65_536;
// How long a client may take to hang up.
const partingMs = 1000;
const broken: Head = {
  ...{ method: "", target: "", headers: {}, body: 0, keeps: false, chunks: false, expects: false },
};

/** HTTP/1.1 on one socket, by RFC 9112: one request after the other; nothing that comes in is thrown out of it. */
export class Http1Connection implements Host {
  readonly keeping: string;
  readonly #parts: ConnectionParts<ConnectionLimits>;
  #waiting: Buffer = nothing;
  #running: Http1Exchange | undefined;
  #body: BodyReader | undefined;
  #lastText = "";
  #lastHead: Head | Unreadable = { flaw: "MALFORMED_REQUEST", headers: {} };
  #state: "open" | "leaving" | "over" = "open";
  #looping = false;
  #isHeld = false;
  #isPaused = false;
  #due: number;
  #sent = 0;
  #unsent = { sent: 0, since: 0 };
  #drained: (() => void)[] = [];
  /** Whether it has begun a call. */
  used = false;

  constructor(parts: ConnectionParts<ConnectionLimits>) {
    this.#parts = parts;
    const { socket, limits } = parts;
    this.keeping = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(limits.idleTimeoutMs / 1000)}\r\n`;
    this.#due = performance.now() + limits.headerTimeoutMs;
    socket.on("data", (chunk: Buffer) => this.#guarded(() => this.#read(chunk)));
    socket.on("drain", () => this.#guarded(() => this.#flow()));
    socket.on("error", ignore).on("close", () => this.#guarded(() => this.#gone()));
    socket.on("end", () => this.#guarded(() => this.#left()));
    socket.resume();
  }

  get leaving(): boolean {
    return this.#state !== "open";
  }

  /** Answers what runs, and takes nothing new. */
  close(): void {
    this.retire();
    if (!this.#running && this.#waiting.length === 0) this.#hangUp();
  }

  /** Ends after the next answer. */
  retire(): void {
    if (this.#state === "open") this.#state = "leaving";
  }

  /** Cuts the connection; what has come of it is not read any more. */
  destroy(): void {
    this.#over();
    this.#parts.socket.destroy();
  }

  /** Ends what has taken too long. */
  check(now: number): void {
    this.#guarded(() => {
      if (this.#isStuck(now)) return this.destroy();
      if (now < this.#due || this.#state === "over") return;
      this.#due = Number.POSITIVE_INFINITY;
      if (!this.#running && this.#waiting.length === 0) this.#hangUp();
      else this.#refuse("DEADLINE_EXCEEDED");
    });
  }

  send(bytes: string | Uint8Array): boolean {
    const { socket } = this.#parts;
    this.#sent += 1;
    return !socket.writable || socket.write(bytes);
  }

  drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#parts.socket.destroyed) resolve();
    else this.#drained.push(resolve);
    return promise;
  }

  hold(): void {
    this.#isHeld = true;
    this.#listen();
  }

  release(): void {
    this.#isHeld = false;
    this.#listen();
  }

  answered(keeps: boolean): void {
    if (!keeps) this.retire();
    this.#guarded(() => this.#proceed());
  }

  #read(chunk: Buffer): void {
    if (this.#state === "over") return;
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    this.#proceed();
  }

  /** Goes on with what has come, as far as it can: an answer may be complete while its request is being read. */
  #proceed(): void {
    if (this.#looping) return;
    this.#looping = true;
    try {
      while (this.#step());
    } finally {
      this.#looping = false;
    }
    this.#listen();
  }

  /** Reads no more of a client that is ahead of its answers, or does not read them. */
  #listen(): void {
    const { socket } = this.#parts;
    const pause =
      this.#state !== "over" && (this.#isHeld || socket.writableNeedDrain || this.#waiting.length > mostAhead);
    if (pause === this.#isPaused) return;
    this.#isPaused = pause;
    if (pause) socket.pause();
    else socket.resume();
  }

  /** Whether there is more to do at once. */
  #step(): boolean {
    if (this.#state === "over") return false;
    const running = this.#running;
    if (running?.complete && this.#state === "leaving") {
      this.#hangUp();
      return false;
    }
    if (running && this.#body) return this.#readBody(running, this.#body);
    if (running && !running.closed) return false;
    if (running) this.#rest();
    if (this.#waiting.length > 0) return this.#readHead();
    if (this.leaving) this.#hangUp();
    return false;
  }

  #rest(): void {
    this.#running = undefined;
    this.#due = performance.now() + this.#parts.limits.idleTimeoutMs;
  }

  #readBody(running: Http1Exchange, body: BodyReader): boolean {
    if (this.#waiting.length === 0) return false;
    const read = body(this.#waiting, 0, (part) => running.data(part));
    // The answer to the part before may have ended everything.
    if (this.#state === "over") return false;
    if (!read) {
      this.#refuse("MALFORMED_REQUEST");
      return true;
    }
    this.#waiting = this.#waiting.subarray(read.at);
    if (!read.ended) return false;
    this.#body = undefined;
    this.#due = Number.POSITIVE_INFINITY;
    running.end();
    return true;
  }

  #readHead(): boolean {
    const { headersMaxBytes, headerTimeoutMs } = this.#parts.limits;
    const bytes = this.#waiting;
    // RFC 9112, 2.2: an empty line before a request is overlooked.
    const start = bytes[0] === 0x0d && bytes[1] === 0x0a ? 2 : 0;
    const first = bytes[start] ?? 0x41;
    // The first byte of TLS, for one, is waited on by somebody who will send no head.
    if ((first < 0x21 || first > 0x7e) && !(first === 0x0d && bytes.length === 1)) {
      this.#refuse("MALFORMED_REQUEST");
      return true;
    }
    const end = bytes.indexOf(blank, start);
    if ((end < 0 ? bytes.length : end) - start > headersMaxBytes) {
      this.#refuse("HEADERS_TOO_LARGE");
      return true;
    }
    if (end < 0) {
      // Counted from the first byte, not from the last.
      this.#due = Math.min(this.#due, performance.now() + headerTimeoutMs);
      return false;
    }
    this.#waiting = bytes.subarray(end + blank.length);
    this.#begin(this.#headOf(bytes.toString("latin1", start, end)));
    return true;
  }

  /** Most clients say the same again and again. */
  #headOf(text: string): Head | Unreadable {
    if (text === this.#lastText) return this.#lastHead;
    this.#lastHead = readHead(text);
    this.#lastText = text;
    return this.#lastHead;
  }

  #begin(head: Head | Unreadable): void {
    if ("flaw" in head) return void this.#refuse(head.flaw, head.headers);
    this.used = true;
    this.#body = head.body === 0 ? undefined : bodyReader(head);
    this.#due = this.#body ? performance.now() + this.#parts.limits.bodyTimeoutMs : Number.POSITIVE_INFINITY;
    this.#running = new Http1Exchange(this, head, this.#parts.network.account());
    this.#parts.serve(this.#running);
  }

  /** Answers what cannot be read, and hangs up; where an answer is complete or on its way already, only the latter. */
  #refuse(flaw: Flaw, headers: Head["headers"] = {}): void {
    const running = this.#running;
    if (running?.complete) return void this.#hangUp();
    if (running?.begun) return void this.destroy();
    running?.lose();
    this.retire();
    this.#body = undefined;
    this.#waiting = nothing;
    this.#due = Number.POSITIVE_INFINITY;
    this.#running = new Http1Exchange(this, { ...broken, headers }, this.#parts.network.account(), flaw);
    this.#parts.serve(this.#running);
  }

  /** Who says no more is gone, for all that anybody can tell: work for it may stop. */
  #left(): void {
    if (this.#running?.closed === false) this.destroy();
    else this.#hangUp();
  }

  #flow(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
    this.#listen();
  }

  /** Whether the client has taken nothing of what it asked for, for too long. */
  #isStuck(now: number): boolean {
    const { writableLength } = this.#parts.socket;
    if (writableLength === 0 || this.#sent !== this.#unsent.sent) this.#unsent = { sent: this.#sent, since: now };
    return writableLength > 0 && now - this.#unsent.since > this.#parts.limits.bodyTimeoutMs;
  }

  /** Hangs up; what still comes is read, or the client would lose our last words. */
  #hangUp(): void {
    if (this.#state === "over") return;
    this.#over();
    const { socket } = this.#parts;
    // Our last words may take their time; the client, once it has them, may not.
    socket.on("finish", () => {
      const cutting = setTimeout(() => socket.destroy(), partingMs);
      socket.on("close", () => clearTimeout(cutting));
    });
    socket.end();
    socket.resume();
  }

  /** Nothing more is read: bytes or a body left behind would be tried again for ever. */
  #over(): void {
    this.#state = "over";
    this.#waiting = nothing;
    this.#body = undefined;
  }

  #gone(): void {
    this.#over();
    for (const resolve of this.#drained.splice(0)) resolve();
    this.#running?.lose();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#parts.onFault(error);
      this.destroy();
    }
  }
}

// The end of the socket says the same, and always comes.
function ignore() {}
