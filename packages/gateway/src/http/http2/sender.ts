import type { Sent } from "../exchange.ts";
import { boundOf, Encoder } from "./hpack/encoder.ts";
import type { Outbox } from "./outbox.ts";
import {
  ConnectionFault,
  codes,
  firstWindow,
  flags,
  frameHeaderBytes,
  largest,
  mostFrameBytes,
  types,
} from "./protocol.ts";

/** An answer that is sent whole. */
export type Reply = {
  readonly status: number;
  readonly headers: Sent;
  readonly body?: Uint8Array | undefined;
  readonly trailers?: Sent | undefined;
};

/** Told what becomes of an answer. */
export type Sending = {
  /** The last of it is on its way. */
  readonly sent: () => void;
  /** Nothing waits any more. */
  readonly drained: () => void;
  /** The client has not let anything out for too long. */
  readonly stalled: () => void;
};

/** The answer on one stream, as far as it waits for the client's windows. */
export class Outgoing {
  readonly id: number;
  readonly owner: Sending;
  window: number;
  parts: Uint8Array[] = none;
  /** How many bytes wait. */
  bytes = 0;
  ends = false;
  trailers: Sent | undefined;
  since = 0;

  constructor(id: number, window: number, owner: Sending) {
    this.id = id;
    this.window = window;
    this.owner = owner;
  }
}

const none: Uint8Array[] = [];
// Larger ones are sent as they lie, which takes a piece of the write of their own.
const mostCopied = 8192;

/** Sends the answers of a connection within the windows of its client, in turns of a frame. */
export class Sender {
  readonly #outbox: Outbox;
  readonly #stallMs: number;
  readonly #stalled: () => void;
  readonly #waiting = new Set<Outgoing>();
  #watch: NodeJS.Timeout | undefined;
  #chokedAt = 0;
  readonly encoder = new Encoder();
  #window = firstWindow;
  /** The window of a stream that begins. */
  streamWindow = firstWindow;
  /** How many frames of DATA were sent, each of which its client may answer with wider windows. */
  frames = 0;

  /** `stalled` is called when the socket has taken nothing for so long. */
  constructor(outbox: Outbox, stallMs: number, stalled: () => void) {
    this.#outbox = outbox;
    this.#stallMs = stallMs;
    this.#stalled = stalled;
  }

