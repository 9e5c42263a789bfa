import type { Headers, RequestFault } from "../exchange.ts";

/** A request before its body. */
export type Head = {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** The length of the body in bytes, or "chunked" if only its end will show it. */
  readonly body: number | "chunked";
  /** Whether the client lets the connection persist after this request. */
  readonly keepsAlive: boolean;
  /** Whether the client understands a chunked response. */
  readonly allowsChunks: boolean;
  /** Whether the client waits for 100 (Continue) before sending its body. */
  readonly expectsContinue: boolean;
};

/** The reason why a head was refused, and the headers read before that. */
export type HeadFault = {
  readonly fault: RequestFault;
  readonly headers: Headers;
  /** The invalid header. */
  readonly header?: string | undefined;
};

/** A head as the parser reads it. */
export type RawHead = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersion: string;
  /** Names and values, alternating. */
  readonly rawHeaders: readonly string[];
};

/** The maximum number of headers of a request, and of trailers. */
export const maxHeaders = 64;
const target = /^[\x21-\x7e]+$/;
const host = /^[\x21-\x7e]*$/;
// Headers that may appear only once: given two, one reader takes the first and another the last.
const singleHeaders: ReadonlySet<string> = new Set([
  "host",
  "authorization",
  "content-length",
  "content-type",
  "transfer-encoding",
]);

/**
 * Checks a head that the parser accepted, and returns a fault wherever RFC 9112 lets a server refuse. A proxy in front of us might read a
 * nearly correct head differently, and then mistake one request for two.
 */
export function readHead(request: RawHead, bytes: Buffer): Head | HeadFault {
  const { method = "", url = "", httpVersion, rawHeaders } = request;
  const headers: Record<string, string | undefined> = Object.create(null);
  const malformed: HeadFault = { fault: "MALFORMED_REQUEST", headers };
  // The parser ignores spaces, and accepts protocols other than HTTP.
  const line = `${method} ${url} HTTP/${httpVersion}\r\n`;
  if (bytes.toString("latin1", 0, line.length) !== line) return malformed;
  if (!target.test(url) || (httpVersion !== "1.1" && httpVersion !== "1.0")) return malformed;
  const repeated = readHeaders(rawHeaders, headers);
  if (repeated !== undefined) return wrong(headers, repeated);
  if (rawHeaders.length > 2 * maxHeaders) return { fault: "HEADERS_TOO_LARGE", headers };
  const isHttp11 = httpVersion === "1.1";
  // Bytes after the head of CONNECT belong to another protocol (RFC 9110, 9.3.6), which is not supported here.
  const isConnect = method === "CONNECT";
  const body = isConnect ? 0 : bodyOf(headers, isHttp11);
  // RFC 9112, 3.2: only HTTP/1.1 requires Host.
  if (body === undefined) return wrong(headers, headers["transfer-encoding"] ? "transfer-encoding" : "content-length");
  if ((headers.host === undefined && isHttp11) || !host.test(headers.host ?? "")) return wrong(headers, "host");
  const { expect, connection } = headers;
  return {
    method,
    target: url,
    headers: Object.freeze(headers),
    body,
    keepsAlive: isHttp11 && !isConnect && !/(^|[\s,])close([\s,]|$)/i.test(connection ?? ""),
    allowsChunks: isHttp11,
    expectsContinue: isHttp11 && expect?.toLowerCase() === "100-continue",
  };
}

const wrong = (headers: Headers, header: string): HeadFault => ({ fault: "MALFORMED_REQUEST", headers, header });

/** Joins headers with the same name; returns a repeated one from `singleHeaders`. */
function readHeaders(raw: readonly string[], headers: Record<string, string | undefined>): string | undefined {
  const end = Math.min(raw.length, 2 * maxHeaders);
  for (let at = 0; at < end; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    const value = raw[at + 1] ?? "";
    const before = headers[name];
    if (before !== undefined && singleHeaders.has(name)) return name;
    headers[name] = before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return undefined;
}

/** The length of the body; undefined if two readers could disagree about it: RFC 9112, 6.3. */
function bodyOf(headers: Headers, isHttp11: boolean): Head["body"] | undefined {
  const { "transfer-encoding": transfer, "content-length": length } = headers;
  if (transfer === undefined) {
    if (length === undefined) return 0;
    return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  }
  return length === undefined && isHttp11 && transfer.toLowerCase() === "chunked" ? "chunked" : undefined;
}
