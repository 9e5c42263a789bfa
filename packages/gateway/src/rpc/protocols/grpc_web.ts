import { enclose, open, prefixBytes } from "../../codec/envelope.ts";
import { GatewayError } from "../../errors/gateway_error.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { parseGrpcWebContentType } from "./connect_es.ts";
import { grpc, grpcTimeout } from "./grpc.ts";
import { bodyTrailersOf } from "./grpc_status.ts";
import type { Metadata, Negotiated, Protocol } from "./protocol.ts";

/** Reads a content type of gRPC-Web, binary or text. */
export function negotiateGrpcWeb(contentType: string): Negotiated | undefined {
  const type = parseGrpcWebContentType(contentType);
  const protocol = type?.text ? grpcWebText : grpcWeb;
  return type && { protocol, codec: type.binary ? "proto" : "json", contentType: contentType.toLowerCase() };
}

const trailerFlag = 0x80;
const plainOk = enclose("grpc-status: 0\r\n", trailerFlag);

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md: gRPC whose trailers are the last frame of the body. */
const grpcWeb: Protocol = {
  name: "grpc-web",
  isEnveloped: true,
  isText: false,
  encodingHeader: grpc.encodingHeader,
  acceptHeader: grpc.acceptHeader,
  timeout: grpcTimeout,
  overhead: () => prefixBytes,
  open,

  respond({ message, encoding }, metadata) {
    const end = metadata.trailer ? trailerFrame(bodyTrailersOf(undefined, metadata)) : plainOk;
    return { ...grpcWeb.begin(encoding, metadata), body: enclose(message, encoding ? 1 : 0, end) };
  },

  refuse: (error, metadata) => ({
    ...grpcWeb.begin(undefined, metadata),
    body: trailerFrame(bodyTrailersOf(error, metadata)),
  }),

  begin: grpc.begin,
  message: grpc.message,
  end: (error, metadata) => ({ body: trailerFrame(bodyTrailersOf(error, metadata)) }),
};

/** The same in base64, each part on its own. */
const grpcWebText: Protocol = {
  ...grpcWeb,
  isText: true,
  overhead: (messageBytes) => Math.ceil(messageBytes / 3) + 16,
  open: (body) => open(base64Bytes(body)),
  respond: (outgoing, metadata) => inBase64(grpcWeb.respond(outgoing, metadata)),
  refuse: (error, metadata) => inBase64(grpcWeb.refuse(error, metadata)),
  message: (message, isCompressed) => Buffer.from(base64(grpcWeb.message(message, isCompressed))),
  end: (error: Parameters<Protocol["end"]>[0], metadata: Metadata) => inBase64(grpcWeb.end(error, metadata)),
};

function trailerFrame(trailers: ResponseFields): Buffer {
  let text = "";
  for (const [name, value] of Object.entries(trailers)) for (const one of [value].flat()) text += `${name}: ${one}\r\n`;
  return enclose(text, trailerFlag);
}

/** Decodes base64; each part of a client or a proxy may have its own padding. */
export function base64Bytes(body: Buffer): Buffer {
  const parts = body.toString("latin1").match(/[^=]+=*|=+/g) ?? [];
  if (!parts.every(isBase64)) throw new GatewayError("MALFORMED_BODY");
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

const isBase64 = (part: string) => part.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(part);

const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64");

function inBase64<T extends { readonly body?: Uint8Array | string | undefined }>(response: T): T {
  return { ...response, body: Buffer.from(base64(response.body ?? "")) };
}
