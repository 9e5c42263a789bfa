import { ConnectError } from "@connectrpc/connect";
import { accepted, leastCompressed } from "../codec/compression.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import type { Response } from "../http/exchange.ts";
import { UnaryContext } from "./context.ts";
import type { Outgoing } from "./protocols/protocol.ts";
import { decodeMessage, type Received, receiveMessage } from "./request_message.ts";
import { type CallParts, type Matched, RpcCall } from "./rpc_call.ts";
import type { UnaryRpc } from "./rpc_method.ts";

/** A call of one message that is answered with one message, in one write. */
export class UnaryCall extends RpcCall {
  readonly context: UnaryContext;
  readonly #rpc: UnaryRpc;
  #isRunning = false;

  constructor(parts: CallParts & { readonly matched: Matched<UnaryRpc> }) {
    super(parts);
    this.#rpc = parts.matched.rpc;
    const { method, empty } = this.#rpc;
    this.context = new UnaryContext(this, {
      method,
      message: empty,
      header: this.requestHeader,
      contextValues: this.values,
    });
  }

  /** Takes the call from its head to its response. */
  start(): void {
    const left = () => this.#left();
    this.exchange.onClose = left;
    try {
      this.startDeadline(true);
      const pending = this.passGate();
      if (!pending) this.#receive();
      else
        pending.then(
          () => this.#receive(),
          (error) => this.fail(error),
        );
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    if (!this.isOver) this.#finish(this.refusal(this.reported(error)));
  }

  #receive(): void {
    receiveMessage(this);
  }

  /** The body is complete: runs the implementation. */
  async received(received: Received): Promise<void> {
    try {
      const decoded = decodeMessage(this, received);
      this.context.message = decoded instanceof Promise ? await decoded : decoded;
      if (this.isOver) return;
      this.#isRunning = true;
      const message = this.matched.codec.encode(await this.#rpc.invoke(this.context));
      const outgoing =
        message.length < leastCompressed ? { message, encoding: undefined } : await this.#packed(message);
      if (!this.isOver) this.#finish(this.matched.negotiated.protocol.respond(outgoing, this.metadata));
    } catch (error) {
      if (this.isOver) return;
      // Interceptors have seen what the implementation refused with.
      if (this.#isRunning && error instanceof ConnectError) this.#finish(this.refusal(this.options.worded(error)));
      else this.fail(error);
    }
  }

  async #packed(message: Uint8Array | string): Promise<Outgoing> {
    const { negotiated } = this.matched;
    const encoding = accepted(this.exchange.headers[negotiated.protocol.acceptHeader]);
    return { message: encoding ? await encoding.compress(message) : message, encoding };
  }

  /** The client is gone: the implementation may stop. */
  #left(): void {
    if (this.isOver) return;
    const cancelled = this.options.worded(new GatewayError("CANCELLED"));
    if (!this.#isRunning) this.reported(cancelled);
    this.end(cancelled);
    this.close();
  }

  #finish(response: Response): void {
    this.close();
    this.options.respond(this.exchange, response, this.values);
  }
}
