import type { ConnectError } from "@connectrpc/connect";
import { enclose, open, prefixBytes } from "../../codec/envelope.ts";
import { wrongHeader } from "../../errors/problem.ts";
import type { Fields } from "../../header_fields.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { codeToString, errorToJson, parseConnectContentType, parseConnectTimeout } from "./connect_es.ts";
import { connectStatusOf, httpFieldsOf } from "./http_error.ts";
import { fieldsOf, type Metadata, metadataOf, type Negotiated, type Protocol } from "./protocol.ts";

const versionHeader = "connect-protocol-version";

/** Parses a content type of Connect, unary or streaming. Unary JSON is only Connect's with its version header. */
export function negotiateConnect(contentType: string, headers: Fields): Negotiated | undefined {
  const type = parseConnectContentType(contentType);
  if (!type || (!type.stream && !type.binary && headers[versionHeader] === undefined)) return undefined;
  const codec = type.binary ? "proto" : "json";
  return type.stream ? streaming[codec] : unary[codec];
}

/** Parses the codec of a message in the query of a GET. */
export function negotiateQuery(encoding: string | null): Negotiated | undefined {
  return encoding === "json" || encoding === "proto" ? unary[encoding] : undefined;
}

const defaultHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

// https://connectrpc.com/docs/protocol
const connectUnary: Protocol = {
  name: "connect",
  isEnveloped: false,
  isText: false,
  encodingHeader: "content-encoding",
  acceptHeader: "accept-encoding",
  timeout: checkedTimeout,
  overhead: () => 0,
  open: (message, encoding) => ({ message, isCompressed: encoding !== undefined }),

  respond: ({ message, encoding }, metadata) => ({
    status: 200,
    headers: { ...unaryFields(metadata), ...(encoding && { "content-encoding": encoding.name }) },
    body: message,
  }),

  refuse(error, metadata) {
    const { status, code } = connectStatusOf(error);
    const json = errorToJson(error, undefined);
    return {
      status,
      headers: {
        ...unaryFields({ ...metadata, contentType: "application/json" }),
        ...metadataOf(error),
        ...httpFieldsOf(error),
      },
      body: JSON.stringify(code === error.code ? json : { ...json, code: codeToString(code) }),
    };
  },

  begin: () => neverStreams(),
  message: () => neverStreams(),
  end: () => neverStreams(),
};

function unaryFields({ contentType, header, trailer }: Metadata): ResponseFields {
  if (!header && !trailer) return { "content-type": contentType, ...defaultHeaders };
  return { ...fieldsOf(header), ...fieldsOf(trailer, "trailer-"), "content-type": contentType, ...defaultHeaders };
}

function neverStreams(): never {
  throw new Error("unary Connect has no streams");
}

const streamEncodingHeader = "connect-content-encoding";
const endFlag = 2;

const connectStreaming: Protocol = {
  name: "connect",
  isEnveloped: true,
  isText: false,
  encodingHeader: streamEncodingHeader,
  acceptHeader: "connect-accept-encoding",
  timeout: checkedTimeout,
  overhead: () => prefixBytes,
  open,
  respond: ({ message, encoding }, metadata) => ({
    ...connectStreaming.begin(encoding, metadata),
    body: enclose(message, encoding ? 1 : 0, endMessage(undefined, metadata)),
  }),
  refuse: (error, metadata) => ({
    ...connectStreaming.begin(undefined, metadata),
    body: endMessage(error, metadata),
  }),
  begin: (encoding, { contentType, header }) => ({
    status: 200,
    headers: {
      ...fieldsOf(header),
      "content-type": contentType,
      ...(encoding && { [streamEncodingHeader]: encoding.name }),
    },
  }),
  message: (message, isCompressed) => enclose(message, isCompressed ? 1 : 0),
  end: (error, metadata) => ({ body: endMessage(error, metadata) }),
};

function endMessage(error: ConnectError | undefined, { trailer }: Metadata): Buffer {
  const fields = { ...fieldsOf(trailer), ...(error && metadataOf(error)) };
  const metadata = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value].flat()]));
  const end = {
    ...(error && { error: errorToJson(error, undefined) }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  return enclose(JSON.stringify(end), endFlag);
}

const unary: Readonly<Record<Negotiated["codec"], Negotiated>> = {
  proto: { protocol: connectUnary, codec: "proto", contentType: "application/proto" },
  json: { protocol: connectUnary, codec: "json", contentType: "application/json" },
};

const streaming: Readonly<Record<Negotiated["codec"], Negotiated>> = {
  proto: { protocol: connectStreaming, codec: "proto", contentType: "application/connect+proto" },
  json: { protocol: connectStreaming, codec: "json", contentType: "application/connect+json" },
};

function checkedTimeout(headers: Fields): number | undefined {
  if ((headers[versionHeader] ?? "1") !== "1") throw wrongHeader(versionHeader);
  return connectTimeout(headers);
}

/** The deadline in Connect's header, which plain JSON may send too. */
export function connectTimeout(headers: Fields): number | undefined {
  const value = headers["connect-timeout-ms"];
  if (value === undefined) return undefined;
  const { timeoutMs, error } = parseConnectTimeout(value, Number.MAX_SAFE_INTEGER);
  if (error) throw wrongHeader("connect-timeout-ms", error);
  return timeoutMs;
}
