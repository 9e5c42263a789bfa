import type { StoredEvent } from "./follow.ts";

/** What caches need to know of a fact. */
export type Happened = Pick<StoredEvent, "type" | "owner" | "stream">;

/** A cache whose values end with the facts that make them wrong. */
export type FactCache<T> = {
  /** A cached value; undefined if it has to be looked up. */
  readonly cached: (key: string) => T | undefined;
  /** Looks a value up, and caches it unless it has ended meanwhile. Misses are not cached, because the object may be created next. */
  readonly look: (key: string, lookup: () => Promise<T | undefined>) => Promise<T | undefined>;
};

export type FactCacheOptions<T> = {
  /** Returns which values a fact ends; undefined if it ends none. */
  readonly endedBy: (fact: Happened) => Ends<T> | undefined;
  /** Until when a value may be cached, in milliseconds since 1970. */
  readonly endOf: (value: T) => number;
  readonly most: number;
};

export type OpenFactCache = <T>(options: FactCacheOptions<T>) => FactCache<T>;

type Ends<T> = (value: T) => boolean;
type Opened = { readonly forget: (fact: Happened) => void; readonly forgetAll: () => void };

export type FactCachesOptions = {
  readonly clock: () => Date;
  /** A monotonic clock in milliseconds: if the other one were set back, values would live longer by as much. */
  readonly elapsed?: () => number;
  /** How long values are cached; 0 caches none. */
  readonly seconds: number;
};

/**
 * Makes the caches of a node. A fact drops the values that it ends immediately on this node, and on other nodes when they read the fact; no
 * value is cached for longer than the seconds, if none is read. What may end without a fact does not belong here.
 */
export function factCaches(options: FactCachesOptions) {
  const all: Opened[] = [];
  return {
    open<T>(of: FactCacheOptions<T>): FactCache<T> {
      const { forget, forgetAll, ...cache } = factCache(options, of);
      all.push({ forget, forgetAll });
      return cache;
    },
    forget(fact: Happened): void {
      for (const one of all) one.forget(fact);
    },
    /** Drops all values, because facts may have been missed. */
    forgetAll(): void {
      for (const one of all) one.forgetAll();
    },
  };
}

// A value is dropped at the first of these: after the seconds, by the monotonic clock, or at its own end, by the wall clock.
type Cached<T> = { readonly value: T; readonly until: number; readonly endsAt: number };

function factCache<T>(
  { clock, elapsed = () => performance.now(), seconds }: FactCachesOptions,
  { endedBy, endOf, most }: FactCacheOptions<T>,
): FactCache<T> & Opened {
  const kept = new Map<string, Cached<T>>();
  const underWay = new Set<Ends<T>[]>();

  return {
    cached(key) {
      const known = kept.get(key);
      if (known && known.until > elapsed() && known.endsAt > clock().getTime()) return known.value;
      if (known) kept.delete(key);
      return undefined;
    },
    async look(key, lookup) {
      const since = elapsed();
      // A lookup that began before a fact must not be cached after it.
      const meanwhile: Ends<T>[] = [];
      underWay.add(meanwhile);
      const value = await lookup().finally(() => underWay.delete(meanwhile));
      kept.delete(key);
      if (value !== undefined && seconds > 0 && !meanwhile.some((ends) => ends(value))) keep(key, value, since);
      return value;
    },
    forget(fact) {
      const ends = endedBy(fact);
      if (ends) drop(ends);
    },
    forgetAll: () => drop(() => true),
  };

  function keep(key: string, value: T, since: number): void {
    if (kept.size >= most) kept.delete(kept.keys().next().value ?? "");
    kept.set(key, { value, until: since + seconds * 1000, endsAt: endOf(value) });
  }

  function drop(ends: Ends<T>): void {
    for (const meanwhile of underWay) meanwhile.push(ends);
    for (const [key, { value }] of kept) if (ends(value)) kept.delete(key);
  }
}
