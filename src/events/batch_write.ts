import { setTimeout as pause } from "node:timers/promises";
import { reasonOf } from "../errors.ts";
import {
  isLockLost,
  isLockTimeout,
  isOutcomeUnknown,
  isShortOfResources,
  isStatementTimeout,
  isUnavailable,
} from "../postgres/failure.ts";
import { workFor } from "../security/current_share.ts";
import { noShare } from "../security/turns.ts";
import type { Waiting } from "./batch.ts";

/** The statement of a shared write, and the error that its jobs fail with. */
export type BatchWrite<J> = {
  readonly write: (jobs: readonly J[]) => Promise<unknown>;
  readonly refusal?: (error: unknown, job: J) => unknown;
  /** Whether a write that has waited for a lock as long as it may gives up its connection to others, and is tried again. */
  readonly isPatient?: boolean;
};

/**
 * Makes the run of a batch of writes: if the batch fails, each job runs again by itself, so that one refused job does not fail the others.
 * If the database can serve nobody at the moment, all fail.
 */
export function batchWrite<J>(options: BatchWrite<J>) {
  const { refusal = (error) => error } = options;
  const write = options.isPatient ? patiently(options.write) : writeOf(options.write);
  const alone = alonePerGroup(options);
  return async (batch: readonly Waiting<J>[]): Promise<void> => {
    try {
      await write(batch);
    } catch (error) {
      if (batch.length === 1 || reasonOf(error) || isOutcomeUnknown(error) || isOutage(error))
        for (const { job, reject } of batch) reject(refusal(error, job));
      // Nobody waits for these any more, so others may take their place.
      else alone(batch);
      return;
    }
    // Not where an error would have what was written written again.
    for (const { resolve } of batch) resolve();
  };
}

type Write<J> = (jobs: readonly J[]) => Promise<unknown>;

const writeOf =
  <J>(write: Write<J>) =>
  (batch: readonly Waiting<J>[]) =>
    write(batch.map(({ job }) => job));

// As long as a call may take, unless DEADLINE_MAX_MS says otherwise; a longer one reads again, and begins anew.
const patienceMs = 60_000;
// Writes that waited for each other try again at different times.
const rest = () => pause(200 + Math.random() * 100);

/** Tries again until the lock is free, or nobody waits any more. The process waits for no response: it does the remaining work later. */
function patiently<J>(write: Write<J>) {
  const once = writeOf(write);
  return async (batch: readonly Waiting<J>[]): Promise<unknown> => {
    const end = performance.now() + patienceMs;
    const isAwaited = ({ signal, share }: Waiting<J>) => share[0] !== noShare[0] && !signal?.aborted;
    for (;;)
      try {
        return await once(batch);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        await rest();
        if (performance.now() > end || !batch.some(isAwaited)) throw error;
      }
  };
}

const isUnserved = (error: unknown): boolean => isUnavailable(error) && !isLockLost(error);

/** Whether the database can serve nobody. One job may need too much memory, or rows that cannot be read, while the others need neither. */
const isOutage = (error: unknown): boolean => isUnserved(error) && !isShortOfResources(error);

/** Whether a job took all the time that a statement may, or nobody could be served: those that wait for it would fare the same. */
export const befallsOthers = (error: unknown): boolean =>
  isStatementTimeout(error) || isOutage(error) || reasonOf(error) === "UNAVAILABLE";

// If the database is slow, running the jobs of many groups at once would make it slower.
const groupsAtOnce = 8;

/**
 * Runs each job by itself: one at a time per group, and for a few groups at once. If one takes too long, or the database cannot serve it,
 * the waiting jobs of its group fail with the same error.
 */
function alonePerGroup<J>({ write, refusal = (error) => error }: BatchWrite<J>) {
  let queue: readonly Waiting<J>[] = [];
  const busy = new Set<string>();

  return (batch: readonly Waiting<J>[]): void => {
    queue = [...queue, ...batch];
    proceed();
  };

  function proceed(): void {
    while (busy.size < groupsAtOnce) {
      const first = queue.find(({ group }) => !busy.has(group));
      if (!first) return;
      queue = queue.filter((one) => one !== first);
      if (first.signal?.aborted) first.reject(first.signal.reason);
      else void run(first);
    }
  }

  async function run({ job, group, share, resolve, reject }: Waiting<J>): Promise<void> {
    busy.add(group);
    try {
      await workFor({ shares: [share] }, () => write([job]));
    } catch (error) {
      reject(refusal(error, job));
      if (isStatementTimeout(error) || isUnserved(error)) refuseAll(group, error);
      return next(group);
    }
    resolve();
    next(group);
  }

  function next(group: string): void {
    busy.delete(group);
    proceed();
  }

  function refuseAll(group: string, error: unknown): void {
    const theirs = queue.filter((one) => one.group === group);
    queue = queue.filter((one) => !theirs.includes(one));
    for (const { job, reject } of theirs) reject(refusal(error, job));
  }
}
