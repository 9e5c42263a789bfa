import { overloaded } from "../errors/gateway_error.ts";
import type { BodyAccount } from "./body_budget.ts";
import { BodyBuffer } from "./body_buffer.ts";
import type { BodySink } from "./exchange.ts";

/** The request whose body a queue holds. */
export type BodySource = {
  readonly account: BodyAccount;
  /** Whether the request has come to its end. */
  readonly ended: boolean;
  readonly closed: boolean;
  /** Tells a client that asked first to send the body. */
  readonly sendContinue: () => void;
  /** Bytes of the body are held no more, and others may come. */
  readonly taken: (bytes: number) => void;
};

/** Holds what has come of a body until somebody takes it, by a sink or in parts. */
export class BodyQueue {
  readonly #source: BodySource;
  // Made for a body that comes before anybody takes it, which few do.
  #held: BodyBuffer | undefined;
  #sink: BodySink | undefined;
  #isOverloaded = false;
  #wake: (() => void) | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** How many bytes wait to be taken. */
  get length(): number {
    return this.#held?.length ?? 0;
  }

  /** Whether a sink takes what comes. */
  get hasSink(): boolean {
    return this.#sink !== undefined;
  }

  /** Gives the body to a sink, as it comes. */
  receive(sink: BodySink): void {
    this.#sink = sink;
    this.#source.sendContinue();
    if (this.#isOverloaded) sink.overloaded();
    else if (this.length > 0) sink.data(this.#take());
    if (this.#source.ended) this.#endSink();
  }

  /** The body in its parts, each let in as the one before is asked past; an error when it does not come to its end. */
  async *parts(): AsyncGenerator<Buffer> {
    this.#source.sendContinue();
    while (true) {
      if (this.#isOverloaded) throw overloaded();
      if (this.length > 0) yield this.#take();
      else if (this.#source.ended) return;
      else if (this.#source.closed) throw new Error("the request was given up");
      else await this.#arrival();
    }
  }

  /** Takes a part as it comes; what the budget has no room for is dropped. */
  add(part: Buffer): void {
    if (this.#sink || this.#isOverloaded) {
      this.#source.taken(part.length);
      this.#sink?.data(part);
      return;
    }
    const before = this.length;
    this.#held ??= new BodyBuffer(this.#source.account);
    this.#isOverloaded = !this.#held.add(part);
    if (this.#isOverloaded) this.#source.taken(before + part.length);
    this.#stir();
  }

  /** The body is at its end. */
  end(): void {
    this.#endSink();
    this.#stir();
  }

  /** The request is over: nothing is held of it any more. */
  close(): void {
    if (this.#held) {
      this.#source.taken(this.#held.length);
      this.#held.clear();
    }
    this.#stir();
  }

  #take(): Buffer {
    this.#source.taken(this.length);
    return this.#held?.take() ?? nothing;
  }

  // Nothing comes after the end, and a request that is answered for hours must not hold what the sink collected.
  #endSink(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if (!this.#source.closed) sink?.end();
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

const nothing = Buffer.alloc(0);
