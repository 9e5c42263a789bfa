import type { Flaw, Headers } from "../exchange.ts";

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
export type Unreadable = { readonly flaw: Flaw; readonly headers: Headers };

const mostHeaders = 64;
const line = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e]+) HTTP\/1\.([01])$/;
const name = /^[!#$%&'*+.^_`|~\w-]+$/;
const host = /^[\x21-\x7e]*$/;
const value = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Reads the text before a body, by RFC 9112; answers a flaw for what is not exactly that. Whoever stands in front of us may
 * read a text differently that is only nearly right, and then takes one request for two.
 */
export function readHead(text: string): Head | Unreadable {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method, target, minor] = line.exec(first) ?? [];
  const headers: Record<string, string | undefined> = Object.create(null);
  const malformed: Unreadable = { flaw: "MALFORMED_REQUEST", headers };
  if (method === undefined || target === undefined) return malformed;
  let hosts = 0;
  for (const one of lines.slice(0, mostHeaders)) {
    const colon = one.indexOf(":");
    const key = one.slice(0, colon).toLowerCase();
    const raw = one.slice(colon + 1);
    if (colon < 1 || !name.test(key) || !value.test(raw)) return malformed;
    const said = withoutBlanks(raw);
    if (key === "host") hosts += 1;
    const before = headers[key];
    headers[key] = before === undefined ? said : `${before}${key === "cookie" ? "; " : ", "}${said}`;
  }
  if (lines.length > mostHeaders) return { flaw: "HEADERS_TOO_LARGE", headers };
  const body = bodyOf(headers, minor);
  // RFC 9112, 3.2: Host is required of HTTP/1.1 only.
  if (body === undefined || hosts > 1 || (hosts === 0 && minor === "1")) return malformed;
  if (!host.test(headers.host ?? "")) return malformed;
  const { expect, connection } = headers;
  return {
    ...{ method, target, headers: Object.freeze(headers), body },
    keeps: minor === "1" && !/(^|[\s,])close([\s,]|$)/i.test(connection ?? ""),
    chunks: minor === "1",
    expects: minor === "1" && expect?.toLowerCase() === "100-continue",
  };
}

/** Cuts spaces and tabs (RFC 9110, 5.5); trim() cuts line ends and more. A loop, because a pattern for the end is quadratic. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const isBlank = (sign: number) => sign === 0x20 || sign === 0x09;

/** How long the body is; undefined where two readers could disagree about it: RFC 9112, 6.3. */
function bodyOf(headers: Headers, minor: string | undefined): Head["body"] | undefined {
  const { "transfer-encoding": transfer, "content-length": length } = headers;
  if (transfer === undefined) {
    if (length === undefined) return 0;
    return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  }
  return length === undefined && minor === "1" && transfer.toLowerCase() === "chunked" ? "chunked" : undefined;
}
