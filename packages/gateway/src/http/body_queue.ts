import { overloaded } from "../errors/gateway_error.ts";
import type { BodyAccount } from "./body_budget.ts";
import { BodyBuffer } from "./body_buffer.ts";
import type { BodySink } from "./exchange.ts";

/** The exchange whose body a queue holds. */
export type BodySource = {
  readonly account: BodyAccount;
  /** Whether the request is complete. */
  readonly ended: boolean;
  readonly closed: boolean;
  /** Sends 100 (Continue) to a client that is waiting for it. */
  readonly sendContinue: () => void;
  /** Called when bytes were consumed, so that more may be let in. */
  readonly taken: (bytes: number) => void;
};

/** Holds the received part of a body until it is consumed, by a sink or in parts. */
export class BodyQueue {
  readonly #source: BodySource;
  // Created only for a body that arrives before anything consumes it, which is rare.
  #held: BodyBuffer | undefined;
  #sink: BodySink | undefined;
  #isOverloaded = false;
  #wakeReader: (() => void) | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** The number of bytes held. */
  get length(): number {
    return this.#held?.length ?? 0;
  }

  /** Whether a sink receives the body. */
  get hasSink(): boolean {
    return this.#sink !== undefined;
  }

  /** Passes the body to a sink as it arrives. */
  receive(sink: BodySink): void {
    this.#sink = sink;
    this.#source.sendContinue();
    if (this.#isOverloaded) sink.overloaded();
    else if (this.length > 0) sink.data(this.#take());
    if (this.#source.ended) this.#endSink();
  }

  /** The body in parts; the next part is let in when it is requested. Throws if the body is cut short. */
  async *parts(): AsyncGenerator<Buffer> {
    this.#source.sendContinue();
    while (true) {
      if (this.#isOverloaded) throw overloaded();
      if (this.length > 0) yield this.#take();
      else if (this.#source.ended) return;
      else if (this.#source.closed) throw new Error("the client aborted the request");
      else await this.#nextPart();
    }
  }

  /** Adds a part; a body that exceeds the budget is dropped. */
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
    this.#resumeReader();
  }

  /** The body is complete. */
  end(): void {
    this.#endSink();
    this.#resumeReader();
  }

  /** Drops the held bytes: the request is over. */
  close(): void {
    if (this.#held) {
      this.#source.taken(this.#held.length);
      this.#held.clear();
    }
    this.#resumeReader();
  }

  #take(): Buffer {
    this.#source.taken(this.length);
    return this.#held?.take() ?? nothing;
  }

  // Releases the sink: a request whose response takes hours must not keep the bytes that the sink collected.
  #endSink(): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if (!this.#source.closed) sink?.end();
  }

  #resumeReader(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }

  #nextPart(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeReader = resolve;
    return promise;
  }
}

const nothing = Buffer.alloc(0);
