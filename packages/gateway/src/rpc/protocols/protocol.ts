import type { ConnectError } from "@connectrpc/connect";
import type { Encoding } from "../../codec/compression.ts";
import type { Enclosed } from "../../codec/envelope.ts";
import type { Fields, HeaderFields } from "../../header_fields.ts";
import type { Response, ResponseFields } from "../../http/exchange.ts";

/** The message of a unary response, and the encoding that compressed it, if any. */
export type Outgoing = { readonly message: Uint8Array | string; readonly encoding: Encoding | undefined };

/** Content type, headers and trailers of a response. */
export type Metadata = {
  readonly contentType: string;
  /** Fields set by the gate, an interceptor or the implementation. */
  readonly header: HeaderFields | undefined;
  readonly trailer: HeaderFields | undefined;
};

/**
 * How a protocol reads requests and writes responses. For a unary call: `timeout`, `open`, then `respond` or `refuse`. For a stream:
 * `timeout`, `open` if the client sends a single message, then either `refuse`, or `begin`, `message` for each message, and `end`.
 */
export type Protocol = {
  readonly name: "grpc" | "grpc-web" | "connect" | "json";
  /** Whether every message of a stream has an envelope, so that a client can send many. */
  readonly isEnveloped: boolean;
  /** Whether bodies are in base64. */
  readonly isText: boolean;
  /** The header that names the encoding of a request or a response. */
  readonly encodingHeader: string;
  /** The header that lists the encodings that the sender can read. */
  readonly acceptHeader: string;
  /** The client's deadline in milliseconds; undefined for none. */
  readonly timeout: (headers: Fields) => number | undefined;
  /** The maximum number of bytes that the protocol adds to a message of this size. */
  readonly overhead: (messageBytes: number) => number;
  /** Extracts the only message of a complete body. */
  readonly open: (body: Buffer, encoding: Encoding | undefined) => Enclosed;
  /** The response of a unary call. */
  readonly respond: (outgoing: Outgoing, metadata: Metadata) => Response;
  /** The response of a call that failed before its response began. */
  readonly refuse: (error: ConnectError, metadata: Metadata) => Response;
  /** The status and the headers of a stream. */
  readonly begin: (encoding: Encoding | undefined, metadata: Metadata) => Pick<Response, "status" | "headers">;
  /** A message of a stream. */
  readonly message: (message: Uint8Array | string, isCompressed: boolean) => Uint8Array;
  /** The end of a stream, with its error if it failed. */
  readonly end: (error: ConnectError | undefined, metadata: Metadata) => Pick<Response, "body" | "trailers">;
  /** Sent while a stream is silent, so that no proxy in between assumes that it is dead. */
  readonly heartbeat?: Uint8Array;
};

/** The protocol and codec of a request and its response. */
export type Negotiated = {
  readonly protocol: Protocol;
  readonly codec: "proto" | "json";
  /** The content type of the response. */
  readonly contentType: string;
};

const none: ResponseFields = {};

/** Custom fields of a response, in the form that the exchange sends. */
export function fieldsOf(header: HeaderFields | undefined, prefix = ""): ResponseFields {
  if (!header) return none;
  const fields: Record<string, string | readonly string[]> = {};
  for (const name in header.fields) {
    const value = header.fields[name];
    if (value !== undefined) fields[prefix + name] = value;
  }
  const cookies = header.getSetCookie();
  if (cookies.length > 0) fields[`${prefix}set-cookie`] = cookies;
  return fields;
}

const reserved =
  /^(content-(type|length|encoding)|connection|keep-alive|transfer-encoding|te|trailer|upgrade|host|date|grpc-.*|connect-.*)$/;

/** The metadata of an error, without the fields that a protocol writes itself. */
export function metadataOf({ metadata }: ConnectError): ResponseFields {
  const fields: Record<string, string> = {};
  metadata.forEach((value, name) => {
    const isOwn = !reserved.test(name) || acceptFields.has(name);
    if (isOwn && isSendable(value)) fields[name] = value;
  });
  return fields;
}

const isSendable = (value: string) => /^[\t\x20-\x7e]*$/.test(value);

// The error for an unsupported encoding lists the supported ones.
const acceptFields = new Set(["grpc-accept-encoding", "connect-accept-encoding", "accept-encoding"]);
