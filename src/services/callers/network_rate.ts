import { type Call, keys } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { FailureRate } from "../../security/failure_rate.ts";

/** Counts a request against the limit of its network, and refuses it beyond the limit; returns a function that takes the count back. */
export function countNetwork(rate: FailureRate, { values }: Call): () => void {
  const network = values.get(keys.network);
  if (network === undefined) return () => {};
  const waitMs = rate.waitMs(network, performance.now());
  if (waitMs > 0) throw refuse.because("RATE_LIMIT", { retrySeconds: Math.ceil(waitMs / 1000) });
  rate.count(network, performance.now());
  return () => rate.uncount(network, performance.now());
}
