import type { BodyAccount, Network } from "../body_budget.ts";
import { Allowance } from "./allowance.ts";
import { type Block, Blocks } from "./blocks.ts";
import type { Outbox } from "./outbox.ts";
import { ConnectionFault, codes, firstWindow, flags, largest } from "./protocol.ts";
import { type Frame, uint32 } from "./reader.ts";
import type { Sender } from "./sender.ts";
import { type Host, Stream } from "./stream.ts";

/** What bounds the streams of a connection. */
export type StreamLimits = {
  readonly streamsMax: number;
  readonly headersMaxBytes: number;
  readonly messageMaxBytes: number;
};

/** What streams are given by their connection. */
export type StreamsParts = {
  readonly limits: StreamLimits;
  readonly network: Network;
  readonly outbox: Outbox;
  readonly sender: Sender;
  readonly serve: (stream: Stream) => void;
  /** Called when the last stream is over. */
  readonly idle: () => void;
};

// A window that a whole message passes without waiting, and some of them at once. A stream has it once its body is read.
const widest = 16 * 2 ** 20;
const windowFor = (messageBytes: number) => Math.min(Math.max(messageBytes, firstWindow) + firstWindow, widest);
const windowsPerConnection = 4;

// Frames of which a client needs few, each second and at once; useful ones earn some more of them.
const chatter = { burst: 1000, perSecond: 1000, perRequest: 4, perData: 1, perAnswer: 2 };
// Resetting a request costs its sender nothing and us its work: CVE-2023-44487, and CVE-2025-8671 for being made to.
const resets = { burst: 200, perSecond: 20 };
const refusals = { burst: 2000, perSecond: 200 };
const mostRemembered = 1000;

