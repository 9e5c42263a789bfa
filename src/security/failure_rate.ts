/** How many failures each key may have in a minute, and of how many keys they are counted at most. */
export type FailureRateOptions = { readonly perMinute: number; readonly mostKeys?: number };

/**
 * Counts failures by key in a bucket that drains evenly within a minute. A failure is forgotten after a minute at the latest, and
 * so is its key; where there are more keys than may be kept, those that failed longest ago are forgotten first.
 */
export type FailureRate = {
  /** The milliseconds until the key may fail again; 0 when it may now. */
  readonly waitMs: (key: string, now: number) => number;
  /** Counts a failure. */
  readonly count: (key: string, now: number) => void;
  /** Takes back a failure that was counted. */
  readonly uncount: (key: string, now: number) => void;
  /** How many keys are kept. */
  readonly size: () => number;
};

const windowMs = 60_000;

/** Makes the counts; with 0 failures per minute nothing is counted and nobody waits. */
export function failureRate({ perMinute, mostKeys = 100_000 }: FailureRateOptions): FailureRate {
  if (perMinute === 0) return unlimited;
  const drainMs = windowMs / perMinute;
  // When the bucket of a key will be empty; in the order of the last change.
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

/** Makes the counts of a limit; its name is the same in every process that counts for it. */
export type MakeFailureRate = (name: string, perMinute: number) => FailureRate;

/** Makes counts of this process alone. */
export const ownFailureRate: MakeFailureRate = (_, perMinute) => failureRate({ perMinute });

/** The counts of a node by their names, each made once. */
export type FailureRates = {
  readonly rateOf: MakeFailureRate;
  /** The milliseconds until the key may fail again in the counts of this name. */
  readonly waitMs: (name: string, key: string) => number;
};

/** Keeps counts by name, so that a gate can ask what a handler counts. */
export function failureRates(make: MakeFailureRate): FailureRates {
  const rates = new Map<string, FailureRate>();
  return {
    rateOf(name, perMinute) {
      const rate = rates.get(name) ?? make(name, perMinute);
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
