import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { refuse } from "../errors.ts";
import { collect, fuse, pour } from "./body.ts";
import type { Door } from "./door.ts";
import type { Answer, Asked } from "./exchange.ts";
import { HeaderFields } from "./lane/protocol.ts";

/** What bounds a request over HTTP/2. */
export type Http2Limits = { readonly messageMaxBytes: number; readonly bodyTimeoutMs: number };

/** Carries requests and answers of HTTP/2 to and from a door; answers when the exchange is over. */
export function http2(door: Door, limits: Http2Limits, stopping: AbortSignal) {
  return async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const gone = new AbortController();
    stream.on("error", ignore).on("close", () => {
      if (!stream.writableFinished || stream.rstCode !== 0) gone.abort();
    });
    const asked: Asked = {
      ...requestOf(headers),
      ...{ signal: gone.signal, stopping, messageMaxBytes: limits.messageMaxBytes, expire: fuse(gone, stream) },
      body: async (mostBytes = limits.messageMaxBytes) => {
        if (Number(headers["content-length"] ?? 0) > mostBytes) throw refuse.because("BODY_TOO_LARGE");
        return collect(stream, mostBytes, limits.bodyTimeoutMs);
      },
      chunks: () => stream,
    };
    const answer = await door(asked);
    const headOnly = asked.method === "HEAD";
    if (headOnly) gone.abort();
    await write(stream, answer, headOnly);
    finishReading(stream, limits.bodyTimeoutMs);
  };
}

// An error after the end of an exchange: the client is gone, and nobody is left to tell.
function ignore() {}

function requestOf(headers: IncomingHttpHeaders) {
  return {
    version: "2",
    method: headers[":method"] ?? "",
    authority: headers[":authority"] ?? headers.host ?? "",
    target: headers[":path"] ?? "",
    headers: new HeaderFields(headers),
  } as const;
}

async function write(stream: ServerHttp2Stream, answer: Answer, headOnly: boolean): Promise<void> {
  if (stream.destroyed || stream.closed) return;
  const { status, headers, body, trailers } = answer;
  const whole = typeof body === "string" || body instanceof Uint8Array;
  const length = whole && !trailers ? { "content-length": Buffer.byteLength(body) } : {};
  if (trailers) stream.on("wantTrailers", () => stream.sendTrailers(trailers()));
  const bare = headOnly || (whole && body.length === 0 && !trailers);
  stream.respond({ ":status": status, ...headers, ...length }, { waitForTrailers: !!trailers, endStream: bare });
  if (bare) return;
  if (!whole) await pour(stream, body);
  if (!stream.destroyed) stream.end(whole ? body : undefined);
}

/** What is left of a request after its answer is read and dropped, for as long as a body may take. */
function finishReading(stream: ServerHttp2Stream, timeoutMs: number): void {
  if (stream.readableEnded || stream.destroyed) return;
  stream.resume();
  const cutting = setTimeout(() => stream.close(), timeoutMs);
  stream.on("close", () => clearTimeout(cutting));
}
