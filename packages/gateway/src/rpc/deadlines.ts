/** Something that must end in time. */
export type Due = { due: number; earlier: Due | undefined; later: Due | undefined };

/** Ends what takes too long. */
export type Deadlines<T extends Due> = { readonly add: (one: T) => void; readonly drop: (one: T) => void };

/**
 * Ends each one after the same time. They end in the order they begin, so one timer serves all:
 * a timer for each would be made and cleared for every call, and almost never ring.
 */
export function deadlines<T extends Due>(milliseconds: number, end: (one: T) => void): Deadlines<T> {
  const ring: Due = { due: Number.POSITIVE_INFINITY, earlier: undefined, later: undefined };
  ring.earlier = ring.later = ring;
  const isOurs = (one: Due | undefined): one is T => one !== undefined && one !== ring;
  let isSet = false;

  return {
    add(one) {
      one.due = performance.now() + milliseconds;
      one.later = ring;
      one.earlier = ring.earlier;
      if (ring.earlier) ring.earlier.later = one;
      ring.earlier = one;
      if (!isSet) set(milliseconds);
    },
    drop,
  };

  function set(inMs: number): void {
    isSet = true;
    // It may wait for nobody, and must not hold a process that is done.
    setTimeout(sweep, Math.max(1, inMs)).unref();
  }

  function drop(one: Due): void {
    if (one.earlier) one.earlier.later = one.later;
    if (one.later) one.later.earlier = one.earlier;
    one.earlier = one.later = undefined;
  }

  function sweep(): void {
    isSet = false;
    const now = performance.now();
    for (let one = ring.later; isOurs(one) && one.due <= now; one = ring.later) {
      drop(one);
      end(one);
    }
    if (isOurs(ring.later)) set(ring.later.due - now);
  }
}
