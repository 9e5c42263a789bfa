import type { Shares } from "./current_share.ts";
import { Parts } from "./held_places.ts";
import { noShare, type Share, Turns } from "./turns.ts";

/** An entry of the queue, which is either started or refused for waiting too long. */
export type QueueEntry = Readonly<{
  /** Called with the share whose place it takes. */
  start: (share: Share) => void;
  refuse: () => void;
}>;

/** Limits how many entries run at once and how long others wait. Those that wait are served in turn, and none takes all places. */
export type Limiter = Readonly<{
  /**
   * Adds an entry, for the share that holds the fewest places. Returns a function that takes it out of the queue, if it is still waiting
   * there.
   */
  enter: (entry: QueueEntry, shares?: Shares) => () => void;
  leave: (share?: Share) => void;
  /** Gives back the place of an entry that could not start; it becomes first in line, and fewer run at once for a while. */
  retreat: (entry: QueueEntry, until: number, share?: Share) => void;
  load: () => { running: number; waiting: number };
  /** Refuses waiting and new entries; resolves when nothing runs any more. */
  close: () => Promise<void>;
}>;

/** The maximum number running at once, the longest wait, and the time after which one more is tried if fewer could run. */
export type Limits = Readonly<{ limit: number; waitMs: number; growMs?: number }>;

// A longer timer fires at once.
const longestTimerMs = 2 ** 31 - 1;

type Waiter = Readonly<{ entry: QueueEntry; until: number; share: Share }>;

/** Makes a limiter; every start must be followed by one leave or retreat. */
export function createLimiter({ limit, waitMs, growMs = 1_000 }: Limits): Limiter {
  const queue = waitingLine();
  const parts = new Parts();
  let most = limit;
  let closed = false;
  const idle = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let growing: NodeJS.Timeout | undefined;

  const refuseLate = () => {
    timer = undefined;
    const now = performance.now();
    for (let late = queue.late(closed ? Infinity : now); late; late = queue.late(closed ? Infinity : now))
      late.entry.refuse();
    watchFirst(now);
  };
  const watchFirst = (now: number) => {
    const until = queue.until();
    // The waiting entries keep the process alive by their own connections.
    if (until === undefined || timer) return;
    timer = setTimeout(refuseLate, Math.min(longestTimerMs, Math.max(0, Math.ceil(until - now)))).unref();
  };
  const mayTake = (share: Share) => parts.mayTake(share, most);
  const start = ({ entry, share }: Pick<Waiter, "entry" | "share">) => {
    parts.take(share);
    entry.start(share);
  };
  const startNext = () => {
    while (parts.held < most) {
      const next = queue.next(mayTake);
      if (!next) return;
      start(next);
    }
  };
  const grow = () => {
    most = Math.min(limit, most + 1);
    if (most === limit) {
      clearInterval(growing);
      growing = undefined;
    }
    startNext();
  };
  const leave = (share = noShare) => {
    parts.give(share);
    startNext();
    if (parts.held === 0 && closed) idle.resolve();
  };

  return {
    enter(entry, shares = [noShare]) {
      const share = parts.lightest(shares);
      if (closed) entry.refuse();
      else if (mayTake(share)) start({ entry, share });
      else {
        const now = performance.now();
        const waiter = { entry, until: now + waitMs, share };
        queue.add(waiter);
        watchFirst(now);
        return () => queue.remove(waiter);
      }
      return waitsNowhere;
    },
    leave,
    retreat(entry, until, share = noShare) {
      most = Math.max(1, Math.min(most, parts.held - 1));
      growing ??= setInterval(grow, growMs).unref();
      queue.addFirst({ entry, until, share });
      clearTimeout(timer);
      refuseLate();
      leave(share);
    },
    load: () => ({ running: parts.held, waiting: queue.size() }),
    close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(growing);
      refuseLate();
      if (parts.held === 0) idle.resolve();
      return idle.promise;
    },
  };
}

const waitsNowhere = () => {};

/** The waiting entries: first those that had a place before, then the others in turn. */
function waitingLine() {
  const first: Waiter[] = [];
  const turns = new Turns<Waiter>();
  // Each of these waits for the same time, so the first to arrive is the first to be late.
  const asTheyCame = new Set<Waiter>();
  const remove = (waiter: Waiter) => {
    if (asTheyCame.delete(waiter)) turns.delete(waiter.share, waiter);
  };

  return {
    add(waiter: Waiter): void {
      turns.add(waiter.share, waiter);
      asTheyCame.add(waiter);
    },
    remove,
    addFirst: (waiter: Waiter) => void first.unshift(waiter),
    size: () => first.length + turns.size,
    /** The time at which the first one will be late. */
    until(): number | undefined {
      const [oldest] = asTheyCame;
      return first[0] && oldest ? Math.min(first[0].until, oldest.until) : (first[0] ?? oldest)?.until;
    },
    /** Takes an entry that has waited too long. */
    late(now: number): Waiter | undefined {
      if (first[0] && first[0].until <= now) return first.shift();
      const [oldest] = asTheyCame;
      if (!oldest || oldest.until > now) return undefined;
      remove(oldest);
      return oldest;
    },
    next(may: (share: Share) => boolean): Waiter | undefined {
      if (first[0]) return first.shift();
      const next = turns.next(may);
      if (next) asTheyCame.delete(next);
      return next;
    },
  };
}
