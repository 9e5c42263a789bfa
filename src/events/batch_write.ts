import { reasonOf } from "../errors.ts";
import { isOutcomeUnknown } from "../postgres/failure.ts";
import type { Waiting } from "./batch.ts";

/** The statement of a shared write, and what its jobs are refused with. */
export type BatchWrite<J> = {
  readonly write: (jobs: readonly J[]) => Promise<unknown>;
  readonly refusal?: (error: unknown, job: J) => unknown;
};

/** Makes the run of a batch that writes: one job that is refused must not fail the others, so that each runs again by itself. */
export function batchWrite<J>({ write, refusal = (error) => error }: BatchWrite<J>) {
  return async (batch: readonly Waiting<J>[]): Promise<void> => {
    try {
      await write(batch.map(({ job }) => job));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length === 1 || reasonOf(error) || isOutcomeUnknown(error))
        for (const { job, reject } of batch) reject(refusal(error, job));
      else
        await Promise.all(
          batch.map(({ job, resolve, reject }) => write([job]).then(resolve, (e) => reject(refusal(e, job)))),
        );
    }
  };
}
