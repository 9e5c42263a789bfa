import type { ConnectError } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  contentTypeUnaryProto,
  errorToJsonBytes,
  headerUnaryAcceptEncoding,
  headerUnaryEncoding,
  parseContentType,
  parseTimeout,
  protocolVersion,
} from "@connectrpc/connect/protocol-connect";
import { refuse } from "../../../../../src/errors.ts";
import { headersOf } from "./json_error.ts";
import { type Dialect, type Fields, fieldOf, type Protocol } from "./protocol.ts";

const versionHeader = "connect-protocol-version";

/** Reads a content type of unary Connect; JSON is Connect's only when the client says so. */
export function connectDialect(contentType: string, headers: Fields): Dialect | undefined {
  const type = parseContentType(contentType);
  if (!type || type.stream || (!type.binary && headers[versionHeader] === undefined)) return undefined;
  return type.binary ? proto : json;
}

const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const connect: Protocol = {
  encodingHeader: headerUnaryEncoding.toLowerCase(),
  acceptHeader: headerUnaryAcceptEncoding.toLowerCase(),
  timeout: timeoutOfKnownVersion,
  around: () => 0,
  open: (message, encoding) => ({ message, compressed: encoding !== undefined }),

  answer({ message, encoding }, contentType) {
    const encoded = encoding && { [connect.encodingHeader]: encoding.name };
    return { status: 200, headers: { "content-type": contentType, ...always, ...encoded }, body: message };
  },

  refusal: (error) => ({
    status: codeToHttpStatus(error.code),
    headers: { ...ownHeaders(error), ...headersOf(error), "content-type": contentTypeUnaryJson, ...always },
    body: errorToJsonBytes(error, undefined),
  }),
};

const proto: Dialect = { protocol: connect, json: false, contentType: contentTypeUnaryProto };
const json: Dialect = { protocol: connect, json: true, contentType: contentTypeUnaryJson };

function ownHeaders({ metadata }: ConnectError): Record<string, string> {
  const headers = new Headers();
  mergeNonProtocolHeaders(headers, metadata);
  return Object.fromEntries(headers);
}

function timeoutOfKnownVersion(headers: Fields): number | undefined {
  if ((fieldOf(headers, versionHeader) ?? protocolVersion) !== protocolVersion)
    throw refuse.because("MALFORMED_REQUEST");
  return connectTimeout(headers);
}

/** The deadline that Connect states, and plain JSON may. */
export function connectTimeout(headers: Fields): number | undefined {
  const value = fieldOf(headers, "connect-timeout-ms") ?? null;
  if (value === null) return undefined;
  const { timeoutMs, error } = parseTimeout(value, Number.MAX_SAFE_INTEGER);
  if (error) throw refuse.because("MALFORMED_REQUEST", { cause: error });
  return timeoutMs;
}
