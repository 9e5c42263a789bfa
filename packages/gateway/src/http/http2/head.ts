import { entrySize, staticTable } from "./hpack/static_table.ts";
import { headerFieldsMax } from "./limits.ts";

/** Header fields by lower-case name; the values of repeated ones are joined. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** The header section of a request. */
export type Head = {
  readonly fields: Fields;
  /** The fields exceeded a limit, and are incomplete; the refusal is a regular response. */
  readonly tooLarge: boolean;
  readonly contentLength: number | undefined;
};

/** Limits of a header section. */
export type HeadLimits = { readonly headersMaxBytes: number };

// RFC 9113, 8.3.1.
const pseudoHeaders: readonly string[] = [":method", ":scheme", ":authority", ":path"];
// RFC 9113, 8.1, and the fields with which messages are framed and routed (RFC 9110, 6.5.1).
const neverTrailers = [...pseudoHeaders, "content-length", "host"];
// RFC 9113, 8.2.2.
const connectionSpecific = new Set(["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"]);

// Common names, whose characters need no check.
const validNames = new Set(
  [
    ...staticTable.map(([name]) => name).filter((name) => !name.startsWith(":")),
    ...["x-request-id", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding", "traceparent"],
    ...["connect-protocol-version", "connect-timeout-ms", "connect-accept-encoding"],
  ].filter((name) => !connectionSpecific.has(name)),
);

const colon = 0x3a;

/** Builds a head from the fields of a block, and validates it: RFC 9113, 8.2 and 8.3. */
export class HeadBuilder {
  readonly #limits: HeadLimits;
  readonly #fields: Record<string, string | undefined> = Object.create(null);
  #count = 0;
  #size = 0;
  #hasRegular = false;
  #isMalformed = false;

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  add(name: string, value: string): void {
    this.#count += 1;
    this.#size += entrySize(name, value);
    // Decoding continues for the sake of the dynamic table, but the fields are dropped.
    if (this.#isTooLarge || this.#isMalformed) return;
    if (name.charCodeAt(0) === colon ? !this.#isValidPseudo(name) : !this.#isValidField(name, value))
      this.#isMalformed = true;
    if (!isValue(value)) this.#isMalformed = true;
    const before = this.#fields[name];
    this.#fields[name] = before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }

  /** The head; undefined for a malformed request. */
  request(): Head | undefined {
    const tooLarge = this.#isTooLarge;
    const fields = this.#fields;
    if (this.#isMalformed) return undefined;
    if (tooLarge) return { fields, tooLarge, contentLength: undefined };
    const length = fields["content-length"];
    if (!isComplete(fields) || (length !== undefined && !/^\d{1,15}$/.test(length))) return undefined;
    return { fields, tooLarge, contentLength: length === undefined ? undefined : Number(length) };
  }

  /** Whether the fields are well-formed trailers, which are then dropped. */
  areTrailers(): boolean {
    return !this.#isMalformed && neverTrailers.every((name) => this.#fields[name] === undefined);
  }

  get #isTooLarge(): boolean {
    return this.#count > headerFieldsMax || this.#size > this.#limits.headersMaxBytes;
  }

  #isValidPseudo(name: string): boolean {
    return !this.#hasRegular && pseudoHeaders.includes(name) && this.#fields[name] === undefined;
  }

  #isValidField(name: string, value: string): boolean {
    this.#hasRegular = true;
    if (validNames.has(name)) return true;
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || connectionSpecific.has(name)) return false;
    return name !== "te" || value.toLowerCase() === "trailers";
  }
}

function isComplete(fields: Fields): boolean {
  const { ":method": method, ":scheme": scheme, ":path": path, ":authority": authority, host } = fields;
  if (!method || !/^[!#$%&'*+.^_`|~\w-]+$/.test(method)) return false;
  // A proxy in front of us may have used the other one.
  if (authority !== undefined && host !== undefined && host !== authority) return false;
  if (method === "CONNECT") return scheme === undefined && path === undefined && authority !== undefined;
  // RFC 3986, 3.1.
  if (!scheme || !/^[a-z][a-z0-9+.-]*$/i.test(scheme)) return false;
  return !!path && (path.startsWith("/") || (path === "*" && method === "OPTIONS"));
}

function isValue(value: string): boolean {
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return false;
  }
  return !isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1));
}

const isBlank = (code: number) => code === 0x20 || code === 0x09;
