import { channel } from "node:diagnostics_channel";

// Tracing learns from these channels which calls wait, and which of them a statement runs for. Without subscribers they cost nothing.
const waits = channel("postern.batch.waits");
const runs = channel("postern.batch.runs");

/** A job that waits to share a statement. */
export type Waiting<J> = {
  readonly job: J;
  readonly signal: AbortSignal | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** Options of batching. */
export type BatchOptions<J> = {
  /** The most statements under way at once; jobs that arrive meanwhile share the next one. */
  readonly atOnce: number;
  /**
   * The least number of jobs for which another statement goes beside one that is under way; it goes for no fewer than are under way
   * then, unless that one takes long. Without it, another one goes for any job.
   */
  readonly worthwhile?: number | undefined;
  /** The most jobs in one statement. */
  readonly most: number;
  /** How much a job weighs, and the most that the jobs of one statement weigh together; a heavier job runs alone. */
  readonly weights?: { readonly of: (job: J) => number; readonly most: number } | undefined;
  /** Jobs with a common key never share a statement. */
  readonly keysOf?: (job: J) => readonly string[];
  /** Runs the jobs together and settles each. */
  readonly run: (batch: readonly Waiting<J>[]) => Promise<void>;
};

// A statement that waits for a lock would keep the others of its kind waiting.
const longMs = 20;

/**
 * Collects jobs that arrive while others are under way into one statement. The first ones go at once, so a lone caller
 * never waits for others.
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
    // Jobs that come in this tick of the event loop join the batch. Where the last one was alone, no company is waited for.
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

/** The statements under way: the times at which they started, the oldest first, and the number of their jobs. */
type UnderWay = { readonly starts: number[]; jobs: number };

/** Whether another statement for so many jobs may go beside those under way. */
function isWorthwhile(queued: number, { starts: [oldest], jobs }: UnderWay, worthwhile: number | undefined): boolean {
  if (oldest === undefined || worthwhile === undefined) return true;
  return queued >= Math.max(worthwhile, jobs) || performance.now() - oldest >= longMs;
}

/** Takes the jobs of the next statement out of a queue, and refuses those that nobody waits for any more. */
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

/** Takes keys, unless one of them is taken already. */
function areFree(wanted: readonly string[], taken: Set<string>): boolean {
  if (wanted.some((key) => taken.has(key))) return false;
  for (const key of wanted) taken.add(key);
  return true;
}
