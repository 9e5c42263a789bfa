import type { NewFact } from "./fact.ts";
import type { StoredEvent } from "./follow.ts";

/** The parts of a fact that caches need. */
export type Happened = Pick<StoredEvent, "type" | "owner" | "stream"> & Partial<Pick<StoredEvent, "aboutUserId">>;

/** The same of a fact that was appended here. */
export function happenedBy({ type, at, payload, about }: NewFact): Happened {
  const named = typeof payload === "object" && payload !== null && "userId" in payload ? payload.userId : undefined;
  return { type, owner: at.owner, stream: at.stream, aboutUserId: about ?? (typeof named === "string" ? named : null) };
}

/** A fact that evicts every value. */
export const everything: unique symbol = Symbol("everything");

/** The values that a fact evicts: those that depend on the objects with these ids, every value, or none. */
export type Ended = string | readonly string[] | typeof everything | undefined;

/** A cache whose values are evicted by the facts that make them wrong. */
export type FactCache<T> = {
  /** A cached value; undefined if it has to be looked up. */
  readonly cached: (key: string) => T | undefined;
  /** Looks a value up, and caches it unless it was evicted meanwhile. Misses are not cached, because the object may be created next. */
  readonly look: (key: string, lookup: () => Promise<T | undefined>) => Promise<T | undefined>;
};

export type FactCacheOptions<T> = {
  readonly endedBy: (fact: Happened) => Ended;
  /** The ids of the objects that a value depends on. */
  readonly idsOf: (value: T) => readonly string[];
  /** The time until which a value may be cached, in milliseconds since 1970. */
  readonly endOf: (value: T) => number;
  readonly most: number;
};

export type OpenFactCache = <T>(options: FactCacheOptions<T>) => FactCache<T>;

type Opened = { readonly forget: (fact: Happened) => void; readonly forgetAll: () => void };

export type FactCachesOptions = {
  readonly clock: () => Date;
  /** A monotonic clock in milliseconds: if the wall clock were set back, values would live longer by as much. */
  readonly elapsed?: () => number;
  /** How long values are cached; 0 caches none. */
  readonly seconds: number;
};

/**
 * Makes the caches of a node. A fact drops the values that it evicts immediately on this node, and on other nodes when they read the fact;
 * even if none is read, no value is cached for longer than the seconds. Values that may become wrong without a fact do not belong here.
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

function factCache<T>(
  { clock, elapsed = () => performance.now(), seconds }: FactCachesOptions,
  { endedBy, idsOf, endOf, most }: FactCacheOptions<T>,
): FactCache<T> & Opened {
  const kept = keptValues<T>(most);
  const ends = recentEnds(most);

  return {
    cached(key) {
      const known = kept.get(key);
      if (known && known.until > elapsed() && known.endsAt > clock().getTime()) return known.value;
      if (known) kept.drop(key);
      return undefined;
    },
    async look(key, lookup) {
      const since = elapsed();
      const begun = ends.begin();
      try {
        const value = await lookup();
        kept.drop(key);
        if (value !== undefined) keep(key, { value, until: since + seconds * 1000, begun });
        return value;
      } finally {
        ends.finish();
      }
    },
    forget(fact) {
      const ended = endedBy(fact);
      if (ended === undefined) return;
      const all: readonly (string | typeof everything)[] = typeof ended === "object" ? ended : [ended];
      for (const one of all) {
        ends.note(one);
        if (one === everything) kept.clear();
        else kept.dropOf(one);
      }
    },
    forgetAll() {
      ends.note(everything);
      kept.clear();
    },
  };

  function keep(key: string, { value, until, begun }: { value: T; until: number; begun: number }): void {
    const [ids, endsAt] = [idsOf(value), endOf(value)];
    if (seconds <= 0 || endsAt <= clock().getTime() || ends.isEnded(ids, begun)) return;
    kept.dropOver(elapsed());
    kept.set(key, { value, ids, until, endsAt });
  }
}

/** A value is dropped at the first of these: after the seconds, by the monotonic clock, or at its own end, by the wall clock. */
type Cached<T> = {
  readonly value: T;
  readonly ids: readonly string[];
  readonly until: number;
  readonly endsAt: number;
};

/** The values, also by the ids that they depend on: the cost of a fact depends on the values that it evicts, not on how many there are. */
function keptValues<T>(most: number) {
  const kept = new Map<string, Cached<T>>();
  const keysOf = new Map<string, Set<string>>();

  return {
    get: (key: string) => kept.get(key),
    drop,
    dropOf(id: string): void {
      for (const key of keysOf.get(id) ?? []) drop(key);
    },
    /** Drops expired values: those cached first. */
    dropOver(now: number): void {
      for (const [key, { until }] of kept) {
        if (until > now) return;
        drop(key);
      }
    },
    set(key: string, cached: Cached<T>): void {
      if (kept.size >= most) drop(kept.keys().next().value ?? "");
      kept.set(key, cached);
      for (const id of cached.ids) keysOf.set(id, (keysOf.get(id) ?? new Set()).add(key));
    },
    clear(): void {
      kept.clear();
      keysOf.clear();
    },
  };

  function drop(key: string): void {
    for (const id of kept.get(key)?.ids ?? []) {
      const keys = keysOf.get(id);
      keys?.delete(key);
      if (keys?.size === 0) keysOf.delete(id);
    }
    kept.delete(key);
  }
}

/** The evictions during lookups: a lookup that began before a fact must not be cached after it. */
function recentEnds(most: number) {
  const lastOf = new Map<string, number>();
  let [last, lastOfAll, underWay] = [0, 0, 0];

  return {
    /** Returns the number of the last eviction before a lookup. */
    begin(): number {
      underWay++;
      return last;
    },
    finish(): void {
      underWay--;
      if (underWay === 0) lastOf.clear();
    },
    note(ended: string | typeof everything): void {
      last++;
      if (underWay === 0) return;
      if (ended !== everything && lastOf.size < most) lastOf.set(ended, last);
      else {
        lastOf.clear();
        lastOfAll = last;
      }
    },
    isEnded: (ids: readonly string[], begun: number): boolean =>
      lastOfAll > begun || ids.some((id) => (lastOf.get(id) ?? 0) > begun),
  };
}
