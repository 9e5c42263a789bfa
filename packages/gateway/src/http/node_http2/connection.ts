import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { ConnectionOptions } from "../exchange.ts";
import type { Http2Limits } from "../http2/connection.ts";
import { HeadBuilder } from "../http2/head.ts";
import { entrySize } from "../http2/hpack/static_table.ts";
import { drainTimeoutMs, fieldBlockMaxBytes, streamWindowFor, streamWindowsPerConnection } from "../http2/limits.ts";
import { ConnectionError, ErrorCode, FrameType, initialWindowSize } from "../http2/rfc9113.ts";
import { NodeHttp2Exchange } from "./exchange.ts";
import { FloodGuard } from "./flood_guard.ts";
import { FrameGate } from "./frame_gate.ts";

/** The server side of HTTP/2 on one socket using `node:http2`, with our own limits and field rules. */
export class NodeHttp2Connection {
  readonly #options: ConnectionOptions<Http2Limits>;
  readonly #guard: FloodGuard;
  readonly #gate: FrameGate;
  readonly #session: ServerHttp2Session;
  readonly #exchanges = new Set<NodeHttp2Exchange>();
  readonly #idleTimer: NodeJS.Timeout;
  #readTimer: NodeJS.Timeout | undefined;
  #framesSeen = 0;
  #drainTimer: NodeJS.Timeout | undefined;
  #state: "open" | "draining" | "closed" = "open";
  /** Whether a stream was ever opened. */
  used = false;

