/** Caches a result for `freshMs`, however many callers there are, because they may be unknown. */
export function seldom<T>(load: () => Promise<T>, freshMs: number): () => Promise<T> {
  let last: { readonly result: Promise<T>; until: number } | undefined;
  return () => {
    if (last && performance.now() < last.until) return last.result;
    const current = { result: load(), until: Infinity };
    const settled = () => {
      current.until = performance.now() + freshMs;
    };
    current.result.then(settled, settled);
    last = current;
    return current.result;
  };
}
