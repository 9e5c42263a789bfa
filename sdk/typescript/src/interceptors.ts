import { MethodOptions_IdempotencyLevel as IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { retryPolicy } from "./retry_policy.ts";

/** Returns the token of the caller before each call, so that it can be a fresh one. Without one, the call has no token. */
export type TokenProvider = () => string | undefined | Promise<string | undefined>;

/** Sends a token with each call that has none of its own. */
export function withToken(provider: TokenProvider): Interceptor {
  return (next) => async (request) => {
    if (!request.header.has("authorization")) {
      const token = await provider();
      if (token) request.header.set("authorization", `Bearer ${token.trim()}`);
    }
    return next(request);
  };
}

/** Sends an idempotency key with each write that has none of its own, so that the write may be repeated. */
export function withIdempotencyKeys(): Interceptor {
  return (next) => (request) => {
    const isWrite = !request.stream && request.method.idempotency !== IdempotencyLevel.NO_SIDE_EFFECTS;
    if (isWrite && !request.header.has("idempotency-key"))
      request.header.set("idempotency-key", globalThis.crypto.randomUUID());
    return next(request);
  };
}

/**
 * Repeats calls that found no server, by the policy of the service: up to five attempts, with growing pauses. A connection that breaks
 * during a call counts as such, which is safe for reads and for writes with an idempotency key.
 */
export function withRetries(): Interceptor {
  return (next) => async (request) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await next(request);
      } catch (error) {
        const isLast = request.stream || attempt >= retryPolicy.maxAttempts || request.signal.aborted;
        if (isLast || !isRetryable(error)) throw error;
      }
      await sleep(waitAfter(attempt), request.signal);
    }
  };
}

/** Called with errors of calls that the caller did not cancel. */
function isRetryable(error: unknown): boolean {
  const { code, details } = ConnectError.from(error);
  // Connect for Node reports a broken connection like this. Every refusal of the service has details.
  if (details.length === 0 && (code === Code.Canceled || code === Code.Aborted)) return true;
  const name = Code[code]?.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  return name !== undefined && retryPolicy.retryableStatusCodes.includes(name);
}

/** A random part of the wait: clients that lost the same node do not come back at once. */
function waitAfter(attempt: number): number {
  const { initialBackoff, maxBackoff, backoffMultiplier } = retryPolicy;
  const longest = milliseconds(initialBackoff) * backoffMultiplier ** (attempt - 1);
  return Math.random() * Math.min(milliseconds(maxBackoff), longest);
}

const milliseconds = (seconds: string): number => 1000 * Number.parseFloat(seconds);

/** Ends early when the call is cancelled or its deadline passes: the next attempt then fails with the reason. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    function end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
  });
}
