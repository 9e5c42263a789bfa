import { setTimeout as pause } from "node:timers/promises";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";

const tries = 8;
const longestPauseMs = 30_000;

/**
 * Repeats calls that the service had no capacity for, or that were lost on the way. If the first attempt took effect, the object is found
 * by its name or id.
 */
export const retried: Interceptor = (next) => async (request) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await next(request);
    } catch (error) {
      const known = ConnectError.from(error);
      if (attempt === tries || !isTransient(known) || request.signal.aborted) throw known;
      await pause(pauseMs(known, attempt), undefined, { signal: request.signal });
    }
  }
};

const transient = [Code.Unavailable, Code.Aborted, Code.DeadlineExceeded];

const isTransient = (error: ConnectError): boolean =>
  transient.includes(error.code) || (error.code === Code.ResourceExhausted && retryMs(error) > 0);

const pauseMs = (error: ConnectError, attempt: number): number =>
  Math.min(longestPauseMs, retryMs(error) || 100 * 2 ** attempt);

function retryMs(error: ConnectError): number {
  const [retry] = error.findDetails(RetryInfoSchema);
  const { seconds = 0n, nanos = 0 } = retry?.retryDelay ?? {};
  return Number(seconds) * 1000 + nanos / 1e6;
}
