import { randomUUID } from "node:crypto";
import { foreignKey, isLockLost, unique } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import type { Fold } from "./fold.ts";
import { lookAgain } from "./follow.ts";
import { batches, firstPlace, type Job, type Place } from "./job.ts";
import { giveLeaseBack, takeLease } from "./lease.ts";

export type JobsOptions = {
  readonly sql: Sql;
  readonly folds: ReadonlyMap<string, Fold>;
  readonly clock: () => Date;
  readonly everyMs?: number;
  /** Called if a batch fails; the job continues at the next poll. */
  readonly onError: (error: unknown) => void;
};

export type Jobs = AsyncDisposable & {
  /** Polls immediately, because a job began here. */
  readonly poke: () => void;
};

// If a node crashes, its lease holds up the jobs for this long.
const seconds = 10;
const work = "jobs";

/** Runs the instance's jobs in batches, on one node at a time, taking turns between jobs. */
export function startJobs({ sql, folds, clock, everyMs = 5_000, onError }: JobsOptions): Jobs {
  const holder = randomUUID();
  const begun = new Map<string, Progress>();
  const nextBatch = batches(sql, folds);
  let stopped = false;
  const { poke, stop } = lookAgain({ everyMs, onError, look });

  return {
    poke,
    async [Symbol.asyncDispose]() {
      stopped = true;
      await stop();
    },
  };

  async function look(): Promise<boolean> {
    const jobs = await underWay(sql);
    if (jobs.length === 0 || !(await mayGoOn())) return false;
    try {
      let went = false;
      for (const job of jobs) if (await mayGoOn()) went = (await goOn(job)) || went;
      return went && !stopped;
    } finally {
      await giveLeaseBack(sql, { work, holder });
    }
  }

  async function mayGoOn(): Promise<boolean> {
    return !stopped && (await takeLease(sql, { work, holder, seconds }));
  }

  /** Runs one batch of a job; returns whether it made progress. */
  async function goOn(job: Job): Promise<boolean> {
    const { place, most, races } = begun.get(job.id) ?? { place: firstPlace, most: usual, races: 0 };
    const since = performance.now();
    try {
      const next = await nextBatch({ job, place, most, time: clock() });
      if (next) begun.set(job.id, { place: next, most: suited(most, performance.now() - since), races: 0 });
      else begun.delete(job.id);
      return true;
    } catch (error) {
      begun.set(job.id, { place: firstPlace, most: Math.max(fewest, most >> 1), races: races + 1 });
      // Somebody changed one of the objects at the same moment, or added one, or another job has to end first.
      const isRace = unique(error) ?? foreignKey(error) ?? isLockLost(error);
      if (!isRace) onError(error);
      return Boolean(isRace) && races < mostRaces;
    }
  }
}

/** A job's position, the size of its next batch, and how many batches in a row lost a race. */
type Progress = { readonly place: Place; readonly most: number; readonly races: number };

// After that many, the job waits for the next poll.
const mostRaces = 3;

const fewest = 10;
const usual = 200;
const largest = 1_000;
const slowMs = 400;
const quickMs = 150;

/** The size of the next batch, so that each takes a fraction of a second however busy the database is. */
function suited(most: number, took: number): number {
  if (took > slowMs) return Math.max(fewest, most >> 1);
  return took < quickMs ? Math.min(largest, most * 2) : most;
}

const atOnce = 100;

const underWay = (sql: Sql) => sql<Job[]>`
  select job_id as id, owner, type, stream, version, payload, actor, request_id as "requestId"
  from jobs where ended is null order by job_id limit ${atOnce}`;