  /** Sends an answer in one piece, if the windows let it; false when they do not. */
  whole(out: Outgoing, { status, headers, body, trailers }: Reply): boolean {
    const length = body ? body.length : 0;
    const free = length <= mostCopied && length <= out.window && length <= this.#window;
    if (!free || this.#waiting.size > 0 || this.#outbox.choked) return false;
    const outbox = this.#outbox;
    const rest = trailers ? frameHeaderBytes + boundOf(trailers) : 0;
    outbox.reserve(2 * frameHeaderBytes + boundOf(headers) + length + rest);
    this.#block({ id: out.id, status, fields: headers, last: length === 0 && !trailers });
    if (body && length > 0) {
      const start = outbox.open(types.data, out.id);
      outbox.copy(body);
      outbox.close(start, trailers ? flags.none : flags.endStream);
      this.#window -= length;
      out.window -= length;
      this.frames += 1;
    }
    if (trailers) this.#block({ id: out.id, fields: trailers, last: true });
    return true;
  }

  /** Sends the fields before a body. */
  head({ id }: Outgoing, { status, headers }: Reply, last: boolean): void {
    this.#outbox.reserve(frameHeaderBytes + boundOf(headers));
    this.#block({ id, status, fields: headers, last });
  }

  /** Sends a part of a body, now or when the windows let it. */
  write(out: Outgoing, part: Uint8Array): void {
    if (part.length === 0) return;
    if (out.parts === none) out.parts = [];
    out.parts.push(part);
    out.bytes += part.length;
    this.#await(out);
    this.pump();
  }

  /** Ends a body, after what waits of it. */
  end(out: Outgoing, trailers: Sent | undefined): void {
    out.ends = true;
    out.trailers = trailers;
    if (out.bytes === 0) this.#finish(out);
  }

  /** Forgets an answer that nobody wants any more. */
  drop(out: Outgoing): void {
    this.#waiting.delete(out);
    out.parts = none;
    out.bytes = 0;
  }

  /** Widens a window; false when it would become too wide. */
  widen(bytes: number, out?: Outgoing): boolean {
    const window = (out ? out.window : this.#window) + bytes;
    if (out) out.window = window;
    else this.#window = window;
    return window <= largest;
  }

  /** Sets the window that all streams begin with, which moves those of the ones that run: RFC 9113, 6.9.2. */
  resize(window: number, running: Iterable<Outgoing>): void {
    const more = window - this.streamWindow;
    this.streamWindow = window;
    for (const out of running)
      if (!this.widen(more, out)) throw new ConnectionFault(codes.flowControl, "a window that is too large");
  }

  /** Sends what waits, a frame of each answer in turn, as far as windows and socket take it. */
  pump(): void {
    // Whoever is added again is looked at again: so the answers take turns.
    for (const out of this.#waiting) {
      if (this.#outbox.choked || this.#window <= 0) break;
      if (out.window > 0) this.#portion(out);
    }
    this.#watchOver();
  }

  /** The socket takes more. */
  drained(): void {
    this.#chokedAt = 0;
    this.pump();
  }

  stop(): void {
    clearTimeout(this.#watch);
  }

  #portion(out: Outgoing): void {
    const [part] = out.parts;
    if (!part) return;
    const length = Math.min(part.length, mostFrameBytes, out.window, this.#window);
    const rest = part.length - length;
    if (rest > 0) out.parts[0] = part.subarray(length);
    else out.parts.shift();
    out.window -= length;
    out.bytes -= length;
    out.since = performance.now();
    this.#window -= length;
    this.#waiting.delete(out);
    if (out.bytes > 0) this.#waiting.add(out);
    const last = out.ends && out.bytes === 0 && !out.trailers;
    this.#data(out.id, length === part.length ? part : part.subarray(0, length), last);
    if (out.bytes > 0) return;
    if (!out.ends) return void out.owner.drained();
    if (out.trailers) this.#trailers(out);
    out.owner.sent();
  }

  #data(id: number, bytes: Uint8Array, last: boolean): void {
    const outbox = this.#outbox;
    const copied = bytes.length <= mostCopied;
    this.frames += 1;
    outbox.reserve(frameHeaderBytes + (copied ? bytes.length : 0));
    const start = outbox.open(types.data, id);
    if (copied) outbox.copy(bytes);
    outbox.close(start, last ? flags.endStream : flags.none, copied ? 0 : bytes.length);
    if (!copied) outbox.attach(bytes);
  }

  #finish(out: Outgoing): void {
    if (out.trailers) this.#trailers(out);
    else this.#data(out.id, empty, true);
    out.owner.sent();
  }

  #trailers({ id, trailers }: Outgoing): void {
    this.#outbox.reserve(frameHeaderBytes + boundOf(trailers));
    this.#block({ id, fields: trailers, last: true });
  }

  #block({ id, status, fields, last }: Fielded): void {
    const outbox = this.#outbox;
    const start = outbox.open(types.headers, id);
    try {
      if (status === undefined) this.encoder.begin(outbox);
      else this.encoder.status(status, outbox);
      this.encoder.fields(fields, outbox);
    } catch (error) {
      outbox.at = start;
      this.encoder.restart();
      throw error;
    }
    const end = last ? flags.endStream : flags.none;
    if (outbox.at - start - frameHeaderBytes > mostFrameBytes) this.#split(start, id, end);
    else outbox.close(start, flags.endHeaders | end);
  }

  /** A block that is too large for one frame goes on in others. */
  #split(start: number, id: number, end: number): void {
    const outbox = this.#outbox;
    const block = Buffer.from(outbox.bytes.subarray(start + frameHeaderBytes, outbox.at));
    outbox.at = start;
    for (let at = 0; at < block.length; at += mostFrameBytes) {
      const piece = block.subarray(at, at + mostFrameBytes);
      outbox.reserve(frameHeaderBytes + piece.length);
      const begun = outbox.open(at === 0 ? types.headers : types.continuation, id);
      outbox.copy(piece);
      const last = at + piece.length === block.length ? flags.endHeaders : flags.none;
      outbox.close(begun, last | (at === 0 ? end : flags.none));
    }
  }

  #await(out: Outgoing): void {
    if (this.#waiting.has(out)) return;
    out.since = performance.now();
    this.#waiting.add(out);
  }

  #watchOver(): void {
    if (this.#outbox.choked && this.#chokedAt === 0) this.#chokedAt = performance.now();
    if (this.#watch || (this.#waiting.size === 0 && !this.#outbox.choked)) return;
    this.#watch = setTimeout(() => this.#look(), this.#stallMs);
  }

  #look(): void {
    this.#watch = undefined;
    const before = performance.now() - this.#stallMs;
    if (this.#outbox.choked && this.#chokedAt <= before) return void this.#stalled();
    for (const out of this.#waiting) if (out.since <= before) out.owner.stalled();
    this.#watchOver();
  }
}

type Fielded = {
  readonly id: number;
  readonly status?: number;
  readonly fields: Sent | undefined;
  readonly last: boolean;
};

const empty = new Uint8Array(0);
