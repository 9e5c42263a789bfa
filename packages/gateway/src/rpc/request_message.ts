import type { Message } from "@bufbuild/protobuf";
import { decompressed, type Encoding } from "../codec/compression.ts";
import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import { BodyBuffer } from "../http/body_buffer.ts";
import type { BodySink } from "../http/exchange.ts";
import type { Due } from "./deadlines.ts";
import type { RpcCall } from "./rpc_call.ts";

/** The only message of a request, before it is decompressed and decoded. */
export type Received = { readonly body: Buffer; readonly encoding: Encoding | undefined };

/** Receives the body of a request with one message, within its limits on time and size; otherwise fails the call. */
export function receiveMessage(call: MessageCall): void {
  if (call.isOver) return;
  try {
    const { query, negotiated } = call.matched;
    const { headers } = call.exchange;
    if (query) {
      call.received(fromQuery(call, query));
      return;
    }
    const encoding = call.encodingOf(headers[negotiated.protocol.encodingHeader]);
    if (Number(headers["content-length"] ?? 0) > maxBodyBytes(call)) throw tooLarge(maxMessageBytes(call));
    call.exchange.receive(new MessageSink(call, encoding));
  } catch (error) {
    call.fail(error);
  }
}

/** A call that takes one message. */
export type MessageCall = RpcCall & { readonly received: (received: Received) => void };

type Query = NonNullable<RpcCall["matched"]["query"]>;

function fromQuery(call: RpcCall, { message, encoding }: Query): Received {
  if (Number(call.exchange.headers["content-length"] ?? 0) > 0) throw unreadable("BODY_UNEXPECTED");
  return { body: message, encoding: call.encodingOf(encoding) };
}

/** Collects the body of one message. A class, because closures would be created for every call. */
export class MessageSink implements BodySink, Due {
  due = 0;
  earlier: Due | undefined = undefined;
  later: Due | undefined = undefined;
  readonly #call: MessageCall;
  readonly #encoding: Encoding | undefined;
  readonly #body: BodyBuffer;
  readonly #maxBytes: number;

  constructor(call: MessageCall, encoding: Encoding | undefined) {
    const { exchange } = call;
    this.#call = call;
    this.#encoding = encoding;
    this.#body = new BodyBuffer(exchange.account);
    this.#maxBytes = maxBodyBytes(call);
    // An HTTP/1.1 connection itself times its one body; an HTTP/2 stream could go on forever.
    if (!exchange.ended && exchange.version === "2") call.awaitBody(this);
  }

  data(part: Buffer): void {
    // Bytes that arrive after an error response are read and dropped, so that the response arrives.
    if (this.#call.isOver) return;
    if (this.#body.length + part.length > this.#maxBytes) this.#refuse(tooLarge(maxMessageBytes(this.#call)));
    else if (!this.#body.add(part)) this.overloaded();
  }

  end(): void {
    this.#call.bodyArrived();
    if (!this.#call.isOver) this.#call.received({ body: this.#body.bytes, encoding: this.#encoding });
  }

  overloaded(): void {
    this.#refuse(overloaded());
  }

  /** The body took too long. */
  expire(): void {
    if (!this.#call.isOver) this.#refuse(new GatewayError("DEADLINE_EXCEEDED"));
  }

  #refuse(error: GatewayError): void {
    this.#body.clear();
    this.#call.fail(error);
  }
}

/** Decodes the message of a request; returns a promise if it has to be decompressed, or is long. */
export function decodeMessage(call: RpcCall, { body, encoding }: Received): Message | Promise<Message> {
  const { message, isCompressed } = call.matched.negotiated.protocol.open(body, encoding);
  if (isCompressed) return decompress(call, message, encoding).then((bytes) => decode(call, bytes));
  return decode(call, message);
}

// A shorter message is decoded in a fraction of a millisecond.
const longBytes = 4096;

function decode(call: RpcCall, bytes: Uint8Array): Message | Promise<Message> {
  const maxBytes = maxMessageBytes(call);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  const message = call.matched.codec.decode(bytes, bytes.length > longBytes ? call.pause : undefined);
  return message instanceof Promise ? message.then((one) => released(call, one)) : released(call, message);
}

/** Gives back the room of a body: a call may take hours, and its body is no longer needed. */
function released(call: RpcCall, message: Message): Message {
  call.exchange.account.release();
  return message;
}

async function decompress(call: RpcCall, message: Uint8Array, encoding: Encoding | undefined): Promise<Uint8Array> {
  // https://github.com/grpc/grpc/blob/master/doc/compression.md: a compressed message without a named encoding is INTERNAL.
  if (!encoding) throw new GatewayError("ENCODING_MISSING");
  const maxBytes = maxMessageBytes(call);
  // The decompressed size is unknown, so its maximum is reserved.
  if (!call.exchange.account.take(maxBytes)) throw overloaded();
  return decompressed(encoding, message, maxBytes);
}

const maxMessageBytes = ({ matched }: RpcCall) => matched.rpc.limits.messageMaxBytes;

function maxBodyBytes({ matched }: RpcCall): number {
  const maxBytes = matched.rpc.limits.messageMaxBytes;
  return maxBytes + matched.negotiated.protocol.overhead(maxBytes);
}
