import type { Interceptor } from "@connectrpc/connect";
import { keys, shareOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { Parts } from "../security/held_places.ts";
import type { Share } from "../security/turns.ts";
import { callOf, type Next, type StreamRequest, withMessages } from "./interceptor.ts";

/** The maximum number of streams of known callers, and of one of them. */
export type StreamLimits = Readonly<Record<"all" | "ofCaller", number>>;

/**
 * Limits the streams that are open at once on this node: of a caller, and of an organization, which leaves some to others. Each costs
 * memory and, while it catches up with the log, statements, for as long as the caller likes.
 */
export function streamLimit({ all, ofCaller }: StreamLimits): Interceptor {
  const open = new Map<string, number>();
  const parts = new Parts();

  return (next) => (request) => (request.stream ? counted(request, next) : next(request));

  async function counted(request: StreamRequest, next: Next) {
    const call = callOf(request);
    // The gateway limits the streams of unknown callers.
    if (!call.values.get(keys.caller)) return next(request);
    const leave = enter(shareOf(call));
    // An unread stream only ends by its signal.
    request.signal.addEventListener("abort", leave, { once: true });
    try {
      const response = await next(request);
      return response.stream ? withMessages(response, untilTheEnd(response.message, leave)) : response;
    } catch (error) {
      leave();
      throw error;
    }
  }

  function enter(share: Share): () => void {
    const [, caller] = share;
    const count = open.get(caller) ?? 0;
    if (count >= ofCaller || !parts.mayTake(share, all)) throw refuse.because("OVERLOADED", { retrySeconds: 1 });
    open.set(caller, count + 1);
    parts.take(share);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      parts.give(share);
      const left = (open.get(caller) ?? 1) - 1;
      if (left > 0) open.set(caller, left);
      else open.delete(caller);
    };
  }
}

async function* untilTheEnd<T>(messages: AsyncIterable<T>, leave: () => void): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    leave();
  }
}
