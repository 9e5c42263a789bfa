import type { Headers, RequestFault } from "../exchange.ts";

/** A request before its body. */
export type Head = {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** The bytes of the body that follows, or that it comes in chunks. */
  readonly body: number | "chunked";
  /** Whether the client lets the connection go on after this request. */
  readonly keeps: boolean;
  /** Whether parts of an answer may be sent before its length is known. */
  readonly chunks: boolean;
  /** The client waits to be told to send its body. */
  readonly expects: boolean;
};

/** What cannot be read as a request, and the headers that can. */
export type Unreadable = { readonly fault: RequestFault; readonly headers: Headers };

/** A head as the parser found it. */
export type RawHead = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersion: string;
  /** Names and values in turns. */
  readonly rawHeaders: readonly string[];
};

const mostHeaders = 64;
const target = /^[\x21-\x7e]+$/;
const host = /^[\x21-\x7e]*$/;
// Two readers of the same request may take the first or the last of them, or both.
const single: ReadonlySet<string> = new Set([
  "host",
  "authorization",
  "content-length",
  "content-type",
  "transfer-encoding",
]);

/**
 * Reads a head that the parser found to be well-formed; answers a fault for what RFC 9112 lets a server refuse. Whoever stands
 * in front of us may read a head differently that is only nearly right, and then takes one request for two.
 */
export function readHead(request: RawHead, bytes: Buffer): Head | Unreadable {
  const { method = "", url = "", httpVersion, rawHeaders } = request;
  const headers: Record<string, string | undefined> = Object.create(null);
  const malformed: Unreadable = { fault: "MALFORMED_REQUEST", headers };
  // The parser overlooks spaces, and takes other protocols than HTTP.
  const line = `${method} ${url} HTTP/${httpVersion}\r\n`;
  if (bytes.toString("latin1", 0, line.length) !== line) return malformed;
  if (!target.test(url) || (httpVersion !== "1.1" && httpVersion !== "1.0")) return malformed;
  if (!readHeaders(rawHeaders, headers)) return malformed;
  if (rawHeaders.length > 2 * mostHeaders) return { fault: "HEADERS_TOO_LARGE", headers };
  const isNew = httpVersion === "1.1";
  // What follows the head of CONNECT is a protocol of its own (RFC 9110, 9.3.6), which is not spoken here.
  const tunnels = method === "CONNECT";
  const body = tunnels ? 0 : bodyOf(headers, isNew);
  // RFC 9112, 3.2: Host is required of HTTP/1.1 only.
  if (body === undefined || (headers.host === undefined && isNew) || !host.test(headers.host ?? "")) return malformed;
  const { expect, connection } = headers;
  return {
    method,
    target: url,
    headers: Object.freeze(headers),
    body,
    keeps: isNew && !tunnels && !/(^|[\s,])close([\s,]|$)/i.test(connection ?? ""),
    chunks: isNew,
    expects: isNew && expect?.toLowerCase() === "100-continue",
  };
}

/** Joins headers by their names; false when one came twice that may come once. */
function readHeaders(raw: readonly string[], headers: Record<string, string | undefined>): boolean {
  const end = Math.min(raw.length, 2 * mostHeaders);
  for (let at = 0; at < end; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    const value = raw[at + 1] ?? "";
    const before = headers[name];
    if (before !== undefined && single.has(name)) return false;
    headers[name] = before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return true;
}

/** How long the body is; undefined where two readers could disagree about it: RFC 9112, 6.3. */
function bodyOf(headers: Headers, isNew: boolean): Head["body"] | undefined {
  const { "transfer-encoding": transfer, "content-length": length } = headers;
  if (transfer === undefined) {
    if (length === undefined) return 0;
    return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  }
  return length === undefined && isNew && transfer.toLowerCase() === "chunked" ? "chunked" : undefined;
}
