import type { JsonValue } from "@bufbuild/protobuf";
import type { Sql } from "../postgres/pool/connect.ts";
import type { NewFact } from "./fact.ts";
import { type Fold, type Later, type Step, statementFor, type Walk } from "./fold.ts";

/** A fact's long-running work, which continues after the call that appended the fact. */
export type Job = {
  readonly id: string;
  readonly owner: string;
  readonly type: string;
  readonly stream: string;
  readonly version: bigint;
  readonly payload: JsonValue;
  readonly actor: string | null;
  readonly requestId: string;
  readonly origin: JsonValue;
};

/** The number of running jobs, and how long the one that has been idle longest has made no progress. */
export type JobsHealth = { readonly underWay: number; readonly stalledSeconds: number };

export async function jobsHealth(sql: Sql): Promise<JobsHealth> {
  const [health] = await sql<JobsHealth[]>`
    select count(*)::integer as "underWay",
      greatest(0, coalesce(extract(epoch from now() - min(coalesce(went_on, created))), 0))::float8 as "stalledSeconds"
    from jobs where ended is null`;
  return health ?? { underWay: 0, stalledSeconds: 0 };
}

/** The maximum number of facts that a call makes itself; beyond it, a job makes them. */
export const mostAtOnce = 1_000;

/** Makes the check whether a fact's work is too much for the statement that appends it. */
export function workRead(sql: Sql, folds: ReadonlyMap<string, Fold>) {
  return async ({ type, at, payload }: NewFact): Promise<boolean> => {
    const later = folds.get(type)?.later;
    if (!later) throw new Error(`nothing says how a job does the work of ${type}`);
    if (later.always?.(payload)) return true;
    const steps = stepsOf(later, payload).flatMap((step) => ("walks" in step ? [] : step));
    const found = steps.map(({ select }) => `(select from (${plainInput(select)}) c limit ${mostAtOnce + 1})`);
    const waits = later.waits ? `exists (${plainInput(later.waits)})` : "false";
    const text = `select count(*) > ${mostAtOnce} or ${waits} as "isTooMuch" from (${found.join(" union all ")}) found`;
    const fact = [at.owner, at.stream, JSON.stringify(payload)];
    const [row] = await sql.unsafe<{ isTooMuch: boolean }[]>(text, fact, { prepare: true });
    return row?.isTooMuch ?? false;
  };
}

const stepsOf = ({ steps }: Later, payload: JsonValue) => steps.filter(({ isFor }) => isFor?.(payload) ?? true);

/** The progress of a job: its step, whether any batch since the first step made a fact, and the position within the step. */
export type Checkpoint = { readonly step: number; readonly wrote: boolean; readonly after?: string };

/** The start of every job, including one that another node has begun. */
export const firstCheckpoint: Checkpoint = { step: 0, wrote: false };

/** A batch of a job, and the maximum number of facts that it may make. */
export type Batch = { readonly job: Job; readonly checkpoint: Checkpoint; readonly most: number; readonly time: Date };

/** Makes the function that runs the next batch of a job. It returns the position after the batch, or undefined once the job has ended. */
export const batches = (sql: Sql, folds: ReadonlyMap<string, Fold>) => async (batch: Batch) => {
  const { job, checkpoint, most } = batch;
  const later = folds.get(job.type)?.later;
  if (!later) throw new Error(`nothing says how a job does the work of ${job.type}`);
  const step = stepsOf(later, job.payload)[checkpoint.step];
  if (!step) return checkpoint.wrote ? firstCheckpoint : end(sql, batch, later);
  if ("walks" in step) return walk(sql, batch, step);
  const { count, after } = await write(sql, batch, statementOf(step, folds));
  const wrote = checkpoint.wrote || count > 0;
  if (step.isOneBatch || count < most) return { step: checkpoint.step + 1, wrote };
  return { step: checkpoint.step, wrote, ...(after === null ? {} : { after }) };
};

type Written = { readonly count: number; readonly after: string | null };

async function write(sql: Sql, { job, checkpoint, most, time }: Batch, text: string): Promise<Written> {
  const { owner, stream, payload, actor, requestId, origin, id } = job;
  const fact = [owner, stream, JSON.stringify(payload)];
  const values = [...fact, most, actor, requestId, time.toISOString(), id, origin && JSON.stringify(origin)];
  const after = text.includes("$10") ? [checkpoint.after ?? null] : [];
  const [row] = await sql.unsafe<Written[]>(text, [...values, ...after], { prepare: true });
  return row ?? { count: 0, after: null };
}

/** Visits the next rows of a walk. Rows that earlier steps make later are visited when the steps run again. */
async function walk(sql: Sql, { job, checkpoint, most }: Batch, { walks }: Walk): Promise<Checkpoint> {
  const [row] = await sql.unsafe<{ count: number; after: string | null }[]>(
    `with walked as (${walks}), progress as (update jobs set went_on = now() where job_id = $4::text)
     select count, after::text as after from walked`,
    [job.stream, most, checkpoint.after ?? null, job.id],
    { prepare: true },
  );
  const { step, wrote } = checkpoint;
  return row?.after && row.count === most ? { step, wrote, after: row.after } : { step: step + 1, wrote };
}

/** Ends a job. If a row added in the meantime refers to what the job deletes, the statement fails. */
async function end(sql: Sql, { job, time }: Batch, { ends }: Later): Promise<undefined> {
  const { owner, stream, payload, id } = job;
  const parts = [
    "fact as (select $1::text as owner, $2::text as stream, $3::text::jsonb as payload)",
    ...ends.map((text, at) => `end_${at} as (${text.replace(/\$facts\b/g, "fact")})`),
  ];
  await sql.unsafe(
    `with ${parts.join(",\n")}\nupdate jobs set ended = $4::text::timestamptz where job_id = $5::text and ended is null`,
    [owner, stream, JSON.stringify(payload), time.toISOString(), id],
    { prepare: true },
  );
  return undefined;
}

const plainInput = (select: string): string =>
  select.replace(
    /\$input\b/g,
    () => "(select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload)",
  );

/** The statement of a batch: the next facts of a step, with everything that results from them. A batch removes the rows that it reads. */
const statementOf = ({ makes, select, next = select }: Step, folds: ReadonlyMap<string, Fold>): string =>
  statementFor([makes], folds, {
    given: `select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, '${makes}'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (${plainInput(next)}) c (n, owner, stream, version, payload) limit $4::integer) c`,
    isOfJob: true,
    parts: [
      `progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)`,
    ],
    yields: `count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input`,
  });
