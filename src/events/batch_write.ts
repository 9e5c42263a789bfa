import { reasonOf } from "../errors.ts";
import { isLockLost, isOutcomeUnknown, isStatementTimeout } from "../postgres/failure.ts";
import type { Waiting } from "./batch.ts";

/** The statement of a shared write, and the error that its jobs fail with. */
export type BatchWrite<J> = {
  readonly write: (jobs: readonly J[]) => Promise<unknown>;
  readonly refusal?: (error: unknown, job: J) => unknown;
  /** Whose rows a job writes; jobs of different owners rarely wait for the same lock. */
  readonly ownerOf?: (job: J) => string;
};

/**
 * Makes the run of a batch of writes: if the batch fails, each job runs again by itself, so that one refused job does not fail the others.
 */
export function batchWrite<J>(options: BatchWrite<J>) {
  const { write, refusal = (error) => error } = options;
  const alone = alonePerOwner(options);
  return async (batch: readonly Waiting<J>[]): Promise<void> => {
    try {
      await write(batch.map(({ job }) => job));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length === 1 || reasonOf(error) || isOutcomeUnknown(error))
        for (const { job, reject } of batch) reject(refusal(error, job));
      // Nobody waits for these, so others may take their place.
      else if (isStatementTimeout(error) || isLockLost(error)) alone(batch);
      else
        await Promise.all(
          batch.map(({ job, resolve, reject }) => write([job]).then(resolve, (e) => reject(refusal(e, job)))),
        );
    }
  };
}

// If a batch waits for a lock, running its jobs all at once would take every connection.
const ownersAtOnce = 2;

/**
 * Runs each job by itself: one at a time per owner, and for few owners at once. If one takes too long, the waiting jobs of its owner fail
 * with the same error.
 */
function alonePerOwner<J>({ write, refusal = (error) => error, ownerOf = () => "" }: BatchWrite<J>) {
  let queue: readonly Waiting<J>[] = [];
  const busy = new Set<string>();

  return (batch: readonly Waiting<J>[]): void => {
    queue = [...queue, ...batch];
    proceed();
  };

  function proceed(): void {
    while (busy.size < ownersAtOnce) {
      const next = queue.find(({ job }) => !busy.has(ownerOf(job)));
      if (!next) return;
      queue = queue.filter((one) => one !== next);
      if (next.signal?.aborted) next.reject(next.signal.reason);
      else void run(next);
    }
  }

  async function run({ job, resolve, reject }: Waiting<J>): Promise<void> {
    const owner = ownerOf(job);
    busy.add(owner);
    try {
      await write([job]);
      resolve();
    } catch (error) {
      reject(refusal(error, job));
      if (isStatementTimeout(error)) refuseAll(owner, error);
    }
    busy.delete(owner);
    proceed();
  }

  function refuseAll(owner: string, error: unknown): void {
    const theirs = queue.filter(({ job }) => ownerOf(job) === owner);
    queue = queue.filter((one) => !theirs.includes(one));
    for (const { job, reject } of theirs) reject(refusal(error, job));
  }
}
