import { type FailureRate, failureRate, type MakeFailureRate } from "../security/failure_rate.ts";
import type { Parent } from "./parent.ts";

/** Makes failure counts that the workers of a node share: what one of them counts, the others count a moment later. */
export function sharedFailureRates({
  announce,
  onAnnounced,
}: Pick<Parent, "announce" | "onAnnounced">): MakeFailureRate {
  const rates = new Map<string, FailureRate[]>();
  onAnnounced(({ limit, key, change }) => {
    for (const rate of rates.get(limit) ?? [])
      if (change > 0) rate.count(key, performance.now());
      else rate.uncount(key, performance.now());
  });
  return (limit, perMinute, atOnce = perMinute) => {
    const rate = failureRate({ perMinute, atOnce });
    rates.set(limit, [...(rates.get(limit) ?? []), rate]);
    if (perMinute === 0) return rate;
    return {
      waitMs: rate.waitMs,
      size: rate.size,
      count(key, now) {
        rate.count(key, now);
        announce({ limit, key, change: 1 });
      },
      uncount(key, now) {
        rate.uncount(key, now);
        announce({ limit, key, change: -1 });
      },
    };
  };
}
