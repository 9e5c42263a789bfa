import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import { BodyBuffer } from "../http/body_buffer.ts";
import type { BodySink, Exchange } from "../http/exchange.ts";
import type { Deadlines, Due } from "./deadlines.ts";

/** The maximum size of a body, and the time within which it has to arrive. */
export type RouteBodyLimits = {
  readonly maxBytes: number;
  readonly slowBodies: Deadlines<Due & { readonly expire: () => void }>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

/** Receives the body of a request to a route, within its time limit, its size limit and the budget. */
export function receiveBody(exchange: Exchange, limits: RouteBodyLimits): Promise<Uint8Array> {
  if (Number(exchange.headers["content-length"] ?? 0) > limits.maxBytes) throw tooLarge(limits.maxBytes);
  return new Promise((resolve, reject) => {
    exchange.receive(new RouteBody(exchange, limits, { resolve, reject }));
  });
}

type Settlement = { readonly resolve: (body: Uint8Array) => void; readonly reject: (error: unknown) => void };

class RouteBody implements BodySink, Due {
  due = 0;
  earlier: Due | undefined = undefined;
  later: Due | undefined = undefined;
  readonly #limits: RouteBodyLimits;
  readonly #answer: Settlement;
  readonly #body: BodyBuffer;
  #isOver = false;

  constructor(exchange: Exchange, limits: RouteBodyLimits, answer: Settlement) {
    this.#limits = limits;
    this.#answer = answer;
    this.#body = new BodyBuffer(exchange.account);
    // An HTTP/1.1 connection itself times its one body; an HTTP/2 stream could go on forever.
    if (!exchange.ended && exchange.version === "2") limits.slowBodies.add(this);
    limits.signal.addEventListener("abort", () => this.#refuse(new GatewayError("CANCELLED")), { once: true });
  }

  data(part: Buffer): void {
    // Bytes that arrive after an error response are read and dropped, so that the response arrives.
    if (this.#isOver) return;
    if (this.#body.length + part.length > this.#limits.maxBytes) this.#refuse(tooLarge(this.#limits.maxBytes));
    else if (!this.#body.add(part)) this.overloaded();
  }

  end(): void {
    if (this.#isOver) return;
    this.#close();
    this.#answer.resolve(this.#body.take());
  }

  overloaded(): void {
    this.#refuse(overloaded());
  }

  /** The body took too long. */
  expire(): void {
    this.#refuse(new GatewayError("DEADLINE_EXCEEDED"));
  }

  #refuse(error: GatewayError): void {
    if (this.#isOver) return;
    this.#close();
    this.#body.clear();
    this.#answer.reject(error);
  }

  #close(): void {
    this.#isOver = true;
    if (this.due > 0) this.#limits.slowBodies.drop(this);
  }
}
