/** An entry of the queue: start it, or tell it that it waited too long. */
export type QueueEntry = Readonly<{ start: () => void; refuse: () => void }>;

/** Lets a bounded number run at once, and wait a bounded time. */
export type Limiter = Readonly<{
  enter: (entry: QueueEntry) => void;
  leave: () => void;
  /** Gives back the place of one that could not start, which waits first in line until then; fewer run at once for a while. */
  retreat: (entry: QueueEntry, until: number) => void;
  load: () => { running: number; waiting: number };
  /** Refuses all who wait or come; resolves when nothing runs any more. */
  close: () => Promise<void>;
}>;

/** How many may run at once, how long others wait, and after how long one more is tried where fewer could run. */
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
