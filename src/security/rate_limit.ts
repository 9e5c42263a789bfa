/** How many calls each key may make per minute, and the maximum number of keys to keep. */
export type RateLimitOptions = { readonly perMinute: number; readonly mostKeys?: number };

/**
 * A token bucket for each key, which holds a minute's calls and refills evenly. Refused calls take none. A key is forgotten once its bucket
 * has been full for a while; beyond the maximum number of keys, the least recently used go first.
 */
export type RateLimit = {
  readonly perMinute: number;
  /** Takes a call; returns how many are left, or -1 if there was none. */
  readonly take: (key: string, now: number) => number;
  /** The number of milliseconds until the key may make a call. */
  readonly waitMs: (key: string, now: number) => number;
  /** The number of milliseconds until the key has all its calls. */
  readonly fullMs: (key: string, now: number) => number;
  /** The number of keys kept. */
  readonly size: () => number;
};

const windowMs = 60_000;

/** The time at which a bucket will be full, which adds up those of its calls. An object, because a map of numbers allocates each. */
type Bucket = { fullAt: number };

/** Makes the buckets; with 0 calls per minute, there is no limit. */
export function rateLimit({ perMinute, mostKeys = 100_000 }: RateLimitOptions): RateLimit {
  if (perMinute === 0) return unlimited;
  const callMs = windowMs / perMinute;
  // Adding times causes rounding errors, which must not cost anybody a call.
  const roundingMs = Math.min(1, callMs / 2);
  // Keys in use move to the newer half. The older half is dropped as a whole, which costs nothing per key.
  let newer = new Map<string, Bucket>();
  let older = new Map<string, Bucket>();
  let renewedAt = 0;

  function renew(now: number): void {
    older = newer;
    newer = new Map();
    renewedAt = now;
  }

  function bucketOf(key: string, now: number): Bucket {
    if (now - renewedAt > windowMs || newer.size >= mostKeys / 2) renew(now);
    const bucket = older.get(key) ?? { fullAt: now };
    older.delete(key);
    newer.set(key, bucket);
    return bucket;
  }

  const fullMs = (key: string, now: number) => {
    const { fullAt } = newer.get(key) ?? older.get(key) ?? { fullAt: now };
    return Math.min(windowMs, Math.max(0, fullAt - now));
  };

  return {
    perMinute,
    take(key, now) {
      const bucket = newer.get(key) ?? bucketOf(key, now);
      const fullAt = Math.max(bucket.fullAt, now) + callMs;
      const leftMs = windowMs + roundingMs - (fullAt - now);
      if (leftMs < 0) return -1;
      bucket.fullAt = fullAt;
      return Math.floor(leftMs / callMs);
    },
    waitMs: (key, now) => Math.max(0, fullMs(key, now) + callMs - windowMs),
    fullMs,
    size: () => newer.size + older.size,
  };
}

const unlimited: RateLimit = {
  perMinute: 0,
  take: () => Number.MAX_SAFE_INTEGER,
  waitMs: () => 0,
  fullMs: () => 0,
  size: () => 0,
};
