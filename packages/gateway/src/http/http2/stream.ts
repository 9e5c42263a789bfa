import { type BodyAccount, noRoom } from "../body_budget.ts";
import { BodyBuffer } from "../body_buffer.ts";
import { type Exchange, type Flaw, type Sent, type Sink, unread, type Whole } from "../exchange.ts";
import type { Fields, Head } from "./head.ts";
import type { Outbox } from "./outbox.ts";
import { codes, firstWindow } from "./protocol.ts";
import { Outgoing, type Sender } from "./sender.ts";

/** The connection, as its streams see it. */
export type Host = {
  readonly sender: Sender;
  readonly outbox: Outbox;
  /** The widest that the window of a request becomes. */
  readonly window: number;
  /** Counts what is held of a request. */
  readonly account: () => BodyAccount;
  /** Bytes of a request are taken, and more may come. */
  readonly taken: (bytes: number) => void;
  /** A stream is over; `still` says whether more of its request may be on its way. */
  readonly closed: (stream: Stream, still: boolean) => void;
};

type Opened = { readonly id: number; readonly head: Head; readonly ended: boolean };

/** One request with its answer. */
export class Stream implements Exchange {
  readonly version = "2";
  readonly id: number;
  readonly headers: Fields;
  readonly flaw: Flaw | undefined;
  /** Called once, when the answer is complete, or nobody waits for it any more. */
  onClose: (() => void) | undefined;
  /** Whether the request has come to its end. */
  ended: boolean;
  closed = false;
  /** Whether all of the answer was sent. */
  complete = false;
  readonly outgoing: Outgoing;
  readonly account: BodyAccount;
  readonly #host: Host;
  #begun = false;
  #missing: number | undefined;
  #window = firstWindow;
  // What the window is when nothing is on its way: the first one, until somebody reads the body.
  #granted = firstWindow;
  #due = 0;
  #sink: Sink | undefined;
  readonly #held: BodyBuffer;
  #isOverloaded = false;
  #wake: (() => void) | undefined;
  #drained: (() => void) | undefined;

  constructor({ id, head, ended }: Opened, host: Host) {
    this.id = id;
    this.headers = head.fields;
    // Its fields were too many or too large, and only some of them are here.
    this.flaw = head.tooLarge ? "HEADERS_TOO_LARGE" : undefined;
    this.ended = ended;
    this.#missing = head.length;
    this.#host = host;
    this.account = host.account();
    this.#held = new BodyBuffer(this.account);
    this.outgoing = new Outgoing(id, host.sender.streamWindow, this);
  }

  get method(): string {
    return this.headers[":method"] ?? "";
  }

  get target(): string {
    return this.headers[":path"] ?? "";
  }

  get authority(): string | undefined {
    return this.headers[":authority"] ?? this.headers.host;
  }

