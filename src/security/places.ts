import { currentShares, type Shares } from "./current_share.ts";
import { createLimiter, type Limits } from "./limiter.ts";
import type { Share } from "./turns.ts";

/** Runs work once it has a place, for whoever it is for; rejects if none becomes free in time. */
export type InPlace = <T>(work: () => Promise<T>, shares?: Shares) => Promise<T>;

/** No place became free in time. */
export class NoPlace extends Error {
  override readonly name = "NoPlace";
}

/** Makes a number of places for work, which organizations share as they share statements. */
export function placesFor(limits: Limits): InPlace {
  const limiter = createLimiter(limits);
  const taken = (shares: Shares) =>
    new Promise<Share>((start, reject) =>
      limiter.enter({ start, refuse: () => reject(new NoPlace("no place")) }, shares),
    );
  return async (work, shares = currentShares()) => {
    const share = await taken(shares);
    try {
      return await work();
    } finally {
      limiter.leave(share);
    }
  };
}
