import { setTimeout as sleep } from "node:timers/promises";
import { currentWork } from "./current_share.ts";
import { unknownCallers } from "./turns.ts";

/** Runs work once it is its group's turn; rejects if it is no longer wanted by then. */
export type AtItsPace = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

// Work that takes a quarter of the time leaves others three quarters.
const timesRest = 3;
const longestRestMs = 3_000;

/** Waits for some time, or until the signal aborts. */
export const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

/** The length of the rest after heavy work while others call. */
export const restAfter = (tookMs: number): number => Math.min(timesRest * tookMs, longestRestMs);

/**
 * Makes a pace for heavy work. While several groups call, the work of each is done one after the other, and it rests three times as long as
 * it took, so that others find the processor and the database free most of the time. A group that is alone need not wait.
 */
export function pace(): AtItsPace {
  // The end of the latest work of each group, and of the rest after it.
  const ends = new Map<string, Promise<void>>();
  return async (work, signal) => {
    const whom = currentWork();
    const [[group]] = whom.shares;
    const before = ends.get(group);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    ends.set(group, end);
    const over = () => {
      if (ends.get(group) === end) ends.delete(group);
      resolve();
    };
    let began: number | undefined;
    try {
      if (before && whom.isShared) await before;
      signal?.throwIfAborted();
      began = performance.now();
      return await work();
    } finally {
      const tookMs = began === undefined ? 0 : performance.now() - began;
      if (tookMs > 0 && whom.isShared) setTimeout(over, restAfter(tookMs)).unref();
      else over();
    }
  };
}

// Somebody who looks at pages calls every few seconds.
const sharedMs = 5_000;

/** Tells whether members of more than one group have called in the last few seconds. */
export class Traffic {
  #latest: string | undefined;
  #alternatedAt = Number.NEGATIVE_INFINITY;

  /** Notes a call. Unknown callers do not count: they would slow down everybody else. */
  note(group: string): void {
    if (group === this.#latest || group === unknownCallers) return;
    if (this.#latest !== undefined) this.#alternatedAt = performance.now();
    this.#latest = group;
  }

  get isShared(): boolean {
    return performance.now() - this.#alternatedAt < sharedMs;
  }
}
