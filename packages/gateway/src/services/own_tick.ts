import { setImmediate as nextTick } from "node:timers/promises";

let last: Promise<void> = Promise.resolve();

/**
 * Waits for a tick of the event loop that no other waiter has. Documents cost their reader a few bytes but the server much more, so they
 * are sent one at a time, and calls are served in between.
 */
export function ownTick(): Promise<void> {
  last = last.then(() => nextTick());
  return last;
}
