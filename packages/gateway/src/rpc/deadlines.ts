/** An entry in the list of deadlines, linked in chronological order. */
export type Due = { due: number; earlier: Due | undefined; later: Due | undefined };

/** Tracks entries that all have the same time limit. */
export type Deadlines<T extends Due> = { readonly add: (entry: T) => void; readonly drop: (entry: T) => void };

/**
 * Calls `onExpired` with each entry that is still tracked after `milliseconds`. Entries expire in the order they were added, so a single
 * timer serves all of them; a timer per call would be created and cleared, and almost never fire.
 */
export function deadlines<T extends Due>(milliseconds: number, onExpired: (entry: T) => void): Deadlines<T> {
  const ring: Due = { due: Number.POSITIVE_INFINITY, earlier: undefined, later: undefined };
  ring.earlier = ring.later = ring;
  const isEntry = (entry: Due | undefined): entry is T => entry !== undefined && entry !== ring;
  let hasTimer = false;

  return {
    add(entry) {
      entry.due = performance.now() + milliseconds;
      entry.later = ring;
      entry.earlier = ring.earlier;
      if (ring.earlier) ring.earlier.later = entry;
      ring.earlier = entry;
      if (!hasTimer) startTimer(milliseconds);
    },
    drop,
  };

  function startTimer(inMs: number): void {
    hasTimer = true;
    // The timer may have no entries left, and must not keep the process alive.
    setTimeout(expireDue, Math.max(1, inMs)).unref();
  }

  function drop(entry: Due): void {
    if (entry.earlier) entry.earlier.later = entry.later;
    if (entry.later) entry.later.earlier = entry.earlier;
    entry.earlier = entry.later = undefined;
  }

  function expireDue(): void {
    hasTimer = false;
    const now = performance.now();
    for (let entry = ring.later; isEntry(entry) && entry.due <= now; entry = ring.later) {
      drop(entry);
      onExpired(entry);
    }
    if (isEntry(ring.later)) startTimer(ring.later.due - now);
  }
}
