import { setTimeout as sleep } from "node:timers/promises";
import { noShare, type Share, Turns } from "./turns.ts";

/** The queue for password hashing is full; retrying after this many seconds is likely to succeed. */
export class HashQueueFull extends Error {
  readonly retrySeconds: number;

  constructor(retrySeconds: number) {
    super("too many passwords are waiting to be hashed");
    this.name = "HashQueueFull";
    this.retrySeconds = retrySeconds;
  }
}

/** Runs work of the process itself, which a full queue must not refuse: waits as long as the queue estimates, and tries again. */
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

/** How many jobs run at a time, and how many may wait. */
export type HashQueueLimits = { concurrency: number; queue: number };

/** The call that waits for a hash: the signal that ends its wait, and its share. */
export type HashCall = { readonly signal?: AbortSignal; readonly share?: Share };

type Waiter = { readonly start: () => void; readonly refuse: () => void };

/**
 * Makes a queue that runs a few jobs at a time. Waiting jobs are served in turn by organization, and those of unknown callers in turn by
 * network. If it is full, the share with the most waiting jobs gives up a place to others, and nobody else gets one.
 */
export function hashQueue({ concurrency, queue }: HashQueueLimits) {
  const waiting = new Turns<Waiter>();
  let running = 0;
  let averageMs = 50;

  function full(): HashQueueFull {
    const aheadMs = ((waiting.size + running) * averageMs) / concurrency;
    return new HashQueueFull(Math.max(1, Math.ceil(aheadMs / 1000)));
  }

  function release(tookMs: number): void {
    averageMs += (tookMs - averageMs) / 8;
    const next = waiting.next();
    if (next) next.start();
    else running--;
  }

  /** Waits for a place; throws if there is none, or if the place in line is lost to another. */
  function called({ signal, share = noShare }: HashCall): Promise<void> {
    if (waiting.size >= queue) {
      const last = waiting.yieldTo(share);
      if (!last) throw full();
      last.refuse();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.delete(share, waiter);
        reject(signal?.reason);
      };
      const settled = (settle: () => void) => () => {
        signal?.removeEventListener("abort", leave);
        settle();
      };
      const waiter = { start: settled(resolve), refuse: settled(() => reject(full())) };
      waiting.add(share, waiter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  async function enqueue<T>(work: () => Promise<T>, call: HashCall = {}): Promise<T> {
    call.signal?.throwIfAborted();
    if (running < concurrency) running++;
    else await called(call);
    const since = performance.now();
    try {
      call.signal?.throwIfAborted();
      return await work();
    } finally {
      release(performance.now() - since);
    }
  }

  return { enqueue, load: () => ({ running, waiting: waiting.size, concurrency, queue }) };
}
