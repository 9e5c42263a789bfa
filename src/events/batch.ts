import { channel } from "node:diagnostics_channel";

// These channels tell tracing which calls wait, and which of them a statement serves. Without subscribers they cost nothing.
const waits = channel("postern.batch.waits");
const runs = channel("postern.batch.runs");

/** A job that waits to share a statement. */
export type Waiting<J> = {
  readonly job: J;
  readonly signal: AbortSignal | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

export type BatchOptions<J> = {
  /** The maximum number of concurrent statements; jobs that arrive in the meantime share the next one. */
  readonly atOnce: number;
  /**
   * The minimum number of jobs for starting another statement while one is running: at least this many, and no fewer than are already
   * running, unless the running one takes long. If absent, any job starts another statement.
   */
  readonly worthwhile?: number | undefined;
  readonly most: number;
  /** The weight of a job, and the maximum total weight of one statement; a heavier job runs alone. */
  readonly weights?: { readonly of: (job: J) => number; readonly most: number } | undefined;
  /** Jobs with a common key never share a statement. */
  readonly keysOf?: (job: J) => readonly string[];
  /** Runs the jobs together and settles each. */
  readonly run: (batch: readonly Waiting<J>[]) => Promise<void>;
};

// A statement that waits for a lock must not keep the others of its kind waiting.
const longMs = 20;

/**
 * Collects jobs that arrive while others are running into one statement. The first jobs run at once, so a lone caller never waits for
 * others.
 */
export function inBatches<J>(options: BatchOptions<J>): (job: J, signal?: AbortSignal) => Promise<void> {
  const { atOnce, worthwhile, run } = options;
  let queue: Waiting<J>[] = [];
  const underWay: UnderWay = { starts: [], jobs: 0 };
  let looksAgain = false;
  let scheduled = false;
  let wasLone = false;

  return (job, signal) =>
    new Promise((resolve, reject) => {
      const waiting = { job, signal, resolve, reject };
      queue.push(waiting);
      if (waits.hasSubscribers) waits.publish(waiting);
      schedule();
    });

  function schedule(): void {
    if (scheduled || underWay.starts.length >= atOnce || queue.length === 0) return;
    if (!isWorthwhile(queue.length, underWay, worthwhile)) return void lookAgain();
    scheduled = true;
    // Jobs that arrive in this tick of the event loop join the batch. If the last job was alone, this does not wait for company.
    if (wasLone) queueMicrotask(proceed);
    else setImmediate(proceed);
  }

  function proceed(): void {
    scheduled = false;
    void start();
    schedule();
  }

  function lookAgain(): void {
    if (looksAgain) return;
    looksAgain = true;
    setTimeout(() => {
      looksAgain = false;
      schedule();
    }, longMs);
  }

  async function start(): Promise<void> {
    const { batch, later } = taken(queue, options);
    queue = later;
    if (batch.length === 0) return;
    wasLone = batch.length === 1 && queue.length === 0;
    const startedAt = performance.now();
    underWay.starts.push(startedAt);
    underWay.jobs += batch.length;
    try {
      await runs.runStores(batch, run, undefined, batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      underWay.starts.splice(underWay.starts.indexOf(startedAt), 1);
      underWay.jobs -= batch.length;
      schedule();
    }
  }
}

/** The running statements: their start times, the oldest first, and their total number of jobs. */
type UnderWay = { readonly starts: number[]; jobs: number };

/** Whether another statement with this many jobs may run alongside the running ones. */
function isWorthwhile(queued: number, { starts: [oldest], jobs }: UnderWay, worthwhile: number | undefined): boolean {
  if (oldest === undefined || worthwhile === undefined) return true;
  return queued >= Math.max(worthwhile, jobs) || performance.now() - oldest >= longMs;
}

/** Takes the next statement's jobs out of a queue, and refuses those that nobody waits for any more. */
function taken<J>(queue: readonly Waiting<J>[], { most, weights, keysOf }: BatchOptions<J>) {
  const batch: Waiting<J>[] = [];
  const later: Waiting<J>[] = [];
  const keys = new Set<string>();
  let weight = 0;
  for (const waiting of queue) {
    const more = weights?.of(waiting.job) ?? 0;
    const isTooHeavy = weights !== undefined && weight > 0 && weight + more > weights.most;
    if (waiting.signal?.aborted) waiting.reject(waiting.signal.reason);
    else if (batch.length >= most || isTooHeavy || !areFree(keysOf?.(waiting.job) ?? [], keys)) later.push(waiting);
    else {
      batch.push(waiting);
      weight += more;
    }
  }
  return { batch, later };
}

/** Reserves keys, unless one of them is already reserved. */
function areFree(wanted: readonly string[], taken: Set<string>): boolean {
  if (wanted.some((key) => taken.has(key))) return false;
  for (const key of wanted) taken.add(key);
  return true;
}
