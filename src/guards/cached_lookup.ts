/**
 * Caches the values that a lookup found: the newest `most`, and up to as many older ones. Misses are not cached, because the object may be
 * created next.
 */
export function cachedLookup<T>(lookup: (id: string) => Promise<T | undefined>, most = 100_000) {
  // Two generations instead of an LRU order: a hit moves nothing, and nothing is deleted individually.
  let young = new Map<string, T>();
  let old = young;
  return async (id: string): Promise<T | undefined> => {
    const known = young.get(id);
    if (known !== undefined) return known;
    const found = old.get(id) ?? (await lookup(id));
    return found === undefined ? undefined : keep(id, found);
  };

  function keep(id: string, value: T): T {
    if (young.size >= most) [old, young] = [young, new Map()];
    young.set(whole(id), value);
    return value;
  }
}

/** Copies a text, because V8 keeps the whole request head alive for a slice of it. */
const whole = (id: string): string => Buffer.from(id).toString();
