/** A place in line: start it, or tell it that it waited too long. */
export type Turn = Readonly<{ start: () => void; refuse: () => void }>;

/** Lets a bounded number run at once, and wait a bounded time. */
export type Limiter = Readonly<{
  enter: (turn: Turn) => void;
  leave: () => void;
  load: () => { running: number; waiting: number };
  /** Refuses all who wait or come; resolves when nothing runs any more. */
  close: () => Promise<void>;
}>;

/** Makes a limiter; every start must be followed by one leave. */
export function createLimiter({ limit, waitMs }: { limit: number; waitMs: number }): Limiter {
  const waiting: { turn: Turn; until: number }[] = [];
  let running = 0;
  let closed = false;
  const idle = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;

  const refuseLate = () => {
    timer = undefined;
    const now = performance.now();
    while (waiting[0] && (closed || waiting[0].until <= now)) waiting.shift()?.turn.refuse();
    watchFirst(now);
  };
  const watchFirst = (now: number) => {
    if (waiting[0] && !timer) timer = setTimeout(refuseLate, Math.ceil(waiting[0].until - now));
  };

  return {
    enter(turn) {
      if (closed) return turn.refuse();
      if (running < limit) {
        running++;
        return turn.start();
      }
      const now = performance.now();
      waiting.push({ turn, until: now + waitMs });
      watchFirst(now);
    },
    leave() {
      const next = waiting.shift();
      if (next) next.turn.start();
      else if (--running === 0 && closed) idle.resolve();
    },
    load: () => ({ running, waiting: waiting.length }),
    close() {
      closed = true;
      clearTimeout(timer);
      refuseLate();
      if (running === 0) idle.resolve();
      return idle.promise;
    },
  };
}
