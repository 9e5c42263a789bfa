import type { ConnectionParts, RequestFault, Timeouts } from "../exchange.ts";
import { BodyPieces } from "./body_pieces.ts";
import { type ConnectionHandle, Http1Exchange } from "./exchange.ts";
import { type Head, readHead } from "./head.ts";
import { LastHead } from "./last_head.ts";
import type { OpenParser, ParsedRequest, Parser, Reader } from "./parser.ts";

/** What bounds a connection. */
export type Http1Limits = Timeouts & { readonly headersMaxBytes: number };

const nothing = Buffer.alloc(0);
const blank = Buffer.from("\r\n\r\n");
// What a client may send ahead of its answers before we read no more of it.
const mostAhead = 65_536;
// How long a client may take to hang up.
const partingMs = 1000;
const broken: Head = {
  method: "",
  target: "",
  headers: {},
  body: 0,
  keeps: false,
  chunks: false,
  expects: false,
};

/** HTTP/1.1 on one socket, by RFC 9112: one request after the other; nothing that comes in is thrown out of it. */
export class Http1Connection implements ConnectionHandle, Reader {
  readonly keeping: string;
  readonly #parts: ConnectionParts<Http1Limits>;
  #waiting: Buffer = nothing;
  /** The head that is being parsed, and what of the body is parsed with it. */
  #head: Buffer = nothing;
  #known: Head | undefined;
  #ahead = 0;
  readonly #last = new LastHead();
  #running: Http1Exchange | undefined;
  readonly #parse: Parser;
  readonly #body = new BodyPieces();
  #request: ParsedRequest | undefined;
  #state: "open" | "leaving" | "over" = "open";
  #looping = false;
  #isHeld = false;
  #due: number;
  #sent = 0;
  #unsent = { sent: 0, since: 0 };
  #drained: (() => void)[] = [];
  /** Whether it has begun a call. */
  used = false;

  constructor(parts: ConnectionParts<Http1Limits>, openParser: OpenParser) {
    this.#parts = parts;
    const { socket, limits } = parts;
    this.keeping = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(limits.idleTimeoutMs / 1000)}\r\n`;
    this.#due = performance.now() + limits.headerTimeoutMs;
    this.#parse = openParser(socket, this);
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
    if (!socket.writable) return true;
    // Text of ASCII alone, which most answers are, needs no encoder.
    return typeof bytes === "string" && isAscii(bytes) ? socket.write(bytes, "latin1") : socket.write(bytes);
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

  head(request: ParsedRequest): void {
    // Behind chunks that were parsed in one piece; a client asks again what was not answered (RFC 9112, 9.3.2).
    if (this.#running) return void this.retire();
    const head = this.#known ?? readHead(request, this.#head);
    if ("fault" in head) return void this.#refuse(head.fault, head.headers);
    if (!this.#known) this.#last.keep(this.#head, head);
    this.#request = request;
    if (head.body !== 0) request.reader = this;
    this.#begin(head);
  }

  data(part: Buffer): void {
    if (this.#body.admits(part)) this.#running?.data(part);
    else this.#refuse("MALFORMED_REQUEST");
  }

  end(): void {
    this.#body.end();
    this.#due = Number.POSITIVE_INFINITY;
    this.#running?.end();
  }

  failed(code: string): void {
    if (this.#state === "over") return;
    this.#refuse(code === "HPE_HEADER_OVERFLOW" && !this.#running ? "HEADERS_TOO_LARGE" : "MALFORMED_REQUEST");
  }

  #read(chunk: Buffer): void {
    if (this.#state === "over") return;
    this.#body.read();
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
    // The parser resumes the socket by itself when a request is complete.
    if (pause === socket.isPaused()) return;
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
    if (running && this.#body.isOpen) return this.#readBody();
    if (running && !running.closed) return false;
    if (running) this.#rest();
    if (this.#waiting.length > 0) return this.#readHead();
    if (this.leaving) this.#hangUp();
    return false;
  }

  #rest(): void {
    this.#running = undefined;
    this.#request = undefined;
    this.#due = performance.now() + this.#parts.limits.idleTimeoutMs;
  }

  #readBody(): boolean {
    const bytes = this.#waiting;
    const size = this.#body.take(bytes);
    if (size === 0) return false;
    this.#waiting = bytes.subarray(size);
    this.#parse(bytes.subarray(0, size));
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
    this.#known = this.#last.at(bytes, start);
    const end = this.#known ? start + this.#last.length - blank.length : bytes.indexOf(blank, start);
    if ((end < 0 ? bytes.length : end) - start > headersMaxBytes) {
      this.#refuse("HEADERS_TOO_LARGE");
      return true;
    }
    if (end < 0) {
      // Counted from the first byte, not from the last.
      this.#due = Math.min(this.#due, performance.now() + headerTimeoutMs);
      return false;
    }
    this.#parseHead(start, end + blank.length);
    return true;
  }

  /** Parses a head, and with one that is known what is here of a body whose length is known as well. */
  #parseHead(start: number, end: number): void {
    const bytes = this.#waiting;
    const known = this.#known;
    const body = known && known.body !== "chunked" ? known.body : 0;
    this.#ahead = Math.min(body, bytes.length - end);
    const next = end + this.#ahead;
    this.#waiting = next === bytes.length ? nothing : bytes.subarray(next);
    if (known && known.body === this.#ahead) return void this.#again(known, bytes.subarray(end, next));
    this.#head = bytes.subarray(start, end);
    this.#parse(bytes.subarray(start, next));
    this.#head = nothing;
    // A head of which nothing came would be waited for.
    if (!this.#running && this.#state !== "over") this.#refuse("MALFORMED_REQUEST");
  }

  /** Serves a request that is here as a whole, of whose head the parser has read the very bytes before. */
  #again(head: Head, body: Buffer): void {
    this.#begin(head);
    if (body.length === 0) return;
    this.#running?.data(body);
    this.#running?.end();
  }

  #begin(head: Head): void {
    this.used = true;
    this.#body.begin(head.body, this.#ahead);
    const { bodyTimeoutMs } = this.#parts.limits;
    this.#due = this.#body.isOpen ? performance.now() + bodyTimeoutMs : Number.POSITIVE_INFINITY;
    this.#running = new Http1Exchange(this, head, this.#parts.network.account());
    this.#parts.serve(this.#running);
  }

  /** Answers what cannot be read, and hangs up; where an answer is complete or on its way already, only the latter. */
  #refuse(fault: RequestFault, headers: Head["headers"] = {}): void {
    const running = this.#running;
    if (running?.complete) return void this.#hangUp();
    if (running?.begun) return void this.destroy();
    running?.lose();
    this.retire();
    if (this.#request) this.#request.reader = undefined;
    this.#body.end();
    this.#waiting = nothing;
    this.#due = Number.POSITIVE_INFINITY;
    this.#running = new Http1Exchange(this, { ...broken, headers }, this.#parts.network.account(), fault);
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
    if (this.#request) this.#request.reader = undefined;
    this.#request = undefined;
    this.#waiting = nothing;
    this.#body.end();
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

const isAscii = (text: string) => Buffer.byteLength(text) === text.length;
