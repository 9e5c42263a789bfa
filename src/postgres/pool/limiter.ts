/** An entry of the queue, which is either started or refused for waiting too long. */
export type QueueEntry = Readonly<{ start: () => void; refuse: () => void }>;

/** Limits how many run at once and how long others wait. */
export type Limiter = Readonly<{
  enter: (entry: QueueEntry) => void;
  leave: () => void;
  /** Gives back the place of one that could not start; it becomes first in line, and fewer run at once for a while. */
  retreat: (entry: QueueEntry, until: number) => void;
  load: () => { running: number; waiting: number };
  /** Refuses waiting and new entries; resolves when nothing runs any more. */
  close: () => Promise<void>;
}>;

/** The most that run at once, the longest wait, and the time after which one more is tried where fewer could run. */
export type Limits = Readonly<{ limit: number; waitMs: number; growMs?: number }>;

/** Makes a limiter; every start must be followed by one leave or retreat. */
export function createLimiter({ limit, waitMs, growMs = 1_000 }: Limits): Limiter {
  const waiting: { entry: QueueEntry; until: number }[] = [];
  let running = 0;
  let most = limit;
  let closed = false;
  const idle = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let growing: NodeJS.Timeout | undefined;

  const refuseLate = () => {
    timer = undefined;
    const now = performance.now();
    while (waiting[0] && (closed || waiting[0].until <= now)) waiting.shift()?.entry.refuse();
    watchFirst(now);
  };
  const watchFirst = (now: number) => {
    if (waiting[0] && !timer) timer = setTimeout(refuseLate, Math.max(0, Math.ceil(waiting[0].until - now)));
  };
  const startNext = () => {
    while (running < most) {
      const next = waiting.shift();
      if (!next) return;
      running++;
      next.entry.start();
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
  const leave = () => {
    running--;
    startNext();
    if (running === 0 && closed) idle.resolve();
  };

  return {
    enter(entry) {
      if (closed) return entry.refuse();
      if (running < most) {
        running++;
        return entry.start();
      }
      const now = performance.now();
      waiting.push({ entry, until: now + waitMs });
      watchFirst(now);
    },
    leave,
    retreat(entry, until) {
      most = Math.max(1, Math.min(most, running - 1));
      growing ??= setInterval(grow, growMs).unref();
      waiting.unshift({ entry, until });
      clearTimeout(timer);
      refuseLate();
      leave();
    },
    load: () => ({ running, waiting: waiting.length }),
    close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(growing);
      refuseLate();
      if (running === 0) idle.resolve();
      return idle.promise;
    },
  };
}
