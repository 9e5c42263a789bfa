import { currentShares, type Shares } from "./current_share.ts";
import { createLimiter, type Limits } from "./limiter.ts";
import type { Share } from "./turns.ts";

/** The shares that work is for, by default those of the current work, and the signal that aborts when it is no longer wanted. */
type Wanted = { readonly shares?: Shares; readonly signal?: AbortSignal | undefined };

/** Runs work once it has a place; rejects if none becomes free in time, and at once if the work is no longer wanted before it begins. */
export type InPlace = <T>(work: () => Promise<T>, wanted?: Wanted) => Promise<T>;

/** No place became free in time. */
export class NoPlace extends Error {
  override readonly name = "NoPlace";
}

/** Makes a number of places for work, which organizations share as they share statements. */
export function placesFor(limits: Limits): InPlace {
  const limiter = createLimiter(limits);
  const taken = (shares: Shares, signal: AbortSignal | undefined) =>
    new Promise<Share>((resolve, reject) => {
      const settled = (settle: () => void) => {
        signal?.removeEventListener("abort", giveUp);
        settle();
      };
      const giveUp = () => {
        leaveQueue();
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      const leaveQueue = limiter.enter(
        {
          start: (share) => settled(() => resolve(share)),
          refuse: () => settled(() => reject(new NoPlace("no place"))),
        },
        shares,
      );
    });
  return async (work, { shares = currentShares(), signal } = {}) => {
    signal?.throwIfAborted();
    const share = await taken(shares, signal);
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      limiter.leave(share);
    }
  };
}
