import { currentShares } from "./current_share.ts";
import { type Share, Turns } from "./turns.ts";

// A few times the needs of a usual call, so that only batches, pages and streams are ever cut up.
const pieceMs = 1;

const waiting = new Turns<() => void>();
/** The time at which long work began in this iteration of the event loop; undefined if there was none so far. */
let began: number | undefined;

/**
 * Called between the steps of long work. Returns a promise if such work has held the event loop for a millisecond: it continues when its
 * turn comes. Each iteration of the loop has one turn, and organizations take turns.
 */
export function pause(share?: Share): Promise<void> | undefined {
  const now = performance.now();
  if (began === undefined) {
    began = now;
    setImmediate(proceed);
    return undefined;
  }
  if (now - began < pieceMs) return undefined;
  return new Promise((resolve) => waiting.add(share ?? currentShares()[0], resolve));
}

function proceed(): void {
  const next = waiting.next();
  began = next && performance.now();
  if (!next) return;
  setImmediate(proceed);
  next();
}

/** Maps a list in pieces; `map` is called with each item and its index, in order. */
export async function mapInPieces<T, R>(items: readonly T[], map: (item: T, index: number) => R): Promise<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(map(item, index));
    if (index % itemsOfStep === itemsOfStep - 1) await pause();
  }
  return results;
}

const itemsOfStep = 16;
