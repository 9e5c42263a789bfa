import type { Message } from "@bufbuild/protobuf";
import { decompressed, type Encoding } from "../codec/compression.ts";
import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import { BodyBuffer } from "../http/body_buffer.ts";
import type { BodySink } from "../http/exchange.ts";
import type { RpcCall } from "./rpc_call.ts";

/** The one message of a request, as it came. */
export type Received = { readonly body: Buffer; readonly encoding: Encoding | undefined };

/** Receives the body of a request that has one message, in time and within its limits; refuses the call otherwise. */
export function receiveMessage(call: RpcCall, done: (received: Received) => void): void {
  if (call.isOver) return;
  try {
    const { query, negotiated } = call.matched;
    const { headers } = call.exchange;
    if (query) return void done(fromQuery(call, query));
    const encoding = call.encodingOf(headers[negotiated.protocol.encodingHeader]);
    if (Number(headers["content-length"] ?? 0) > maxBodyBytes(call)) throw tooLarge(maxMessageBytes(call));
    call.exchange.receive(sinkOf(call, (body) => done({ body, encoding })));
  } catch (error) {
    call.fail(error);
  }
}

type Query = NonNullable<RpcCall["matched"]["query"]>;

function fromQuery(call: RpcCall, { message, encoding }: Query): Received {
  if (Number(call.exchange.headers["content-length"] ?? 0) > 0) throw new GatewayError("MALFORMED_BODY");
  return { body: message, encoding: call.encodingOf(encoding) };
}

function sinkOf(call: RpcCall, done: (body: Buffer) => void): BodySink {
  const { exchange, options } = call;
  const most = maxBodyBytes(call);
  const body = new BodyBuffer(exchange.account);
  // A connection of HTTP/1.1 times its one body itself; a stream of HTTP/2 may go on for ever.
  const isTimed = !exchange.ended && exchange.version === "2";
  const timer = isTimed ? setTimeout(tooSlow, options.limits.bodyTimeoutMs, call) : undefined;
  const refuse = (error: GatewayError) => {
    clearTimeout(timer);
    body.clear();
    call.fail(error);
  };
  return {
    overloaded: () => refuse(overloaded()),
    data(part: Buffer) {
      // What comes after a refusal is read and dropped, so that the refusal arrives.
      if (call.isOver) return;
      if (body.length + part.length > most) refuse(tooLarge(maxMessageBytes(call)));
      else if (!body.add(part)) refuse(overloaded());
    },
    end() {
      clearTimeout(timer);
      if (!call.isOver) done(body.bytes);
    },
  };
}

const tooSlow = (call: RpcCall) => call.fail(new GatewayError("DEADLINE_EXCEEDED"));

/** Decodes the one message of a request; a promise when it has to be decompressed. */
export function decodeMessage(call: RpcCall, { body, encoding }: Received): Message | Promise<Message> {
  const { message, isCompressed } = call.matched.negotiated.protocol.open(body, encoding);
  if (isCompressed) return inflated(call, message, encoding).then((bytes) => decode(call, bytes));
  return decode(call, message);
}

function decode(call: RpcCall, bytes: Uint8Array): Message {
  const most = maxMessageBytes(call);
  if (bytes.length > most) throw tooLarge(most);
  const message = call.matched.codec.decode(bytes);
  // A call may be answered for hours, and its body is of no use any more.
  call.exchange.account.release();
  return message;
}

async function inflated(call: RpcCall, message: Uint8Array, encoding: Encoding | undefined): Promise<Uint8Array> {
  // https://github.com/grpc/grpc/blob/master/doc/compression.md: compressed by no encoding that is named is INTERNAL.
  if (!encoding) throw new GatewayError("ENCODING_MISSING");
  const most = maxMessageBytes(call);
  // As much as it may become; nobody knows before.
  if (!call.exchange.account.take(most)) throw overloaded();
  return decompressed(encoding, message, most);
}

const maxMessageBytes = ({ matched }: RpcCall) => matched.rpc.limits.messageMaxBytes;

function maxBodyBytes({ matched }: RpcCall): number {
  const most = matched.rpc.limits.messageMaxBytes;
  return most + matched.negotiated.protocol.overhead(most);
}
