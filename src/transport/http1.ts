import type { IncomingMessage, ServerResponse } from "node:http";
import { refuse } from "../errors.ts";
import { collect, fuse, pour } from "./body.ts";
import type { Door } from "./door.ts";
import type { Answer, Asked } from "./exchange.ts";
import { HeaderFields } from "./lane/protocol.ts";

/** What bounds a request over HTTP/1.1. */
export type Http1Limits = { readonly messageMaxBytes: number };

/** Carries requests and answers of HTTP/1.1 to and from a door; answers when the exchange is over. */
export function http1(door: Door, limits: Http1Limits, stopping: AbortSignal) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.on("error", ignore).on("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    const expire = fuse(gone, response);
    const body = bodyOf(request, response, limits);
    const answer = await door(asked(request, { ...limits, gone: gone.signal, stopping, body, expire }));
    if (stopping.aborted || awaitsContinue.has(request)) response.setHeader("connection", "close");
    if (request.method === "HEAD") gone.abort();
    await write(response, answer, request.method === "HEAD");
  };
}

// An error after the end of an exchange: the client is gone, and nobody is left to tell.
function ignore() {}

type Given = Pick<Asked, "stopping" | "body" | "expire" | "messageMaxBytes"> & { readonly gone: AbortSignal };

function asked(request: IncomingMessage, { gone, ...given }: Given): Asked {
  return {
    version: "1.1",
    method: request.method ?? "",
    authority: request.headers.host ?? "",
    target: request.url ?? "",
    flaw: flawOf(request),
    headers: new HeaderFields(request.headers),
    signal: gone,
    stopping: given.stopping,
    expire: given.expire,
    messageMaxBytes: given.messageMaxBytes,
    body: given.body,
    chunks: () => request,
  };
}

const mostHeaders = 64;

function flawOf({ rawHeaders }: IncomingMessage): Asked["flaw"] {
  if (rawHeaders.length > 2 * mostHeaders) return "HEADERS_TOO_LARGE";
  // Node keeps the first of several Host headers; another server in front may have gone by the last.
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  return hosts.length === 1 ? undefined : "MALFORMED_REQUEST";
}

const none = new Uint8Array(0);

// Clients that wait for "100 Continue" and were not told so have not sent their body: the connection is of no more use.
const awaitsContinue = new WeakSet<IncomingMessage>();

function bodyOf(request: IncomingMessage, response: ServerResponse, limits: Http1Limits): Asked["body"] {
  const { "content-length": length, "transfer-encoding": transfer, expect } = request.headers;
  if (expect !== undefined) awaitsContinue.add(request);
  return async (mostBytes = limits.messageMaxBytes) => {
    if (length === undefined && transfer === undefined) return none;
    if (Number(length ?? 0) > mostBytes) throw refuse.because("BODY_TOO_LARGE");
    if (awaitsContinue.delete(request)) response.writeContinue();
    return collect(request, mostBytes);
  };
}

async function write(response: ServerResponse, { status, headers, body }: Answer, headOnly: boolean): Promise<void> {
  if (typeof body === "string" || body instanceof Uint8Array) {
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    response.end(headOnly ? undefined : body);
    return;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  if (!headOnly) await pour(response, body);
  response.end();
}
