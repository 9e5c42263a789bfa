import {
  headerAcceptEncoding,
  headerEncoding,
  parseContentType,
  trailerFlag,
  trailerSerialize,
} from "@connectrpc/connect/protocol-grpc-web";
import { refuse } from "../../../../../src/errors.ts";
import { enclose, open, prefixBytes } from "../../codec/envelope.ts";
import { grpcTimeout } from "./grpc.ts";
import { statusOf } from "./grpc_status.ts";
import type { Dialect, Protocol } from "./protocol.ts";

/** Reads a content type of gRPC-Web, binary or text. */
export function grpcWebDialect(contentType: string): Dialect | undefined {
  const type = parseContentType(contentType);
  return type && { protocol: type.text ? text : binary, json: !type.binary, contentType: contentType.toLowerCase() };
}

const ok = enclose("grpc-status: 0\r\n", trailerFlag);

const binary: Protocol = {
  encodingHeader: headerEncoding.toLowerCase(),
  acceptHeader: headerAcceptEncoding.toLowerCase(),
  timeout: grpcTimeout,
  around: () => prefixBytes,
  open,

  answer({ message, encoding }, contentType) {
    const headers = { "content-type": contentType, ...(encoding && { [binary.encodingHeader]: encoding.name }) };
    return { status: 200, headers, body: enclose(message, encoding ? 1 : 0, ok) };
  },

  refusal(error, contentType) {
    const body = enclose(trailerSerialize(statusOf(error)), trailerFlag);
    return { status: 200, headers: { "content-type": contentType }, body };
  },
};

const text: Protocol = {
  ...binary,
  around: (messageBytes) => Math.ceil(messageBytes / 3) + 16,
  open: (body) => open(base64Bytes(body)),
  answer: (outgoing, contentType) => inBase64(binary.answer(outgoing, contentType)),
  refusal: (error, contentType) => inBase64(binary.refusal(error, contentType)),
};

/** Decodes base64; each part that a client or a proxy sent may be padded on its own. */
export function base64Bytes(body: Buffer): Buffer {
  const parts = body.toString("latin1").match(/[^=]+=*|=+/g) ?? [];
  if (!parts.every(isBase64)) throw refuse.because("MALFORMED_BODY");
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

const isBase64 = (part: string) => part.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(part);

function inBase64(reply: ReturnType<Protocol["answer"]>): ReturnType<Protocol["answer"]> {
  return { ...reply, body: Buffer.from(reply.body ?? "").toString("base64") };
}
