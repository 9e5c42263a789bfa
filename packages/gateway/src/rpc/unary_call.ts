import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { acceptedEncoding, minCompressedBytes } from "../codec/compression.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import type { Response } from "../http/exchange.ts";
import { UnaryContext } from "./context.ts";
import { messageOf } from "./pipeline.ts";
import type { Outgoing } from "./protocols/protocol.ts";
import { decodeMessage, type Received, receiveMessage } from "./request_message.ts";
import { type CallInit, type Matched, RpcCall } from "./rpc_call.ts";
import type { Encoded, UnaryRpc } from "./rpc_method.ts";

/** A call with one request message and one response message, sent in a single write. */
export class UnaryCall extends RpcCall {
  readonly context: UnaryContext;
  readonly #rpc: UnaryRpc;
  #isRunning = false;

  constructor(init: CallInit & { readonly matched: Matched<UnaryRpc> }) {
    super(init);
    this.#rpc = init.matched.rpc;
    const { method, empty } = this.#rpc;
    this.context = new UnaryContext(this, {
      method,
      message: empty,
      header: this.requestHeader,
      contextValues: this.values,
    });
  }

  /** Runs the call to its response. */
  start(): void {
    const onClose = () => this.#clientClosed();
    this.exchange.onClose = onClose;
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
    if (!this.isOver) this.#refuse(this.reported(error));
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
      const answered = messageOf(this.context, await this.#rpc.invoke(this.context));
      const encoded = this.#encode(answered);
      const message = encoded instanceof Promise ? await encoded : encoded;
      const outgoing =
        message.length < minCompressedBytes ? { message, encoding: undefined } : await this.#compress(message);
      if (!this.isOver) this.#finish(this.matched.negotiated.protocol.respond(outgoing, this.metadata));
    } catch (error) {
      if (this.isOver) return;
      // Interceptors have seen an error that the implementation throws.
      if (this.#isRunning && error instanceof ConnectError) this.#refuse(this.options.toConnectError(error));
      else this.fail(error);
    }
  }

  #encode(message: Message): Encoded | Promise<Encoded> {
    const { codec } = this.matched;
    const { pause } = this.options;
    return pause ? codec.encodeInPieces(message, () => pause(this.values)) : codec.encode(message);
  }

  async #compress(message: Encoded): Promise<Outgoing> {
    const { negotiated } = this.matched;
    const encoding = acceptedEncoding(this.exchange.headers[negotiated.protocol.acceptHeader]);
    return { message: encoding ? await encoding.compress(message) : message, encoding };
  }

  /** Client disconnected: aborts the handler. */
  #clientClosed(): void {
    if (this.isOver) return;
    const cancelled = this.options.toConnectError(new GatewayError("CANCELLED"));
    if (!this.#isRunning) this.reported(cancelled);
    this.end(cancelled);
    this.close();
  }

  #finish(response: Response): void {
    this.close();
    this.options.respond(this.exchange, response, this.values);
  }

  #refuse(error: ConnectError): void {
    const response = this.refusal(error);
    this.close();
    this.options.refuse(this.exchange, response, this.values);
  }
}
