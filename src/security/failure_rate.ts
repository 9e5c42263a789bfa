/** How many failures each key may have per minute, how many of them at once, and the maximum number of keys to keep. */
export type FailureRateOptions = {
  readonly perMinute: number;
  /** By default, as many as in a minute. */
  readonly atOnce?: number;
  readonly mostKeys?: number;
};

/**
 * Counts failures by key in a leaky bucket that drains evenly. A failure and its key are forgotten once a full bucket would be empty, by
 * default after a minute; beyond the maximum number of keys, those that failed longest ago go first.
 */
export type FailureRate = {
  /** The number of milliseconds until the key may fail again; 0 if it may now. */
  readonly waitMs: (key: string, now: number) => number;
  /** Counts a failure. */
  readonly count: (key: string, now: number) => void;
  /** Takes back a counted failure. */
  readonly uncount: (key: string, now: number) => void;
  /** The number of keys kept. */
  readonly size: () => number;
};

/** Makes the counts; with 0 failures per minute, nothing is counted and nobody waits. */
export function failureRate({ perMinute, atOnce = perMinute, mostKeys = 100_000 }: FailureRateOptions): FailureRate {
  if (perMinute === 0) return unlimited;
  const drainMs = 60_000 / perMinute;
  const windowMs = drainMs * atOnce;
  // The time at which each key's bucket will be empty, in the order of the last change.
  const emptyAt = new Map<string, number>();

  function set(key: string, until: number, now: number): void {
    emptyAt.delete(key);
    if (until > now) emptyAt.set(key, until);
    for (const [oldest, end] of emptyAt) {
      if (end > now && emptyAt.size <= mostKeys) break;
      emptyAt.delete(oldest);
    }
  }

  return {
    waitMs: (key, now) => Math.max(0, (emptyAt.get(key) ?? 0) + drainMs - windowMs - now),
    count: (key, now) => set(key, Math.min(Math.max(emptyAt.get(key) ?? 0, now) + drainMs, now + windowMs), now),
    uncount: (key, now) => set(key, (emptyAt.get(key) ?? 0) - drainMs, now),
    size: () => emptyAt.size,
  };
}

const unlimited: FailureRate = { waitMs: () => 0, count() {}, uncount() {}, size: () => 0 };

/** Makes the counts of a limit, whose name is the same in every process that counts for it. */
export type MakeFailureRate = (name: string, perMinute: number, atOnce?: number) => FailureRate;

/** Makes counts for this process alone. */
export const ownFailureRate: MakeFailureRate = (_, perMinute, atOnce = perMinute) => failureRate({ perMinute, atOnce });

/** A node's counts by name, each made once. */
export type FailureRates = {
  readonly rateOf: MakeFailureRate;
  /** The number of milliseconds until the key may fail again in the counts with this name. */
  readonly waitMs: (name: string, key: string) => number;
};

/** Keeps counts by name, so that a gate can check what a handler counts. */
export function failureRates(make: MakeFailureRate): FailureRates {
  const rates = new Map<string, FailureRate>();
  return {
    rateOf(name, ...limit) {
      const rate = rates.get(name) ?? make(name, ...limit);
      rates.set(name, rate);
      return rate;
    },
    waitMs(name, key) {
      const rate = rates.get(name);
      if (!rate) throw new Error(`no handler counts ${name}`);
      return rate.waitMs(key, performance.now());
    },
  };
}
