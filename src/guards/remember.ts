/** Keeps what a lookup found, the newest `most` of it. Misses are not kept: what is missing now may be created next. */
export function remember<T>(lookup: (id: string) => Promise<T | undefined>, most = 100_000) {
  const kept = new Map<string, T>();
  return async (id: string): Promise<T | undefined> => {
    const known = kept.get(id);
    if (known !== undefined) return renew(id, known);
    const found = await lookup(id);
    return found === undefined ? undefined : renew(id, found);
  };

  function renew(id: string, value: T): T {
    kept.delete(id);
    kept.set(id, value);
    if (kept.size > most) kept.delete(kept.keys().next().value ?? "");
    return value;
  }
}
