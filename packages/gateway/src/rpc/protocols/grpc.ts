import { enclose, open, prefixBytes } from "../../codec/envelope.ts";
import { wrongHeader } from "../../errors/problem.ts";
import type { Fields } from "../../header_fields.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { parseGrpcContentType, parseGrpcTimeout } from "./connect_es.ts";
import { fittingStatusOf, trailersOf } from "./grpc_status.ts";
import { fieldsOf, type Negotiated, type Protocol } from "./protocol.ts";

/** Parses a content type of gRPC. */
export function negotiateGrpc(contentType: string): Negotiated | undefined {
  if (contentType === proto.contentType) return proto;
  const type = parseGrpcContentType(contentType);
  return type && { protocol: grpc, codec: type.binary ? "proto" : "json", contentType: contentType.toLowerCase() };
}

const encodingHeader = "grpc-encoding";

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
export const grpc: Protocol = {
  name: "grpc",
  isEnveloped: true,
  isText: false,
  encodingHeader,
  acceptHeader: "grpc-accept-encoding",
  timeout: grpcTimeout,
  overhead: () => prefixBytes,
  open,

  respond({ message, encoding }, metadata) {
    const { contentType, header } = metadata;
    const headers: ResponseFields = encoding
      ? { ...fieldsOf(header), "content-type": contentType, [encodingHeader]: encoding.name }
      : header
        ? { ...fieldsOf(header), "content-type": contentType }
        : { "content-type": contentType };
    return {
      status: 200,
      headers,
      body: enclose(message, encoding ? 1 : 0),
      trailers: trailersOf(undefined, metadata),
    };
  },

  refuse(error, metadata) {
    const { contentType, header } = metadata;
    if (header) {
      const headers = { ...fieldsOf(header), "content-type": contentType };
      return { status: 200, headers, trailers: trailersOf(error, metadata) };
    }
    // Without a message and custom headers, the trailers are sent as the only headers (Trailers-Only).
    return {
      status: 200,
      headers: { ...fieldsOf(metadata.trailer), ...fittingStatusOf(error), "content-type": contentType },
    };
  },

  begin: (encoding, { contentType, header }) => ({
    status: 200,
    headers: {
      ...fieldsOf(header),
      "content-type": contentType,
      ...(encoding && { [encodingHeader]: encoding.name }),
    },
  }),

  message: (message, isCompressed) => enclose(message, isCompressed ? 1 : 0),

  end: (error, metadata) => ({ trailers: trailersOf(error, metadata) }),
};

const proto: Negotiated = { protocol: grpc, codec: "proto", contentType: "application/grpc" };

/** The deadline in the header of gRPC and gRPC-Web. */
export function grpcTimeout(headers: Fields): number | undefined {
  const value = headers["grpc-timeout"];
  if (value === undefined) return undefined;
  const { timeoutMs, error } = parseGrpcTimeout(value, Number.MAX_SAFE_INTEGER);
  if (error) throw wrongHeader("grpc-timeout", error);
  return timeoutMs;
}