/** The streams of a connection, and what its client says about them. */
export class Streams implements Host {
  readonly outbox: Outbox;
  readonly sender: Sender;
  readonly window: number;
  readonly chatter = new Allowance(chatter.burst, chatter.perSecond);
  readonly #resets = new Allowance(resets.burst, resets.perSecond);
  readonly #refusals = new Allowance(refusals.burst, refusals.perSecond);
  readonly #parts: StreamsParts;
  readonly #blocks: Blocks;
  readonly #open = new Map<number, Stream>();
  // Streams that we gave up while their clients may still send: what comes is dropped.
  readonly #abandoned = new Set<number>();
  /** The newest stream of the client. */
  last = 0;
  // The numbers that the client left out last.
  #gap = { from: 0, to: 0 };
  #mostServed = largest;
  readonly #widest: number;
  #window = firstWindow;
  #taken = 0;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
    this.outbox = parts.outbox;
    this.sender = parts.sender;
    this.window = windowFor(parts.limits.messageMaxBytes);
    this.#widest = this.window * windowsPerConnection;
    this.#blocks = new Blocks(parts.limits);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Lets the client send more than a connection begins with. */
  greet(): void {
    this.outbox.window(0, this.#widest - firstWindow);
    this.#window = this.#widest;
  }

  /** Serves nothing that begins from now on. */
  close(): void {
    this.#mostServed = this.last;
  }

  /** Everybody is gone. */
  lose(): void {
    for (const stream of [...this.#open.values()]) stream.lose();
  }

  /** Sets the window of all streams. */
  resize(window: number): void {
    this.sender.resize(
      window,
      Array.from(this.#open.values(), ({ outgoing }) => outgoing),
    );
  }

  account(): BodyAccount {
    return this.#parts.network.account();
  }

  taken(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < this.#widest / 2) return;
    this.outbox.window(0, this.#taken);
    this.#window += this.#taken;
    this.#taken = 0;
  }

  closed(stream: Stream, still: boolean): void {
    this.#open.delete(stream.id);
    if (still) this.#abandon(stream.id);
    if (this.#open.size === 0) this.#parts.idle();
  }

  /** Takes the fields of a request, or those after its body. */
  headers(id: number, ends: boolean, block: Block): void {
    const stream = this.#open.get(id);
    if (!stream && id > this.last) return void this.#begin(id, ends, block);
    const sound = this.#blocks.trailers(block);
    if (!stream) return void this.#late(id, ends);
    if (stream.ended) return void this.#fail(stream, codes.streamClosed);
    if (!ends || !sound || !stream.end()) this.#fail(stream, codes.protocol);
  }

  data(frame: Frame): void {
    const { id, length } = frame;
    if (id === 0 || id > this.last) throw unexpected("DATA");
    this.#window -= length;
    if (this.#window < 0) throw new ConnectionFault(codes.flowControl, "more DATA than the window lets in");
    const part = unpadded(frame);
    const ends = frame.has(flags.endStream);
    const stream = this.#open.get(id);
    // Padding is no payload: a frame of nothing else does nothing.
    const isEmpty = part.start === part.end && !ends;
    if (isEmpty) this.spend();
    if (!stream || stream.ended) {
      this.taken(length);
      if (stream) this.#fail(stream, codes.streamClosed);
      else this.#lateData(id, ends);
      return;
    }
    if (!isEmpty) this.chatter.earn(chatter.perData);
    const code = stream.data(frame.bytes.subarray(part.start, part.end), length, ends);
    if (code === codes.none) return;
    this.taken(length);
    this.#fail(stream, code);
  }

  reset({ id, length }: Frame): void {
    if (length !== 4) throw new ConnectionFault(codes.frameSize, "RST_STREAM of an odd length");
    if (id === 0 || id > this.last) throw unexpected("RST_STREAM");
    const stream = this.#open.get(id);
    if (!stream) return void this.spend();
    if (!this.#resets.spend()) throw calm("resets");
    stream.lose();
  }

  widen({ id, bytes, start, length }: Frame): void {
    if (length !== 4) throw new ConnectionFault(codes.frameSize, "WINDOW_UPDATE of an odd length");
    if (id > this.last) throw unexpected("WINDOW_UPDATE");
    this.chatter.earn(chatter.perAnswer * this.sender.frames);
    this.sender.frames = 0;
    this.spend();
    const more = uint32(bytes, start) & 0x7fffffff;
    const stream = this.#open.get(id);
    if (id !== 0 && !stream) return;
    const wide = this.sender.widen(more, stream?.outgoing);
    if (stream && (more === 0 || !wide)) return void this.#fail(stream, wide ? codes.protocol : codes.flowControl);
    if (more === 0) throw new ConnectionFault(codes.protocol, "WINDOW_UPDATE by nothing");
    if (!wide) throw new ConnectionFault(codes.flowControl, "a window that is too large");
    this.sender.pump();
  }

  /** Nobody here goes by priorities, which RFC 9113 gave up. */
  priority({ id, bytes, start, length }: Frame): void {
    if (length !== 5) throw new ConnectionFault(codes.frameSize, "PRIORITY of an odd length");
    if (id === 0) throw unexpected("PRIORITY");
    refuseCircle(id, bytes, start);
    this.spend();
  }

  /** Counts a frame that costs its sender nothing. */
  spend(): void {
    if (!this.chatter.spend()) throw calm("frames that do nothing");
  }

  #begin(id: number, ends: boolean, block: Block): void {
    if (id !== this.last + 2) this.#gap = { from: this.last + 1, to: id - 1 };
    this.last = id;
    const head = this.#blocks.request(block);
    if (id > this.#mostServed) return void this.#abandon(id);
    if (!head || (ends && head.length)) return void this.#refuse(id, ends, codes.protocol);
    if (this.#open.size >= this.#parts.limits.streamsMax) return void this.#refuse(id, ends, codes.refused);
    this.chatter.earn(chatter.perRequest);
    const stream = new Stream({ id, head, ended: ends }, this);
    this.#open.set(id, stream);
    this.#parts.serve(stream);
  }

  #refuse(id: number, ends: boolean, code: number): void {
    const allowed = code === codes.refused ? this.#refusals : this.#resets;
    if (!allowed.spend()) throw calm("requests that cannot be served");
    this.outbox.reset(id, code);
    if (!ends) this.#abandon(id);
  }

  /** Ends a stream for what its client did with it. */
  #fail(stream: Stream, code: number): void {
    if (!this.#resets.spend()) throw calm("broken streams");
    if (!stream.closed) stream.close(code);
  }

  /** Fields came for a stream that is over. */
  #late(id: number, ends: boolean): void {
    this.spend();
    if (this.#abandoned.has(id)) {
      if (ends) this.#abandoned.delete(id);
      return;
    }
    const skipped = id >= this.#gap.from && id <= this.#gap.to;
    throw new ConnectionFault(skipped ? codes.protocol : codes.streamClosed, "HEADERS for a stream that is closed");
  }

  #lateData(id: number, ends: boolean): void {
    if (!this.#abandoned.has(id)) {
      this.spend();
      this.outbox.reset(id, codes.streamClosed);
    } else if (ends) this.#abandoned.delete(id);
  }

  #abandon(id: number): void {
    this.#abandoned.add(id);
    if (this.#abandoned.size <= mostRemembered) return;
    const [oldest = id] = this.#abandoned;
    this.#abandoned.delete(oldest);
  }
}

/** A payload without its padding. */
export function unpadded(frame: Frame): { start: number; end: number } {
  if (!frame.has(flags.padded)) return frame;
  const { bytes, start, end } = frame;
  const padding = bytes[start] ?? 0;
  if (padding >= end - start) throw new ConnectionFault(codes.protocol, "padding that is longer than its frame");
  return { start: start + 1, end: end - padding };
}

/** Refuses a stream that depends on itself. */
export function refuseCircle(id: number, bytes: Buffer, at: number): void {
  if ((uint32(bytes, at) & 0x7fffffff) === id)
    throw new ConnectionFault(codes.protocol, "a stream that depends on itself");
}

/** A client does too much of what costs it nothing. */
export const calm = (what: string) => new ConnectionFault(codes.calm, `too many ${what}`);

const unexpected = (name: string) => new ConnectionFault(codes.protocol, `${name} where there is no such stream`);
