import { create, isMessage } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { leastCompressed } from "../../codec/compression.ts";
import { encodeJson } from "../../codec/json.ts";
import type { ResponseFields } from "../../http/exchange.ts";
import { connectTimeout } from "./connect.ts";
import { httpFieldsOf, httpStatusOf, reasonOf } from "./http_error.ts";
import { fieldsOf, type Metadata, metadataOf, type Negotiated, type Protocol } from "./protocol.ts";

const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const plain: ResponseFields = { "content-type": "application/json", ...always };
const varied: ResponseFields = { ...plain, vary: "accept-encoding" };

/** JSON over HTTP, for clients that speak no protocol: one message, or with `json_stream.ts` many. */
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
    const fields = message.length < leastCompressed ? plain : varied;
    const headers = encoding ? { ...varied, "content-encoding": encoding.name } : fields;
    return { status: 200, headers: withOwn(headers, metadata), body: message };
  },

  refuse: (error, metadata) => ({
    status: httpStatusOf(error),
    headers: {
      ...withOwn(plain, metadata),
      "content-type": contentTypeOf(error),
      ...metadataOf(error),
      ...httpFieldsOf(error),
    },
    body: JSON.stringify(errorJson(error)),
  }),

  begin: (_encoding, metadata) => ({
    status: 200,
    headers: { ...withOwn(plain, metadata), "content-type": metadata.contentType },
  }),
  message: () => unstreamed(),
  end: () => unstreamed(),
};

function unstreamed(): never {
  throw new Error("a response of one message is no stream");
}

/** JSON over HTTP, of one message. */
export const json: Negotiated = { protocol: jsonUnary, codec: "json", contentType: "application/json" };

function withOwn(fields: ResponseFields, { header, trailer }: Metadata): ResponseFields {
  if (!header && !trailer) return fields;
  return { ...fieldsOf(header), ...fieldsOf(trailer, "trailer-"), ...fields };
}

/** A refusal as the one JSON error body: code, message and details. */
export function errorJson({ code, rawMessage, details }: ConnectError) {
  const written = details.flatMap((detail) => {
    if (!("desc" in detail)) return [];
    const message = isMessage(detail.value, detail.desc) ? detail.value : create(detail.desc, detail.value);
    return [{ "@type": `type.googleapis.com/${detail.desc.typeName}`, ...asObject(encodeJson(detail.desc, message)) }];
  });
  return { code, message: rawMessage, details: written };
}

const asObject = (value: unknown) => (typeof value === "object" && value !== null ? value : { value });

// Who sent another type may speak Connect, whose suite takes the bare type, beside such a status, for an error of Connect's own.
const contentTypeOf = (error: ConnectError) =>
  reasonOf(error) === "UNSUPPORTED_CONTENT_TYPE" ? "application/json; charset=utf-8" : "application/json";
