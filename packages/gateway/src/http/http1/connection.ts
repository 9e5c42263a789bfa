import type { ConnectionOptions, RequestFault, Timeouts } from "../exchange.ts";
import { BodyPieces } from "./body_pieces.ts";
import { type ConnectionHandle, Http1Exchange } from "./exchange.ts";
import { type Head, type HeadFault, readHead } from "./head.ts";
import { LastHead } from "./last_head.ts";
import type { OpenParser, ParsedRequest, Parser, Reader } from "./parser.ts";

/** Limits of a connection. */
export type Http1Limits = Timeouts & { readonly headersMaxBytes: number };

const noBytes = Buffer.alloc(0);
const emptyLine = Buffer.from("\r\n\r\n");
// The number of bytes that a client may send ahead of its responses before we stop reading.
const maxPipelinedBytes = 65_536;
// Time for the client to close its side.
const closeTimeoutMs = 1000;
const unreadableHead: Head = {
  method: "",
  target: "",
  headers: {},
  body: 0,
  keepsAlive: false,
  allowsChunks: false,
  expectsContinue: false,
};

/** The server side of HTTP/1.1 on one socket: RFC 9112. Nothing that a client sends makes it throw. */
export class Http1Connection implements ConnectionHandle, Reader {
  readonly keepAliveHeaders: string;
  readonly #options: ConnectionOptions<Http1Limits>;
  #unread: Buffer = noBytes;
  /** The head being parsed, and the number of bytes of the body that are parsed with it. */
  #head: Buffer = noBytes;
  #repeatedHead: Head | undefined;
  #ahead = 0;
  readonly #lastHead = new LastHead();
  #exchange: Http1Exchange | undefined;
  readonly #parse: Parser;
  readonly #body = new BodyPieces();
  #request: ParsedRequest | undefined;
  #state: "open" | "closing" | "closed" = "open";
  #isStepping = false;
  #isPaused = false;
  #isCorked = false;
  /** The time since which nothing has been read because the client is ahead of the running request's response. */
  #aheadSince = Number.POSITIVE_INFINITY;
  #deadline: number;
  /** Bytes that were written to the socket. */
  #sentBytes = 0;
  #progress = { takenBytes: 0, since: performance.now() };
  #drained: (() => void)[] = [];
  /** Whether a request was ever served. */
  used = false;

