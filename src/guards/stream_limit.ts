import type { Interceptor } from "@connectrpc/connect";
import { keys } from "../deps.ts";
import { refuse } from "../errors.ts";
import { callOf, type Next, type StreamRequest, withMessages } from "./interceptor.ts";

/**
 * Limits the streams that a caller has open at once on this node. Each costs memory and, while it catches up with the log, statements, for
 * as long as the caller likes.
 */
export function streamLimit(most: number): Interceptor {
  const open = new Map<string, number>();

  return (next) => (request) => (request.stream ? counted(request, next) : next(request));

  async function counted(request: StreamRequest, next: Next) {
    const caller = callOf(request).values.get(keys.caller);
    // The gateway limits the streams of unknown callers.
    if (!caller) return next(request);
    const leave = enter(caller.userId);
    // A stream that nobody reads only ends by its signal.
    request.signal.addEventListener("abort", leave, { once: true });
    try {
      const response = await next(request);
      return response.stream ? withMessages(response, untilTheEnd(response.message, leave)) : response;
    } catch (error) {
      leave();
      throw error;
    }
  }

  function enter(caller: string): () => void {
    const count = open.get(caller) ?? 0;
    if (count >= most) throw refuse.because("OVERLOADED", { retrySeconds: 1 });
    open.set(caller, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
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
