import { refuse } from "../errors.ts";
import type { Door } from "./door.ts";
import type { Answer, Asked } from "./exchange.ts";
import { codes } from "./h2/protocol.ts";
import type { Stream } from "./h2/stream.ts";
import { httpDate } from "./http_date.ts";
import { HeaderFields } from "./lane/protocol.ts";

/** What bounds a request over HTTP/2. */
export type Http2Limits = { readonly messageMaxBytes: number; readonly bodyTimeoutMs: number };

/** Carries requests and answers of HTTP/2 to and from a door; answers when the exchange is over. */
export function http2(door: Door, limits: Http2Limits, stopping: AbortSignal) {
  return async (stream: Stream): Promise<void> => {
    const gone = new AbortController();
    const timers = new Set<NodeJS.Timeout>();
    stream.onClose = () => {
      for (const timer of timers) clearTimeout(timer);
      if (!stream.complete) gone.abort();
    };
    const { headers } = stream;
    const asked: Asked = {
      ...requestOf(stream),
      ...{ signal: gone.signal, stopping, messageMaxBytes: limits.messageMaxBytes },
      expire: (milliseconds) => void timers.add(setTimeout(() => gone.abort(late()), milliseconds)),
      body: async (mostBytes = limits.messageMaxBytes) => {
        if (Number(headers["content-length"] ?? 0) > mostBytes) throw refuse.because("BODY_TOO_LARGE");
        return collect(stream, gone.signal, { mostBytes, timeoutMs: limits.bodyTimeoutMs });
      },
      chunks: () => stream.chunks(),
    };
    const answer = await door(asked);
    const headOnly = asked.method === "HEAD";
    if (headOnly) gone.abort();
    await write(stream, answer, headOnly);
  };
}

// Made when it is needed: it costs a stack.
const late = () => new DOMException("the deadline of the call is over", "TimeoutError");

function requestOf({ headers, tooLarge }: Stream) {
  return {
    version: "2",
    method: headers[":method"] ?? "",
    authority: headers[":authority"] ?? headers.host ?? "",
    target: headers[":path"] ?? "",
    flaw: tooLarge ? "HEADERS_TOO_LARGE" : undefined,
    headers: new HeaderFields(headers),
  } as const;
}

type Bounds = { readonly mostBytes: number; readonly timeoutMs: number };

/** Reads a body whole, or refuses one that is too large, or does not come in time. */
function collect(stream: Stream, gone: AbortSignal, { mostBytes, timeoutMs }: Bounds): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const parts: Buffer[] = [];
  let size = 0;
  const cutting = setTimeout(() => reject(refuse.because("DEADLINE_EXCEEDED")), timeoutMs);
  const cancel = () => reject(refuse.because("CANCELLED"));
  if (stream.closed) cancel();
  gone.addEventListener("abort", cancel);
  stream.receive({
    data(part) {
      size += part.length;
      if (size <= mostBytes) return void parts.push(part);
      // The rest is read and dropped, so that the refusal arrives.
      parts.length = 0;
      reject(refuse.because("BODY_TOO_LARGE"));
    },
    end: () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)),
  });
  return promise.finally(() => {
    clearTimeout(cutting);
    gone.removeEventListener("abort", cancel);
  });
}

async function write(stream: Stream, answer: Answer, headOnly: boolean): Promise<void> {
  const { status, body } = answer;
  const headers = { ...answer.headers, date: httpDate() };
  if (typeof body === "string" || body instanceof Uint8Array) {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const trailers = answer.trailers?.();
    const length = trailers || status === 204 ? {} : { "content-length": String(bytes.length) };
    stream.answer({ status, headers: { ...headers, ...length }, body: headOnly ? undefined : bytes, trailers });
    return;
  }
  if (headOnly) return stream.answer({ status, headers });
  stream.begin(status, headers);
  for await (const part of body) {
    if (stream.closed) return;
    await stream.write(typeof part === "string" ? Buffer.from(part) : part);
  }
  stream.finish(answer.trailers?.());
}

/** Gives up a stream whose answer failed. */
export const giveUp = (stream: Stream): void => stream.close(codes.internal);