  constructor(options: ConnectionOptions<Http2Limits>) {
    const { socket, limits } = options;
    this.#options = options;
    const guard = new FloodGuard(limits, () => process.nextTick(() => this.#session.close()));
    this.#guard = guard;
    const events = {
      received: guard.received.bind(guard),
      fragment: guard.fragment.bind(guard),
      sent: guard.sent.bind(guard),
      read: () => this.#updateReadTimer(),
      // A session must not be destroyed while it is writing.
      refused: (error: unknown) => process.nextTick(() => this.#fault(error)),
    };
    this.#gate = new FrameGate({ socket, writeTimeoutMs: limits.bodyTimeoutMs, events });
    this.#idleTimer = setTimeout(() => this.#exchanges.size === 0 && this.close(), limits.idleTimeoutMs);
    this.#updateReadTimer();
    socket.on("error", ignore);
    this.#session = this.#open(limits);
  }

  /** Lets open streams finish, and takes no new ones: RFC 9113, 6.8. */
  close(): void {
    if (this.#state !== "open" || this.#session.destroyed) return;
    this.#state = "draining";
    const session = this.#session;
    // Streams that the client opens before it sees this GOAWAY are served: its response to the PING comes after them.
    this.#gate.insert(shutdownNotice);
    // Streams that Node has read by then are not announced yet, and would be refused.
    session.ping(Buffer.from("draining"), () => setImmediate(() => this.#lastGoaway()));
    this.#drainTimer = setTimeout(() => this.#lastGoaway(), drainTimeoutMs);
  }

  /** Ends the connection gracefully; the client opens another one for new requests. */
  retire(): void {
    this.close();
  }

  /** Resets responses, and destroys connections, that make no progress. */
  check(now: number): void {
    if (this.#gate.isStalled(now)) return void this.destroy();
    const time = now - this.#options.limits.bodyTimeoutMs;
    for (const exchange of this.#exchanges) if (exchange.isStalledSince(time)) exchange.reset(ErrorCode.CANCEL);
  }

  /** Destroys the socket. */
  destroy(): void {
    this.#options.socket.destroy();
  }

  #open({ streamsMax, headersMaxBytes, messageMaxBytes }: Http2Limits): ServerHttp2Session {
    const maxHeaderListSize = fieldBlockMaxBytes(headersMaxBytes);
    // Loaded only here: a node that uses our own HTTP/2 never needs it.
    const { performServerHandshake } = process.getBuiltinModule("node:http2");
    const session = performServerHandshake(this.#gate, {
      // If a field list is larger, Node resets the stream without a response. The setting is therefore as large as what we decode, and we
      // respond.
      settings: { maxConcurrentStreams: streamsMax, initialWindowSize, maxHeaderListSize },
      maxHeaderListPairs: Math.ceil(maxHeaderListSize / entrySize("", "")),
    });
    sayWhy(session);
    session.on("error", ignore).on("close", () => this.#closed());
    session.on("stream", (stream, _headers, _flags, raw) => this.#guarded(() => this.#stream(stream, raw)));
    session.setLocalWindowSize(streamWindowFor(messageMaxBytes) * streamWindowsPerConnection);
    return session;
  }

  #stream(stream: ServerHttp2Stream, raw: readonly string[]): void {
    const { clientOf, serve } = this.#options;
    const record = this.#guard.record(stream.id ?? 0);
    stream.on("error", ignore);
    // A frame after the request may already have reset the stream.
    if (stream.destroyed || stream.closed) return;
    if (!record) return void stream.close(ErrorCode.CANCEL);
    const head = this.#block(raw, record.fields.head)?.request();
    if (!head) return void stream.close(ErrorCode.PROTOCOL_ERROR);
    this.used = true;
    const guarded = this.#guarded.bind(this);
    const closed = this.#exchangeClosed.bind(this);
    const exchange = new NodeHttp2Exchange({ stream, head, record, client: clientOf(head.fields), guarded, closed });
    this.#exchanges.add(exchange);
    // Node emits this before the "end" of the body.
    stream.on("trailers", (_fields, _flags, raw: readonly string[]) =>
      guarded(() => {
        if (!this.#block(raw, record.fields.trailers)?.areTrailers()) exchange.reset(ErrorCode.PROTOCOL_ERROR);
      }),
    );
    serve(exchange);
  }

  /** The fields of a block whose sender wrote `count` of them; undefined if Node omitted malformed ones. */
  #block(raw: readonly string[], count: number): HeadBuilder | undefined {
    if (raw.length !== 2 * count) return undefined;
    const builder = new HeadBuilder(this.#options.limits);
    for (let at = 0; at < raw.length; at += 2) builder.add(raw[at] ?? "", raw[at + 1] ?? "");
    return builder;
  }

  #exchangeClosed(exchange: NodeHttp2Exchange): void {
    this.#exchanges.delete(exchange);
    if (this.#exchanges.size === 0) this.#idleTimer.refresh();
  }

  /** Limits the time for the first SETTINGS, for a field block, and for an incomplete frame. */
  #updateReadTimer(): void {
    const hasProgress = this.#gate.count > this.#framesSeen;
    this.#framesSeen = this.#gate.count;
    const { hasSettings, isBlockIncomplete } = this.#guard;
    const isWaiting = !hasSettings || isBlockIncomplete || this.#gate.isIncomplete;
    if (isWaiting && !this.#readTimer && this.#state !== "closed")
      this.#readTimer = setTimeout(() => this.#readTimedOut(), this.#options.limits.headerTimeoutMs);
    // Every read of a busy connection may end within a frame.
    else if (isWaiting && hasProgress && hasSettings && !isBlockIncomplete) this.#readTimer?.refresh();
    if (isWaiting) return;
    clearTimeout(this.#readTimer);
    this.#readTimer = undefined;
  }

  #readTimedOut(): void {
    this.#fault(new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a frame or a field block took too long"));
  }

  /** Sends the GOAWAY that names the last stream; Node closes the connection once all streams have finished. */
  #lastGoaway(): void {
    clearTimeout(this.#drainTimer);
    if (this.#state === "draining" && !this.#session.closed) this.#session.close();
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
    if (!isOfClient) this.#options.onFault(error);
    const session = this.#session;
    if (session.destroyed) return;
    const code = isOfClient ? error.code : ErrorCode.INTERNAL_ERROR;
    session.goaway(code);
    // Node writes in the next phase of the event loop; frames sent by `destroy` itself would no longer leave.
    setImmediate(() => setImmediate(() => session.destroy(new ConnectionError(code, ""), code)));
  }

  #closed(): void {
    this.#state = "closed";
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#readTimer);
    clearTimeout(this.#drainTimer);
    for (const exchange of [...this.#exchanges]) exchange.abort();
  }
}

// A GOAWAY with the largest stream identifier: RFC 9113, 6.8. Node accepts no new streams once it has sent one itself.
const shutdownNotice = Buffer.from([0, 0, 8, FrameType.GOAWAY, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

// Node ends a session with INTERNAL_ERROR for anything that nghttp2 refuses without a GOAWAY of its own.
function sayWhy(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  const destroyByCode = (error?: Error, code?: number) => {
    const errno = error instanceof Error && "errno" in error ? Number(error.errno) : 0;
    destroy(error, clientErrors.get(errno) ?? code);
  };
  session.destroy = destroyByCode;
}

// nghttp2's errors PROTO (for example for DATA beyond the content-length), BAD_CLIENT_MAGIC, FLOODED and TOO_MANY_CONTINUATIONS.
const clientErrors: ReadonlyMap<number, number> = new Map([
  [-505, ErrorCode.PROTOCOL_ERROR],
  [-903, ErrorCode.PROTOCOL_ERROR],
  [-904, ErrorCode.ENHANCE_YOUR_CALM],
  [-905, ErrorCode.ENHANCE_YOUR_CALM],
]);

// "close" always follows.
function ignore() {}
