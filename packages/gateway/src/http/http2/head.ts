import { sizeOf, staticTable } from "./hpack/static_table.ts";

/** The fields of a request by their lower-case names; those that came more than once are joined. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** A request before its body. */
export type Head = {
  readonly fields: Fields;
  /** Refused with an answer that says so: its fields are not complete. */
  readonly tooLarge: boolean;
  /** The bytes that the body is said to have. */
  readonly length: number | undefined;
};

/** What bounds the fields of a request. */
export type HeadLimits = { readonly headersMaxBytes: number };

// 64 of the client's and the four that HTTP/2 makes of the request line.
const mostFields = 68;

const pseudo: readonly string[] = [":method", ":scheme", ":authority", ":path"];
// RFC 9113, 8.2.2.
const ofConnections = new Set(["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"]);

// Names that need no look at their characters.
const sound = new Set(
  [
    ...staticTable.map(([name]) => name).filter((name) => !name.startsWith(":")),
    ...["x-request-id", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding", "traceparent"],
    ...["connect-protocol-version", "connect-timeout-ms", "connect-accept-encoding"],
  ].filter((name) => !ofConnections.has(name)),
);

const colon = 0x3a;

/** Puts a head together out of the fields of a block, by the rules of RFC 9113, 8.2 and 8.3. */
export class HeadBuilder {
  readonly #limits: HeadLimits;
  readonly #fields: Record<string, string | undefined> = Object.create(null);
  #count = 0;
  #size = 0;
  #regular = false;
  #malformed = false;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  add(name: string, value: string): void {
    this.#count += 1;
    this.#size += sizeOf(name, value);
    // Read on, for the table of the decoder, but not kept.
    if (this.#isTooLarge || this.#malformed) return;
    if (name.charCodeAt(0) === colon ? !this.#isPseudo(name) : !this.#isRegular(name, value)) this.#malformed = true;
    if (!isValue(value)) this.#malformed = true;
    const before = this.#fields[name];
    this.#fields[name] = before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }

  /** The head, or undefined for a request that is malformed. */
  request(): Head | undefined {
    const tooLarge = this.#isTooLarge;
    const fields = this.#fields;
    if (this.#malformed) return undefined;
    if (tooLarge) return { fields, tooLarge, length: undefined };
    const length = fields["content-length"];
    if (!isComplete(fields) || (length !== undefined && !/^\d{1,15}$/.test(length))) return undefined;
    return { fields, tooLarge, length: length === undefined ? undefined : Number(length) };
  }

  /** Whether the fields may follow a body. Nobody here reads them. */
  areTrailers(): boolean {
    return !this.#malformed && pseudo.every((name) => this.#fields[name] === undefined);
  }

  get #isTooLarge(): boolean {
    return this.#count > mostFields || this.#size > this.#limits.headersMaxBytes;
  }

  #isPseudo(name: string): boolean {
    return !this.#regular && pseudo.includes(name) && this.#fields[name] === undefined;
  }

  #isRegular(name: string, value: string): boolean {
    this.#regular = true;
    if (sound.has(name)) return true;
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || ofConnections.has(name)) return false;
    return name !== "te" || value.toLowerCase() === "trailers";
  }
}

function isComplete(fields: Fields): boolean {
  const { ":method": method, ":scheme": scheme, ":path": path, ":authority": authority, host } = fields;
  if (!method || !/^[!#$%&'*+.^_`|~\w-]+$/.test(method)) return false;
  // Whoever stands in front of us may have gone by the other one.
  if (authority !== undefined && host !== undefined && host !== authority) return false;
  if (method === "CONNECT") return scheme === undefined && path === undefined && authority !== undefined;
  return !!scheme && !!path;
}

function isValue(value: string): boolean {
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return false;
  }
  return !isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1));
}

const isBlank = (code: number) => code === 0x20 || code === 0x09;
