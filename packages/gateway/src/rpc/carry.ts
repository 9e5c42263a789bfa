import { refuse } from "../../../../src/errors.ts";
import { noRoom } from "../http/body_budget.ts";
import { BodyBuffer } from "../http/body_buffer.ts";
import { httpDate } from "../http/date.ts";
import type { Exchange } from "../http/exchange.ts";
import { tooLarge } from "../limits/message_limit.ts";
import { isLate } from "./deadline.ts";
import type { Door } from "./door.ts";
import { HeaderFields } from "./protocols/protocol.ts";
import type { Answer, Asked } from "./request.ts";

/** What bounds a request. */
export type CarryLimits = { readonly messageMaxBytes: number; readonly bodyTimeoutMs: number };

/** Carries requests and answers to and from a door; answers when the exchange is over. */
export function carryTo(door: Door, limits: CarryLimits, stopping: AbortSignal) {
  return async (exchange: Exchange): Promise<void> => {
    const gone = new AbortController();
    const timers = new Set<NodeJS.Timeout>();
    const closed = () => {
      for (const timer of timers) clearTimeout(timer);
      if (!exchange.complete) gone.abort();
    };
    exchange.onClose = closed;
    const { headers } = exchange;
    const asked: Asked = {
      ...requestOf(exchange),
      ...{ signal: gone.signal, stopping, messageMaxBytes: limits.messageMaxBytes },
      expire: (milliseconds) => {
        // A timer rings after a millisecond at the soonest, when the answer may be out already.
        if (milliseconds <= 0) gone.abort(late());
        else timers.add(setTimeout(() => gone.abort(late()), milliseconds));
      },
      body: async (mostBytes = limits.messageMaxBytes) => {
        if (Number(headers["content-length"] ?? 0) > mostBytes) throw tooLarge(mostBytes);
        return collect(exchange, gone.signal, { mostBytes, timeoutMs: limits.bodyTimeoutMs });
      },
      chunks: () => exchange.chunks(),
    };
    const answer = await door(asked);
    const headOnly = asked.method === "HEAD";
    if (headOnly) gone.abort();
    await write(exchange, answer, headOnly);
  };
}

// Made when it is needed: it costs a stack.
const late = () => new DOMException("the deadline of the call is over", "TimeoutError");

function requestOf({ version, method, target, authority = "", headers, flaw, account }: Exchange) {
  return { version, method, authority, target, flaw, account, headers: new HeaderFields(headers) } as const;
}

type Bounds = { readonly mostBytes: number; readonly timeoutMs: number };

/** Reads a body whole, or refuses one that is too large, or does not come in time. */
function collect(exchange: Exchange, gone: AbortSignal, { mostBytes, timeoutMs }: Bounds): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const body = new BodyBuffer(exchange.account);
  const overloaded = () => reject(noRoom());
  let isRefused = false;
  // A connection of HTTP/1.1 looks after its one request itself.
  const isOurs = exchange.version === "2";
  const cutting = isOurs ? setTimeout(() => reject(refuse.because("DEADLINE_EXCEEDED")), timeoutMs) : undefined;
  const cancel = () => reject(refuse.because(isLate(gone) ? "DEADLINE_EXCEEDED" : "CANCELLED"));
  if (exchange.closed) cancel();
  gone.addEventListener("abort", cancel);
  exchange.receive({
    overloaded,
    data(part) {
      // The rest is read and dropped, so that the refusal arrives.
      if (isRefused) return;
      const isTooLarge = body.length + part.length > mostBytes;
      isRefused = isTooLarge || !body.add(part);
      if (!isRefused) return;
      body.clear();
      if (isTooLarge) reject(tooLarge(mostBytes));
      else overloaded();
    },
    end: () => resolve(body.bytes),
  });
  return promise.finally(() => {
    clearTimeout(cutting);
    gone.removeEventListener("abort", cancel);
  });
}

async function write(exchange: Exchange, answer: Answer, headOnly: boolean): Promise<void> {
  const { status, body } = answer;
  const headers = { ...answer.headers, date: httpDate() };
  if (typeof body === "string" || body instanceof Uint8Array) {
    const trailers = answer.trailers?.();
    const length = trailers || status === 204 ? {} : { "content-length": String(Buffer.byteLength(body)) };
    exchange.answer({ status, headers: { ...headers, ...length }, body: headOnly ? undefined : body, trailers });
    return;
  }
  if (headOnly) return exchange.answer({ status, headers });
  exchange.begin(status, headers);
  for await (const part of body) {
    if (exchange.closed) return;
    await exchange.write(typeof part === "string" ? Buffer.from(part) : part);
  }
  exchange.finish(answer.trailers?.());
}