  constructor(options: ConnectionOptions<Http1Limits>, openParser: OpenParser) {
    this.#options = options;
    const { socket, limits } = options;
    this.keepAliveHeaders = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(limits.idleTimeoutMs / 1000)}\r\n`;
    this.#deadline = performance.now() + limits.headerTimeoutMs;
    this.#parse = openParser(socket, this);
    socket.on("data", (chunk: Buffer) => this.#guarded(() => this.#read(chunk)));
    socket.on("drain", () => this.#guarded(() => this.#drain()));
    socket.on("error", ignore).on("close", () => this.#guarded(() => this.#socketClosed()));
    socket.on("end", () => this.#guarded(() => this.#clientEnded()));
    socket.resume();
  }

  get closing(): boolean {
    return this.#state !== "open";
  }

  /** Finishes the running request, and takes no new ones. */
  close(): void {
    this.retire();
    if (!this.#exchange && this.#unread.length === 0) this.#closeGracefully();
  }

  /** Closes the connection after the next response. */
  retire(): void {
    if (this.#state === "open") this.#state = "closing";
  }

  /** Destroys the socket; received but unread bytes are dropped. */
  destroy(): void {
    this.#stop();
    this.#options.socket.destroy();
  }

  /** Closes or refuses a connection whose client has taken too long. */
  check(now: number): void {
    this.#guarded(() => {
      if (this.#isStuck(now) || this.#isTooLongAhead(now)) return this.destroy();
      if (now < this.#deadline || this.#state === "closed") return;
      this.#deadline = Number.POSITIVE_INFINITY;
      if (!this.#exchange && this.#unread.length === 0) this.#closeGracefully();
      else this.#refuse("DEADLINE_EXCEEDED");
    });
  }

  send(bytes: string | Uint8Array): boolean {
    const { socket } = this.#options;
    if (!socket.writable) return true;
    const length = Buffer.byteLength(bytes);
    this.#sentBytes += length;
    // Most responses are pure ASCII, which needs no encoder.
    const isAscii = typeof bytes === "string" && length === bytes.length;
    return isAscii ? socket.write(bytes, "latin1") : socket.write(bytes);
  }

  gather(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#options.socket.cork();
    process.nextTick(uncork, this);
  }

  /** Writes the gathered bytes. */
  uncork(): void {
    this.#isCorked = false;
    this.#options.socket.uncork();
  }

  drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#options.socket.destroyed) resolve();
    else this.#drained.push(resolve);
    return promise;
  }

  pause(): void {
    this.#isPaused = true;
    this.#updateReading();
  }

  resume(): void {
    this.#isPaused = false;
    this.#updateReading();
  }

  responseSent(keepsAlive: boolean): void {
    if (!keepsAlive) this.retire();
    this.#guarded(() => this.#proceed());
  }

  head(request: ParsedRequest): void {
    // This head followed chunks in the same piece; clients repeat requests without a response (RFC 9112, 9.3.2).
    if (this.#exchange) return void this.retire();
    const head = this.#repeatedHead ?? readHead(request, this.#head);
    if ("fault" in head) return void this.#refuse(head.fault, head);
    if (!this.#repeatedHead) this.#lastHead.keep(this.#head, head);
    this.#request = request;
    if (head.body !== 0) request.reader = this;
    this.#begin(head);
  }

  data(part: Buffer): void {
    if (this.#body.admits(part)) this.#exchange?.data(part);
    else this.#refuse("MALFORMED_REQUEST");
  }

  end(): void {
    // If Upgrade is present and the parser does not recognize the coding as "chunked", for example before a tab, it finds no body, and what
    // follows would be read as the next request.
    if (this.#head.length > 0 && this.#body.isChunked) return void this.#refuse("MALFORMED_REQUEST");
    this.#body.end();
    this.#deadline = Number.POSITIVE_INFINITY;
    this.#exchange?.end();
  }

  failed(code: string): void {
    if (this.#state === "closed") return;
    this.#refuse(code === "HPE_HEADER_OVERFLOW" && !this.#exchange ? "HEADERS_TOO_LARGE" : "MALFORMED_REQUEST");
  }

  #read(chunk: Buffer): void {
    if (this.#state === "closed") return;
    this.#body.read();
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    this.#proceed();
  }

  /** Reads as far as possible. Not reentrant: a response may be complete while its request is still being read. */
  #proceed(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      while (this.#step());
    } finally {
      this.#isStepping = false;
    }
    this.#updateReading();
  }

  /** Stops reading while the client is far ahead of its responses, or does not read them. */
  #updateReading(): void {
    const { socket } = this.#options;
    const isAhead = this.#unread.length > maxPipelinedBytes;
    if (!isAhead) this.#aheadSince = Number.POSITIVE_INFINITY;
    else if (this.#aheadSince === Number.POSITIVE_INFINITY) this.#aheadSince = performance.now();
    const pause = this.#state !== "closed" && (this.#isPaused || socket.writableNeedDrain || isAhead);
    // The parser itself resumes the socket when a request is complete.
    if (pause === socket.isPaused()) return;
    if (pause) socket.pause();
    else socket.resume();
  }

  /** Does one step; false if there is nothing more to do at the moment. */
  #step(): boolean {
    if (this.#state === "closed") return false;
    const exchange = this.#exchange;
    if (exchange?.complete && this.#state === "closing") {
      this.#closeGracefully();
      return false;
    }
    if (exchange && this.#body.isOpen) return this.#readBody();
    if (exchange && !exchange.closed) return false;
    if (exchange) this.#finishRequest();
    if (this.#unread.length > 0) return this.#readHead();
    if (this.closing) this.#closeGracefully();
    return false;
  }

  #finishRequest(): void {
    this.#exchange = undefined;
    this.#request = undefined;
    this.#deadline = performance.now() + this.#options.limits.idleTimeoutMs;
  }

  #readBody(): boolean {
    const bytes = this.#unread;
    const size = this.#body.take(bytes);
    if (size === 0) return false;
    this.#unread = bytes.subarray(size);
    this.#parse(bytes.subarray(0, size));
    return true;
  }

  #readHead(): boolean {
    const { headersMaxBytes, headerTimeoutMs } = this.#options.limits;
    const bytes = this.#unread;
    // RFC 9112, 2.2: an empty line before a request is ignored.
    const start = bytes[0] === 0x0d && bytes[1] === 0x0a ? 2 : 0;
    const first = bytes[start] ?? 0x41;
    // A client that speaks another protocol, such as TLS, never sends a head, so it is refused at its first byte.
    if ((first < 0x21 || first > 0x7e) && !(first === 0x0d && bytes.length === 1)) {
      this.#refuse("MALFORMED_REQUEST");
      return true;
    }
    this.#repeatedHead = this.#lastHead.at(bytes, start);
    const end = this.#repeatedHead ? start + this.#lastHead.length - emptyLine.length : bytes.indexOf(emptyLine, start);
    if ((end < 0 ? bytes.length : end) - start > headersMaxBytes) {
      this.#refuse("HEADERS_TOO_LARGE");
      return true;
    }
    if (end < 0) {
      // The time for a head starts at its first byte, not at its last.
      this.#deadline = Math.min(this.#deadline, performance.now() + headerTimeoutMs);
      return false;
    }
    this.#parseHead(start, end + emptyLine.length);
    return true;
  }

  /** Parses a head. For a repeated one whose body length is known, also takes the bytes of the body that have arrived. */
  #parseHead(start: number, end: number): void {
    const bytes = this.#unread;
    const known = this.#repeatedHead;
    const body = known && known.body !== "chunked" ? known.body : 0;
    this.#ahead = Math.min(body, bytes.length - end);
    const next = end + this.#ahead;
    this.#unread = next === bytes.length ? noBytes : bytes.subarray(next);
    if (known && known.body === this.#ahead) return void this.#serveRepeated(known, bytes.subarray(end, next));
    this.#head = bytes.subarray(start, end);
    this.#parse(bytes.subarray(start, next));
    this.#head = noBytes;
    // The parser reported neither a request nor an error; without this, the connection would wait forever.
    if (!this.#exchange && this.#state !== "closed") this.#refuse("MALFORMED_REQUEST");
  }

  /** Serves a complete request whose head is byte for byte one that was parsed before. */
  #serveRepeated(head: Head, body: Buffer): void {
    this.#begin(head);
    if (body.length === 0) return;
    this.#exchange?.data(body);
    this.#exchange?.end();
  }

  #begin(head: Head): void {
    this.used = true;
    this.#aheadSince = Number.POSITIVE_INFINITY;
    this.#body.begin(head.body, this.#ahead);
    const { bodyTimeoutMs } = this.#options.limits;
    this.#deadline = this.#body.isOpen ? performance.now() + bodyTimeoutMs : Number.POSITIVE_INFINITY;
    this.#exchange = new Http1Exchange(this, head, this.#options.clientOf(head.headers));
    this.#options.serve(this.#exchange);
  }

  /** Refuses an unreadable request and closes; if a response is complete or has begun, only closes. */
  #refuse(fault: RequestFault, { headers = {}, header }: Partial<HeadFault> = {}): void {
    const exchange = this.#exchange;
    if (exchange?.complete) return void this.#closeGracefully();
    if (exchange?.begun) return void this.destroy();
    exchange?.discard();
    this.retire();
    if (this.#request) this.#request.reader = undefined;
    this.#body.end();
    this.#unread = noBytes;
    this.#deadline = Number.POSITIVE_INFINITY;
    const client = this.#options.clientOf(headers);
    this.#exchange = new Http1Exchange(this, { ...unreadableHead, headers }, client, { fault, header });
    this.#options.serve(this.#exchange);
  }

  /** The client ended its side. A client that disconnected looks the same, so a running call is aborted. */
  #clientEnded(): void {
    if (this.#exchange?.closed === false) this.destroy();
    else this.#closeGracefully();
  }

  #drain(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
    this.#updateReading();
  }

  /** Whether the client has read nothing of its response for too long. */
  #isStuck(now: number): boolean {
    const { writableLength } = this.#options.socket;
    // Not measured by the bytes sent: a stream's heartbeats continue whether or not its client reads them.
    const takenBytes = this.#sentBytes - writableLength;
    if (writableLength === 0 || takenBytes !== this.#progress.takenBytes) this.#progress = { takenBytes, since: now };
    return writableLength > 0 && now - this.#progress.since > this.#options.limits.bodyTimeoutMs;
  }

  /** A socket that is not being read does not report when its client leaves, so one that is ahead for too long is assumed gone. */
  #isTooLongAhead(now: number): boolean {
    return now - this.#aheadSince > this.#options.limits.bodyTimeoutMs;
  }

  /** Sends the rest and closes, while still reading: a reset because of unread bytes would make the client lose the final response. */
  #closeGracefully(): void {
    if (this.#state === "closed") return;
    this.#stop();
    const { socket } = this.#options;
    // The final response may take its time to send, but once the client has all of it, it must close.
    socket.on("finish", () => {
      const destroying = setTimeout(() => socket.destroy(), closeTimeoutMs);
      socket.on("close", () => clearTimeout(destroying));
    });
    socket.end();
    socket.resume();
  }

  /** Stops reading; unread bytes and the body are dropped, or `#proceed` would retry them forever. */
  #stop(): void {
    this.#state = "closed";
    if (this.#request) this.#request.reader = undefined;
    this.#request = undefined;
    this.#unread = noBytes;
    this.#aheadSince = Number.POSITIVE_INFINITY;
    this.#body.end();
  }

  #socketClosed(): void {
    this.#stop();
    for (const resolve of this.#drained.splice(0)) resolve();
    this.#exchange?.discard();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.onFault(error);
      this.destroy();
    }
  }
}

// "close" always follows.
function ignore() {}

const uncork = (connection: Http1Connection) => connection.uncork();
