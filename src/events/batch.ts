import { channel } from "node:diagnostics_channel";
import { currentShares, type Shares, workFor } from "../security/current_share.ts";
import { noShare, type Share, Turns } from "../security/turns.ts";
import type { KeyLines } from "./key_lines.ts";

// These channels tell tracing which calls wait, and which of them a statement serves. Without subscribers they cost nothing.
const waits = channel("postern.batch.waits");
const runs = channel("postern.batch.runs");

/** A job that waits to share a statement. */
export type Waiting<J> = {
  readonly job: J;
  /** Jobs of different groups rarely wait for the same rows. */
  readonly group: string;
  /** The share of the connections that it uses. */
  readonly share: Share;
  readonly signal: AbortSignal | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

export type BatchOptions<J> = {
  /**
   * The maximum number of concurrent statements; jobs that arrive in the meantime share the next one. A statement that takes long only
   * counts for the groups in it.
   */
  readonly atOnce: number;
  /**
   * The minimum number of jobs for starting another statement while one is running: at least this many, and no fewer than are already
   * running, unless the running one takes long, or serves other groups alone. If absent, any job starts another statement.
   */
  readonly worthwhile?: number | undefined;
  readonly most: number;
  /**
   * The weight of a job, and the maximum total weight of one statement; a heavier job runs alone, and its statement
   * counts as one that takes long from its beginning.
   */
  readonly weights?: { readonly of: (job: J) => number; readonly most: number } | undefined;
  /** The lines of jobs with a common key, which run one after the other. */
  readonly lines?: KeyLines<J> | undefined;
  /** The group of a job; by default, the organization that it is for. */
  readonly groupOf?: (job: J) => string;
  /** Runs the jobs together and settles each. */
  readonly run: (batch: readonly Waiting<J>[]) => Promise<void>;
};

// A statement that takes longer may be waiting for a lock, and then must not keep others of its kind waiting.
const longMs = 20;

/**
 * Collects jobs that arrive while others are running into one statement. The first jobs run at once, so a lone caller never waits for
 * others.
 */
export function inBatches<J>(options: BatchOptions<J>): (job: J, signal?: AbortSignal) => Promise<void> {
  const { run, groupOf, lines } = options;
  let queue: Waiting<J>[] = [];
  const underWay = new Set<UnderWay>();
  const lookAgain = soon(schedule);
  let scheduled = false;
  let wasLone = false;

  return (job, signal) =>
    new Promise((resolve, reject) => {
      const [share] = currentShares();
      const one = { job, group: groupOf ? groupOf(job) : share[0], share, signal, resolve, reject };
      const waiting = lines ? leaving(lines, one) : one;
      if (waits.hasSubscribers) waits.publish(waiting);
      if (lines) inLine(lines, waiting, () => add(waiting));
      else add(waiting);
    });

  function add(waiting: Waiting<J>): void {
    queue.push(waiting);
    schedule();
  }

  function schedule(): void {
    if (scheduled || queue.length === 0) return;
    if (!mayStart(queue, options, underWay)) return void lookAgain();
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

  async function start(): Promise<void> {
    const { batch, later, gone, isHeavy } = taken(queue, options, underWay);
    queue = later;
    const statement = begun(batch, isHeavy);
    if (batch.length > 0) underWay.add(statement);
    wasLone = batch.length === 1 && queue.length === 0;
    // Only now, because these make way for others with their keys, which join the queue at once.
    for (const { reject, signal } of gone) reject(signal?.reason);
    if (batch.length === 0) return;
    try {
      await workFor({ shares: sharesOf(batch) }, () => runs.runStores(batch, run, undefined, batch));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      underWay.delete(statement);
      schedule();
    }
  }
}

/** Puts a job into the lines of its keys. It leaves them when its caller has gone, and goes on when it is the first in all of them. */
function inLine<J>(lines: KeyLines<J>, waiting: Waiting<J>, go: () => void): void {
  const { signal } = waiting;
  const leave = () => waiting.reject(signal?.reason);
  let isFirst = false;
  lines.enter(waiting, () => {
    isFirst = true;
    signal?.removeEventListener("abort", leave);
    go();
  });
  if (isFirst) return;
  if (signal?.aborted) leave();
  else signal?.addEventListener("abort", leave, { once: true });
}

/** The same job, which leaves its lines when it is settled. */
function leaving<J>(lines: KeyLines<J>, waiting: Waiting<J>): Waiting<J> {
  const one: Waiting<J> = {
    ...waiting,
    resolve() {
      waiting.resolve();
      lines.leave(one);
    },
    reject(error) {
      waiting.reject(error);
      lines.leave(one, error);
    },
  };
  return one;
}

/** Makes a function that runs work once the running statements have taken long; asking again meanwhile changes nothing. */
function soon(work: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(() => {
      isAsked = false;
      work();
    }, longMs);
  };
}

/** A running statement, with its number of jobs and their groups. */
type UnderWay = {
  readonly startedAt: number;
  readonly isHeavy: boolean;
  readonly jobs: number;
  readonly groups: ReadonlySet<string>;
};

const begun = (batch: readonly Waiting<unknown>[], isHeavy: boolean): UnderWay => ({
  startedAt: performance.now(),
  isHeavy,
  jobs: batch.length,
  groups: new Set(batch.map(({ group }) => group)),
});

/** The running statements that take long, by the groups in them, and the number of the others. */
function loadOf(underWay: ReadonlySet<UnderWay>) {
  const slow = new Map<string, number>();
  let quick = underWay.size;
  if (quick === 0) return { slow, quick };
  const now = performance.now();
  for (const { startedAt, isHeavy, groups } of underWay) {
    if (!isHeavy && now - startedAt < longMs) continue;
    quick--;
    for (const group of groups) slow.set(group, (slow.get(group) ?? 0) + 1);
  }
  return { slow, quick };
}

/** Whether a statement may start: for any group, or beside slow statements for groups that are not in them. */
function mayStart<J>(
  queue: readonly Waiting<J>[],
  { atOnce, worthwhile }: BatchOptions<J>,
  underWay: ReadonlySet<UnderWay>,
): boolean {
  if (underWay.size < atOnce) return isWorthwhile(queue, underWay, worthwhile);
  const { slow, quick } = loadOf(underWay);
  if (quick >= atOnce) return false;
  return queue.some(({ group }) => quick + (slow.get(group) ?? 0) < atOnce);
}

/** Whether another statement with these jobs may run alongside the running ones. */
function isWorthwhile<J>(
  queue: readonly Waiting<J>[],
  underWay: ReadonlySet<UnderWay>,
  worthwhile: number | undefined,
): boolean {
  if (worthwhile === undefined) return true;
  let oldest: UnderWay | undefined;
  let jobs = 0;
  for (const statement of underWay) {
    if (statement.isHeavy) continue;
    oldest ??= statement;
    jobs += statement.jobs;
  }
  if (oldest === undefined || queue.length >= Math.max(worthwhile, jobs)) return true;
  return performance.now() - oldest.startedAt >= longMs || queue.some(({ group }) => !isServed(group, underWay));
}

/** Whether a running statement has jobs of a group. */
function isServed(group: string, underWay: ReadonlySet<UnderWay>): boolean {
  for (const { groups } of underWay) if (groups.has(group)) return true;
  return false;
}

/** Takes the next statement's jobs out of a queue, and those whose callers have gone. */
function taken<J>(queue: readonly Waiting<J>[], options: BatchOptions<J>, underWay: ReadonlySet<UnderWay>) {
  const { most, weights } = options;
  const batch: Waiting<J>[] = [];
  const later: Waiting<J>[] = [];
  const gone: Waiting<J>[] = [];
  const fits = company(options, underWay);
  let weight = 0;
  for (const waiting of inTurn(queue)) {
    const more = weights?.of(waiting.job) ?? 0;
    const isTooHeavy = weights !== undefined && weight > 0 && weight + more > weights.most;
    if (waiting.signal?.aborted) gone.push(waiting);
    else if (batch.length >= most || isTooHeavy || !fits(waiting)) later.push(waiting);
    else {
      batch.push(waiting);
      weight += more;
    }
  }
  return { batch, later, gone, isHeavy: batch.length === 1 && weights !== undefined && weight > weights.most };
}

/** Puts the jobs of several groups in such an order that the groups take turns. */
function inTurn<J>(queue: readonly Waiting<J>[]): readonly Waiting<J>[] {
  const [first] = queue;
  if (!first || queue.every(({ group }) => group === first.group)) return queue;
  const turns = new Turns<Waiting<J>>();
  for (const waiting of queue) turns.add([waiting.group, waiting.share[1]], waiting);
  return queue.map(() => turns.next() ?? first);
}

/**
 * Whether a job may be in the next statement. The first may if its group has fewer running statements than allowed; a group with a slow
 * statement shares its next one with no other, because that one could take as long.
 */
function company({ atOnce }: Pick<BatchOptions<unknown>, "atOnce">, underWay: ReadonlySet<UnderWay>) {
  const { slow, quick } = loadOf(underWay);
  if (slow.size === 0) return () => true;
  let only: string | undefined;
  let isFirst = true;
  return ({ group }: Waiting<unknown>): boolean => {
    const slowOnes = slow.get(group) ?? 0;
    if (quick + slowOnes >= atOnce) return false;
    if (!isFirst) return slowOnes > 0 ? group === only : only === undefined;
    isFirst = false;
    only = slowOnes > 0 ? group : undefined;
    return true;
  };
}

/** The shares of the groups in a batch. */
function sharesOf([first, ...others]: readonly Waiting<unknown>[]): Shares {
  const share = first?.share ?? noShare;
  const shares = new Map<string, Share>();
  for (const { share } of others) if (!shares.has(share[0])) shares.set(share[0], share);
  shares.delete(share[0]);
  return [share, ...shares.values()];
}
