import type { IncomingMessage, ServerResponse } from "node:http";
import { refuse } from "../errors.ts";
import type { Door } from "./door.ts";
import type { Answer, Asked } from "./exchange.ts";

/** What bounds a request over HTTP/1.1. */
export type Http1Limits = { readonly messageMaxBytes: number };

/** Carries requests and answers of HTTP/1.1 to and from a door; answers when the exchange is over. */
export function http1(door: Door, limits: Http1Limits, stopping: AbortSignal) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.on("error", ignore).on("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    const answer = await door(asked(request, { gone: gone.signal, stopping, body: bodyOf(request, response, limits) }));
    if (stopping.aborted || awaitsContinue.has(request)) response.setHeader("connection", "close");
    if (request.method === "HEAD") gone.abort();
    await write(response, answer, request.method === "HEAD");
  };
}

// An error after the end of an exchange: the client is gone, and nobody is left to tell.
function ignore() {}

type Given = { readonly gone: AbortSignal; readonly stopping: AbortSignal; readonly body: Asked["body"] };

function asked(request: IncomingMessage, { gone, stopping, body }: Given): Asked {
  return {
    method: request.method ?? "",
    authority: request.headers.host ?? "",
    target: request.url ?? "",
    flaw: flawOf(request),
    headers: { get: (name) => headerOf(request, name) },
    signal: gone,
    stopping,
    body,
  };
}

const mostHeaders = 64;

function flawOf({ rawHeaders }: IncomingMessage): Asked["flaw"] {
  if (rawHeaders.length > 2 * mostHeaders) return "HEADERS_TOO_LARGE";
  // Node keeps the first of several Host headers; another server in front may have gone by the last.
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  return hosts.length === 1 ? undefined : "MALFORMED_REQUEST";
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}

const none = new Uint8Array(0);

// Clients that wait for "100 Continue" and were not told so have not sent their body: the connection is of no more use.
const awaitsContinue = new WeakSet<IncomingMessage>();

function bodyOf(request: IncomingMessage, response: ServerResponse, limits: Http1Limits): Asked["body"] {
  const { "content-length": length, "transfer-encoding": transfer, expect } = request.headers;
  if (expect !== undefined) awaitsContinue.add(request);
  return async () => {
    if (length === undefined && transfer === undefined) return none;
    if (Number(length ?? 0) > limits.messageMaxBytes) throw refuse.because("BODY_TOO_LARGE");
    if (awaitsContinue.delete(request)) response.writeContinue();
    return collect(request, limits.messageMaxBytes);
  };
}

function collect(request: IncomingMessage, most: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Buffer[] = [];
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= most) return chunks.push(chunk);
    // The rest is read and dropped, within the time for a body, so that the refusal arrives.
    chunks.length = 0;
    reject(refuse.because("BODY_TOO_LARGE"));
  });
  request.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  // Every request closes in the end, and a refusal is costly to make.
  const cancel = (cause?: unknown) => request.complete || reject(refuse.because("CANCELLED", { cause }));
  request.on("error", cancel).on("close", cancel);
  return promise;
}

async function write(response: ServerResponse, { status, headers, body }: Answer, headOnly: boolean): Promise<void> {
  if (typeof body === "string") {
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    response.end(headOnly ? undefined : body);
    return;
  }
  response.writeHead(status, headers);
  response.flushHeaders();
  if (!headOnly) await pour(response, body);
  response.end();
}

async function pour(response: ServerResponse, body: AsyncIterable<string>): Promise<void> {
  for await (const part of body) {
    if (response.destroyed) return;
    if (!response.write(part)) await flowing(response);
  }
}

function flowing(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const go = () => {
    response.off("drain", go).off("close", go);
    resolve();
  };
  response.on("drain", go).on("close", go);
  return promise;
}
