import { type Call, keys } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { FailureRate } from "../../security/failure_rate.ts";

/**
 * Counts a request against the limit of its network, or of its network at one object, and refuses it beyond the limit; returns a function
 * that takes the count back.
 */
export function countNetwork(rate: FailureRate, { values }: Call, objectId?: string): () => void {
  const network = values.get(keys.network);
  if (network === undefined) return () => {};
  const key = objectId === undefined ? network : `${network} ${objectId}`;
  const waitMs = rate.waitMs(key, performance.now());
  if (waitMs > 0) throw refuse.because("RATE_LIMIT", { retrySeconds: Math.ceil(waitMs / 1000) });
  rate.count(key, performance.now());
  return () => rate.uncount(key, performance.now());
}
