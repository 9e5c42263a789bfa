import { setTimeout as sleep } from "node:timers/promises";
import { currentWork, type WorkedFor } from "./current_share.ts";
import { type Share, Turns, unknownCallers } from "./turns.ts";

/** The turn of heavy work; disposing of it ends the turn. */
export type Turn = Disposable & {
  /** Begins the work, which may have waited for something else in its turn. A turn without work is followed by no rest. */
  readonly begin: () => void;
  /** Whether the turn is over. */
  readonly isOver: boolean;
};

export type TurnOptions = {
  /** Aborts when the work is no longer wanted. */
  readonly signal?: AbortSignal | undefined;
  /** The time after which the turn ends by itself, for work that others can hold up. */
  readonly longestMs?: number;
  /** The member of its group for which the work counts, by default its caller. */
  readonly member?: string;
};

/** Waits for the turn of heavy work. Rejects if the work is no longer wanted before its turn. */
export type TakeTurn = (options?: TurnOptions) => Promise<Turn>;

// Work that takes a quarter of the time leaves others three quarters.
const timesRest = 3;
const longestRestMs = 3_000;

/** The length of the rest after heavy work while others call. */
export const restAfter = (tookMs: number): number => Math.min(timesRest * tookMs, longestRestMs);

/** Waits for some time, or until the signal aborts. */
export const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

/**
 * Makes a pace for heavy work. While several groups call, the work of each is done one after the other, and it rests three times as long as
 * it took, so that others find the processor and the database free most of the time. Members of a group take turns. A group that is alone
 * need not wait.
 */
export function pace(): TakeTurn {
  // A group has a line as long as work of it is under way, or rests.
  const lines = new Map<string, Turns<() => void>>();

  return async ({ signal, longestMs, member } = {}) => {
    const whom = currentWork();
    signal?.throwIfAborted();
    if (!whom.isShared) return noTurn;
    const [[group, caller]] = whom.shares;
    await turn([group, member ?? caller], signal);
    return begun(whom, group, longestMs);
  };

  async function turn(share: Share, signal: AbortSignal | undefined): Promise<void> {
    const line = lines.get(share[0]);
    if (!line) return void lines.set(share[0], new Turns());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      line.delete(share, resolve);
      reject(signal?.reason);
    };
    line.add(share, resolve);
    signal?.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  function begun(whom: WorkedFor, group: string, longestMs: number | undefined): Turn {
    let began: number | undefined;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (whom.isShared && began !== undefined) setTimeout(goOn, restAfter(performance.now() - began), group).unref();
      else goOn(group);
    };
    const timer = longestMs === undefined ? undefined : setTimeout(end, longestMs).unref();
    const begin = () => {
      began = performance.now();
    };
    return {
      begin,
      get isOver() {
        return isOver;
      },
      [Symbol.dispose]: end,
    };
  }

  function goOn(group: string): void {
    const next = lines.get(group)?.next();
    if (next) next();
    else lines.delete(group);
  }
}

/** The turns of all heavy work of this process, whatever it is. */
export const takeHeavyTurn = pace();

const noTurn: Turn = { begin() {}, isOver: true, [Symbol.dispose]() {} };

// Whoever calls once every few seconds makes others rest for a part of the time only.
const sharedMs = 1_000;

/** Tells whether members of several groups call at the moment. */
export class Traffic {
  #latest: string | undefined;
  // The last two times that somebody of another group called than before. Once would be if others have called long ago.
  #alternatedAt = Number.NEGATIVE_INFINITY;
  #alternatedBefore = Number.NEGATIVE_INFINITY;

  /** Notes a call. Unknown callers do not count: they would slow down everybody else. */
  note(group: string): void {
    if (group === this.#latest || group === unknownCallers) return;
    this.#latest = group;
    this.#alternatedBefore = this.#alternatedAt;
    this.#alternatedAt = performance.now();
  }

  get isShared(): boolean {
    return performance.now() - this.#alternatedBefore < sharedMs;
  }
}
