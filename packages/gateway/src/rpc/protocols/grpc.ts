import {
  headerAcceptEncoding,
  headerEncoding,
  parseContentType,
  parseTimeout,
} from "@connectrpc/connect/protocol-grpc";
import { refuse } from "../../../../../src/errors.ts";
import { enclose, open, prefixBytes } from "../../codec/envelope.ts";
import { fittingStatusOf } from "./grpc_status.ts";
import { type Dialect, type Fields, fieldOf, type Protocol } from "./protocol.ts";

/** Reads a content type of gRPC. */
export function grpcDialect(contentType: string): Dialect | undefined {
  if (contentType === plain.contentType) return plain;
  const type = parseContentType(contentType);
  return type && { protocol: grpc, json: !type.binary, contentType: contentType.toLowerCase() };
}

const ok = { "grpc-status": "0" };

const grpc: Protocol = {
  encodingHeader: headerEncoding.toLowerCase(),
  acceptHeader: headerAcceptEncoding.toLowerCase(),
  timeout: grpcTimeout,
  around: () => prefixBytes,
  open,

  answer({ message, encoding }, contentType) {
    const headers = { "content-type": contentType, ...(encoding && { [grpc.encodingHeader]: encoding.name }) };
    return { status: 200, headers, body: enclose(message, encoding ? 1 : 0), trailers: ok };
  },

  // Without a message the trailers come as the only headers.
  refusal: (error, contentType) => ({
    status: 200,
    headers: { ...fittingStatusOf(error), "content-type": contentType },
  }),
};

const plain: Dialect = { protocol: grpc, json: false, contentType: "application/grpc" };

/** The deadline that gRPC and gRPC-Web state. */
export function grpcTimeout(headers: Fields): number | undefined {
  const value = fieldOf(headers, "grpc-timeout");
  if (value === undefined) return undefined;
  const { timeoutMs, error } = parseTimeout(value, Number.MAX_SAFE_INTEGER);
  if (error) throw refuse.because("MALFORMED_REQUEST", { cause: error });
  return timeoutMs;
}
