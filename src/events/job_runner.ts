import { randomUUID } from "node:crypto";
import { foreignKey, isLockLost, unique } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { rest, restAfter, type Traffic } from "../security/pace.ts";
import type { Fold } from "./fold.ts";
import { lookAgain } from "./follow.ts";
import { batches, type Checkpoint, firstCheckpoint, type Job } from "./job.ts";
import { keptLease } from "./lease.ts";

export type JobsOptions = {
  readonly sql: Sql;
  readonly folds: ReadonlyMap<string, Fold>;
  readonly clock: () => Date;
  readonly everyMs?: number;
  /** Tells whether members of several organizations call, whom the jobs could disturb. */
  readonly traffic: Pick<Traffic, "isShared">;
  /** Called if a batch fails; the job continues at the next poll. */
  readonly onError: (error: unknown) => void;
};

export type Jobs = AsyncDisposable & {
  /** Polls immediately, because a job began here. */
  readonly poke: () => void;
};

// If a node crashes, its lease holds up the jobs for this long.
const seconds = 10;

/**
 * Runs the instance's jobs in batches, on one node at a time. Organizations take turns, and so do the jobs of each. While members of several
 * organizations call, each batch is followed by a rest.
 */
export function startJobs({ sql, folds, clock, everyMs = 5_000, traffic, onError }: JobsOptions): Jobs {
  const lease = keptLease(sql, { work: "jobs", holder: randomUUID(), seconds });
  const begun = new Map<string, Progress>();
  const nextBatch = batches(sql, folds);
  const inTurn = turns(sql);
  const stopped = new AbortController();
  const { poke, stop } = lookAgain({ everyMs, onError, look });

  return {
    poke,
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await stop();
      await lease.giveBack().catch(onError);
    },
  };

  /** Runs one batch of each job whose turn it is. Keeps the lease while there may be more. */
  async function look(): Promise<boolean> {
    let isMore = false;
    try {
      isMore = await goOnWithAll();
      return isMore;
    } finally {
      if (!isMore) await lease.giveBack();
    }
  }

  async function goOnWithAll(): Promise<boolean> {
    let went = false;
    for (let after = ""; ; ) {
      const found = await inTurn(after, resting(begun));
      for (const job of found) {
        if (job.id === null) continue;
        if (stopped.signal.aborted || !(await lease.take())) return false;
        const began = performance.now();
        await goOn(job);
        went = true;
        if (traffic.isShared) await rest(restAfter(performance.now() - began), stopped.signal);
      }
      if (stopped.signal.aborted || found.length < organizationsAtOnce) return went && !stopped.signal.aborted;
      after = found.at(-1)?.owner ?? "";
    }
  }

  /** Runs one batch of a job. If that fails, the job pauses, so that others continue without it. */
  async function goOn(job: Job): Promise<void> {
    const { checkpoint, most, races } = begun.get(job.id) ?? beginning;
    const since = performance.now();
    try {
      const next = await nextBatch({ job, checkpoint, most, time: clock() });
      if (next) begun.set(job.id, { ...beginning, checkpoint: next, most: suited(most, performance.now() - since) });
      else begun.delete(job.id);
    } catch (error) {
      // Somebody changed or added one of the objects at the same moment, or another job has to end first.
      const isRace = Boolean(unique(error) ?? foreignKey(error) ?? isLockLost(error));
      const restsUntil = isRace && races < mostRaces ? 0 : performance.now() + everyMs;
      begun.set(job.id, {
        checkpoint: firstCheckpoint,
        most: Math.max(fewest, most >> 1),
        races: races + 1,
        restsUntil,
      });
      if (!isRace) onError(error);
    }
  }
}

/** A job's position, the size of its next batch, the number of lost races in a row, and the time until which it pauses. */
type Progress = {
  readonly checkpoint: Checkpoint;
  readonly most: number;
  readonly races: number;
  readonly restsUntil: number;
};

function resting(begun: ReadonlyMap<string, Progress>): readonly string[] {
  const now = performance.now();
  return [...begun].flatMap(([id, { restsUntil }]) => (restsUntil > now ? [id] : []));
}

// After that many, the job pauses until about the next poll, as after any other error.
const mostRaces = 3;

const fewest = 10;
const usual = 200;
const largest = 1_000;
const beginning: Progress = { checkpoint: firstCheckpoint, most: usual, races: 0, restsUntil: 0 };

const slowMs = 400;
const quickMs = 150;

/** The size of the next batch, so that each takes a fraction of a second however busy the database is. */
function suited(most: number, took: number): number {
  if (took > slowMs) return Math.max(fewest, most >> 1);
  return took < quickMs ? Math.min(largest, most * 2) : most;
}

const organizationsAtOnce = 100;

/** An organization with jobs, and the job whose turn it is; no job if all of them pause. */
type Turn = Job | { readonly owner: string; readonly id: null };

/**
 * Makes the function that finds the next job: one of each organization, for the next organizations after the given one. An organization's
 * next job is the one after its last, so that jobs that cannot continue hold up no others.
 */
function turns(sql: Sql) {
  const last = new Map<string, string>();
  return async (after: string, resting: readonly string[]): Promise<readonly Turn[]> => {
    const owners = await ownersAfter(sql, after);
    if (owners.length === 0 && after === "") last.clear();
    if (owners.length === 0) return [];
    const found = await jobsOf(
      sql,
      owners.map((owner) => ({ owner, last: last.get(owner) ?? "" })),
      resting,
    );
    for (const { id, owner } of found) if (id !== null) last.set(owner, id);
    return found;
  };
}

/** The next organizations with jobs after the given one. */
async function ownersAfter(sql: Sql, after: string): Promise<readonly string[]> {
  const found = await sql<{ owner: string }[]>`
    with recursive owners as (
      (select owner from jobs where ended is null and owner > ${after} order by owner limit 1)
      union all
      select (select j.owner from jobs j where j.ended is null and j.owner > o.owner order by j.owner limit 1)
      from owners o where o.owner is not null
    )
    select owner from owners where owner is not null limit ${organizationsAtOnce}`;
  return found.map(({ owner }) => owner);
}

type LastOf = Readonly<Record<"owner" | "last", string>>;

/** The next job of each organization, whose last one is given. */
const jobsOf = (sql: Sql, last: readonly LastOf[], resting: readonly string[]) => sql<Turn[]>`
  select j.job_id as id, o.owner, j.type, j.stream, j.version, j.payload, j.actor, j.request_id as "requestId", j.origin
  from jsonb_to_recordset(${JSON.stringify(last)}::text::jsonb) as o (owner text, last text) left join lateral (
    (select * from jobs where ended is null and owner = o.owner and job_id <> all(${resting}) and job_id > o.last
     order by job_id limit 1)
    union all
    (select * from jobs where ended is null and owner = o.owner and job_id <> all(${resting}) order by job_id limit 1)
    limit 1) j on true
  order by o.owner`;