  /** Gives the body to a sink, as it comes; nothing more is given once the stream is closed. */
  receive(sink: Sink): void {
    this.#sink = sink;
    this.#proceed();
    if (this.#isOverloaded) sink.overloaded();
    else if (this.#held.length > 0) {
      this.#give(this.#held.length);
      sink.data(this.#held.take());
    }
    if (this.ended) this.#endSink();
  }

  /** The body in its parts, each let in as the one before is asked past; an error when it does not come to its end. */
  async *chunks(): AsyncGenerator<Buffer> {
    this.#proceed();
    while (true) {
      if (this.#isOverloaded) throw noRoom();
      if (this.#held.length > 0) {
        this.#give(this.#held.length);
        yield this.#held.take();
      } else if (this.ended) return;
      else if (this.closed) throw new Error("the request was given up");
      else await this.#arrival();
    }
  }

  /** Answers at once and whole. */
  answer({ status, headers, body: said, trailers }: Whole): void {
    if (this.closed || this.#begun) return;
    this.#begun = true;
    const body = typeof said === "string" ? Buffer.from(said) : said;
    const reply = { status, headers, body, trailers };
    if (this.#host.sender.whole(this.outgoing, reply)) return void this.sent();
    // The client may keep the answer waiting: a body that nobody has read by now must not be held meanwhile.
    if (!this.#sink) this.receive(unread);
    const bare = !body?.length && !trailers;
    this.#host.sender.head(this.outgoing, reply, bare);
    if (bare) return void this.sent();
    // Said first, so that the last part can say that it is the last.
    this.outgoing.ends = true;
    this.outgoing.trailers = trailers;
    if (body?.length) this.#host.sender.write(this.outgoing, body);
    else this.#host.sender.end(this.outgoing, trailers);
  }

  /** Begins an answer whose body comes in parts. */
  begin(status: number, headers: Sent): void {
    if (this.closed || this.#begun) return;
    this.#begun = true;
    this.#host.sender.head(this.outgoing, { status, headers }, false);
  }

  /** Sends a part of the body; a promise when the next one should wait until this one is out, or the stream is closed. */
  write(part: Uint8Array): Promise<void> | undefined {
    if (this.closed) return undefined;
    this.#host.sender.write(this.outgoing, part);
    if (this.outgoing.bytes === 0 || this.closed) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    return promise;
  }

  /** Ends the body. */
  finish(trailers?: Sent): void {
    if (!this.closed) this.#host.sender.end(this.outgoing, trailers);
  }

  giveUp(): void {
    this.close(codes.internal);
  }

  /** Gives the stream up. */
  close(code: number): void {
    if (this.closed) return;
    this.#host.outbox.reset(this.id, code);
    this.#over(!this.ended);
  }

  // What follows is for the connection.

  /** Takes a part of the body, and its share of the window; answers with an error code when it cannot be. */
  data(part: Buffer, counted: number, last: boolean): number {
    this.#window -= counted;
    if (this.#window < 0) return codes.flowControl;
    if (this.#missing !== undefined) this.#missing -= part.length;
    if (this.#missing !== undefined && (this.#missing < 0 || (last && this.#missing > 0))) return codes.protocol;
    // Known before anybody answers, who would else ask the client to send no more.
    this.ended = last;
    this.#give(counted - part.length);
    if (part.length > 0) this.#take(part);
    if (last) this.#end();
    return codes.none;
  }

  /** The body ended with the fields after it; false when it is shorter than was said. */
  end(): boolean {
    if (this.#missing) return false;
    this.ended = true;
    this.#end();
    return true;
  }

  /** The client or the connection is gone. */
  lose(): void {
    if (!this.closed) this.#over(false);
  }

  sent(): void {
    this.complete = true;
    // RFC 9113, 8.1: an answer before the end of the request asks the client to send no more of it.
    if (!this.ended) this.#host.outbox.reset(this.id, codes.none);
    this.#over(!this.ended);
  }

  drained(): void {
    this.#drained?.();
    this.#drained = undefined;
  }

  stalled(): void {
    this.close(codes.cancel);
  }

  // RFC 9110, 10.1.1: a client that asks first is told to go on.
  #proceed(): void {
    const waits = !this.ended && this.headers.expect?.toLowerCase() === "100-continue";
    if (waits && !this.closed && !this.#begun)
      this.#host.sender.head(this.outgoing, { status: 100, headers: {} }, false);
  }

  // What is held takes up the window until somebody asks for it; what the budget has no room for is dropped.
  #take(part: Buffer): void {
    if (this.#sink || this.#isOverloaded) {
      this.#give(part.length);
      this.#sink?.data(part);
    } else {
      const before = this.#held.length;
      this.#isOverloaded = !this.#held.add(part);
      if (this.#isOverloaded) this.#give(before + part.length);
    }
    this.#stir();
  }

  #end(): void {
    this.#endSink();
    this.#stir();
  }

  // Nothing comes after the end, and a stream that answers for hours must not hold what the sink collected.
  #endSink(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if (!this.closed) sink?.end();
  }

  #over(still: boolean): void {
    this.closed = true;
    if (!this.complete) this.#host.sender.drop(this.outgoing);
    this.#host.taken(this.#held.length);
    this.#held.clear();
    this.account.close();
    this.#host.closed(this, still);
    this.drained();
    this.#stir();
    const { onClose } = this;
    this.onClose = undefined;
    onClose?.();
  }

  #give(bytes: number): void {
    if (bytes === 0) return;
    this.#host.taken(bytes);
    if (this.ended || this.closed) return;
    this.#due += bytes;
    if (this.#due < this.#granted / 2) return;
    const more = this.#due + this.#host.window - this.#granted;
    this.#granted = this.#host.window;
    this.#window += more;
    this.#host.outbox.window(this.id, more);
    this.#due = 0;
  }

  #stir(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #arrival(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }
}
