import { enclose, open, prefixBytes } from "../../codec/envelope.ts";
import { unreadable } from "../../errors/problem.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { parseGrpcWebContentType } from "./connect_es.ts";
import { grpc, grpcTimeout } from "./grpc.ts";
import { bodyTrailersOf } from "./grpc_status.ts";
import type { Metadata, Negotiated, Protocol } from "./protocol.ts";

/** Parses a content type of gRPC-Web, binary or text. */
export function negotiateGrpcWeb(contentType: string): Negotiated | undefined {
  const type = parseGrpcWebContentType(contentType);
  const protocol = type?.text ? grpcWebText : grpcWeb;
  return type && { protocol, codec: type.binary ? "proto" : "json", contentType: contentType.toLowerCase() };
}

const trailerFlag = 0x80;
const plainOk = enclose("grpc-status: 0\r\n", trailerFlag);

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md: gRPC with its trailers in the last frame of the body. */
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

/** The same in base64, each part encoded separately. */
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

/** Decodes base64, in which each part from a client or proxy may have its own padding. */
export function base64Bytes(body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe((body.length >> 2) * 3);
  let size = 0;
  // By groups of four, because parts may be as short as that: a string and a buffer for each took 0.5 s for a 5 MB body.
  for (let at = 0; at < body.length; at += 4) {
    const padding = body[at + 3] !== equalsSign ? 0 : body[at + 2] !== equalsSign ? 1 : 2;
    const third = padding === 2 ? 0 : valueAt(body, at + 2);
    const fourth = padding > 0 ? 0 : valueAt(body, at + 3);
    const bits = (valueAt(body, at) << 18) | (valueAt(body, at + 1) << 12) | (third << 6) | fourth;
    if (bits < 0) throw unreadable("BODY_NOT_BASE64");
    bytes[size] = bits >> 16;
    bytes[size + 1] = bits >> 8;
    bytes[size + 2] = bits;
    size += 3 - padding;
  }
  return bytes.subarray(0, size);
}

const equalsSign = 0x3d;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
// A character that is not a digit sets the sign bit of its group.
const digits = new Int32Array(256).fill(-1);
for (const [value, digit] of [...alphabet].entries()) digits[digit.charCodeAt(0)] = value;

const valueAt = (body: Buffer, at: number): number => digits[body[at] ?? equalsSign] ?? -1;

const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64");

function inBase64<T extends { readonly body?: Uint8Array | string | undefined }>(response: T): T {
  return { ...response, body: Buffer.from(base64(response.body ?? "")) };
}
