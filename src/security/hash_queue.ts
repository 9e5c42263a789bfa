import { setTimeout as sleep } from "node:timers/promises";

/** The queue for password hashing is full; another try is likely to succeed after this many seconds. */
export class HashQueueFull extends Error {
  readonly retrySeconds: number;

  constructor(retrySeconds: number) {
    super("too many passwords are waiting to be hashed");
    this.name = "HashQueueFull";
    this.retrySeconds = retrySeconds;
  }
}

/** Runs work of the process itself, which a full queue must not refuse: it waits as long as the queue estimates and tries again. */
export async function retryWhileFull<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HashQueueFull)) throw error;
      await sleep(error.retrySeconds * 1000);
    }
  }
}

/** The number of jobs that run at a time, and of those that may wait. */
export type HashQueueLimits = { concurrency: number; queue: number };

/** Makes a first-in-first-out queue that runs a few jobs at a time and refuses at once when it is full. */
export function hashQueue({ concurrency, queue }: HashQueueLimits) {
  const waiting = new Set<() => void>();
  let running = 0;
  let averageMs = 50;

  function retrySeconds(): number {
    const aheadMs = ((waiting.size + running) * averageMs) / concurrency;
    return Math.max(1, Math.ceil(aheadMs / 1000));
  }

  function release(tookMs: number): void {
    averageMs += (tookMs - averageMs) / 8;
    const [next] = waiting;
    if (next) next();
    else running--;
  }

  async function enqueue<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (running < concurrency) running++;
    else if (waiting.size < queue) await called(waiting, signal);
    else throw new HashQueueFull(retrySeconds());
    const since = performance.now();
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      release(performance.now() - since);
    }
  }

  return { enqueue, load: () => ({ running, waiting: waiting.size, concurrency, queue }) };
}

function called(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const start = () => {
      waiting.delete(start);
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    const leave = () => {
      waiting.delete(start);
      reject(signal?.reason);
    };
    waiting.add(start);
    signal?.addEventListener("abort", leave, { once: true });
  });
}
