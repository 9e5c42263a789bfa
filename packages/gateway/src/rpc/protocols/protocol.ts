import type { ConnectError } from "@connectrpc/connect";
import type { Encoding } from "../../codec/compression.ts";

/** The headers of a request, by their lower-case names. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>;

/** What goes back, whole. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** Only HTTP/2 has them. */
  readonly trailers?: Readonly<Record<string, string>> | undefined;
};

/** The one message of a request, out of what surrounds it. */
export type Enclosed = { readonly message: Uint8Array; readonly compressed: boolean };

/** The one message of an answer, and the encoding it is compressed with, if any. */
export type Outgoing = { readonly message: Uint8Array | string; readonly encoding: Encoding | undefined };

/** How one protocol reads a request and writes an answer. */
export type Protocol = {
  /** The header that says how the request, or the answer, is compressed. */
  readonly encodingHeader: string;
  /** The header that says which encodings the sender can read. */
  readonly acceptHeader: string;
  /** The deadline of the caller in milliseconds; undefined for none. */
  readonly timeout: (headers: Fields) => number | undefined;
  /** Most bytes that surround a message of this many. */
  readonly around: (messageBytes: number) => number;
  readonly open: (body: Buffer, encoding: Encoding | undefined) => Enclosed;
  readonly answer: (outgoing: Outgoing, contentType: string) => Reply;
  readonly refusal: (error: ConnectError, contentType: string) => Reply;
};

/** A protocol with the format of its messages, as a content type names them. */
export type Dialect = {
  readonly protocol: Protocol;
  readonly json: boolean;
  /** The content type of answers. */
  readonly contentType: string;
};

/** One header, or undefined when it is absent. */
export function fieldOf(headers: Fields, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.join(", ");
}

/** The headers of a request, read like Headers at none of their cost. */
export class HeaderFields {
  readonly fields: Fields;

  constructor(fields: Fields) {
    this.fields = fields;
  }

  get(name: string): string | null {
    return fieldOf(this.fields, name) ?? fieldOf(this.fields, name.toLowerCase()) ?? null;
  }
}
