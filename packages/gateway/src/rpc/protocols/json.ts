import { create, isMessage } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { minCompressedBytes } from "../../codec/compression.ts";
import { encodeJson } from "../../codec/json.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { connectTimeout } from "./connect.ts";
import { httpFieldsOf, httpStatusOf, reasonOf } from "./http_error.ts";
import { fieldsOf, type Metadata, metadataOf, type Negotiated, type Protocol } from "./protocol.ts";

const defaultHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const plainHeaders: ResponseFields = { "content-type": "application/json", ...defaultHeaders };
const variedHeaders: ResponseFields = { ...plainHeaders, vary: "accept-encoding" };

/** JSON over HTTP, for clients without an rpc protocol: a single message, or many with `json_stream.ts`. */
export const jsonUnary: Protocol = {
  name: "json",
  isEnveloped: false,
  isText: false,
  encodingHeader: "content-encoding",
  acceptHeader: "accept-encoding",
  timeout: connectTimeout,
  overhead: () => 0,
  open: (message, encoding) => ({ message, isCompressed: encoding !== undefined }),

  respond({ message, encoding }, metadata) {
    const fields = message.length < minCompressedBytes ? plainHeaders : variedHeaders;
    const headers = encoding ? { ...variedHeaders, "content-encoding": encoding.name } : fields;
    return { status: 200, headers: withCustom(headers, metadata), body: message };
  },

  refuse: (error, metadata) => ({
    status: httpStatusOf(error),
    headers: {
      ...withCustom(plainHeaders, metadata),
      "content-type": contentTypeOf(error),
      ...metadataOf(error),
      ...httpFieldsOf(error),
    },
    body: JSON.stringify(errorJson(error)),
  }),

  begin: (_encoding, metadata) => ({
    status: 200,
    headers: { ...withCustom(plainHeaders, metadata), "content-type": metadata.contentType },
  }),
  message: () => neverStreams(),
  end: () => neverStreams(),
};

function neverStreams(): never {
  throw new Error("a unary response is no stream");
}

/** JSON over HTTP with one message. */
export const json: Negotiated = { protocol: jsonUnary, codec: "json", contentType: "application/json" };

function withCustom(fields: ResponseFields, { header, trailer }: Metadata): ResponseFields {
  if (!header && !trailer) return fields;
  return { ...fieldsOf(header), ...fieldsOf(trailer, "trailer-"), ...fields };
}

/** The JSON body of an error: code, message and details. */
export function errorJson({ code, rawMessage, details }: ConnectError) {
  const written = details.flatMap((detail) => {
    if (!("desc" in detail)) return [];
    const message = isMessage(detail.value, detail.desc) ? detail.value : create(detail.desc, detail.value);
    return [{ "@type": `type.googleapis.com/${detail.desc.typeName}`, ...asObject(encodeJson(detail.desc, message)) }];
  });
  return { code, message: rawMessage, details: written };
}

const asObject = (value: unknown) => (typeof value === "object" && value !== null ? value : { value });

// A client that sent another content type may use Connect. With such a status, Connect's conformance suite takes the type without
// parameters for a Connect error.
const contentTypeOf = (error: ConnectError) =>
  reasonOf(error) === "UNSUPPORTED_CONTENT_TYPE" ? "application/json; charset=utf-8" : "application/json";
