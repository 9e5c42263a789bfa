import postgres from "postgres";
import { StartError } from "../failure.ts";
import type { Migration, Step } from "./migration_file.ts";

export type Client = postgres.Sql<{ bigint: bigint }>;

/** The progress of a migration of several steps; in a step of batches, `after` is the last key that was done, as a row of literals. */
export type Progress = Readonly<{ step: number; after: string | null; rows: number; moves: number }>;

/** A run of a step: the migration to apply, its progress, and how many were applied before it. */
export type StepRun = Readonly<{ migration: Migration; progress: Progress; applied: number }>;

/** The outcome of a step: another node may have done it, or running statements may hold its tables. */
export type Outcome = "ended" | "overtaken" | "locked";

/** A finished batch: the rows done so far in its step, their approximate total, and how long the batch took. */
export type Batch = Readonly<{ rows: number; total: number; tookMs: number }>;

// The number is arbitrary, but must be the same for every node of every version.
const lock = "select pg_advisory_xact_lock(7710653297)";
// Our own error code for "another node was faster".
const overtaken = "PT409";

// Other statements queue up behind a migration that waits for a table, so it gives way and tries again, before those statements give up:
// shared ones wait a second for a lock.
const bounded = "set local lock_timeout = '500ms'";
// The errors that end a wait: the bound, or a deadlock with a statement that held one table and waited for another.
const lockLost = new Set(["55P03", "40P01"]);

/** Creates the table of applied migrations if it is missing. */
export async function prepare(client: Client): Promise<void> {
  const [row] = await client`select to_regclass('migrations') is not null as made`;
  if (row?.made) return;
  await client.unsafe(`${lock};
    create table if not exists migrations
      (name text primary key, checksum text not null, applied_at timestamptz not null default now())`);
}

/** The progress of a migration; the table has at most one row, for the migration that is under way. */
export async function progressOf(client: Client, { name, checksums }: Migration): Promise<Progress> {
  const [made] = await client`select to_regclass('migration_under_way') is not null as made`;
  if (!made?.made)
    await client.unsafe(`${lock};
      create table if not exists migration_under_way
        (name text not null, checksum text not null, step integer not null, after text, rows bigint not null default 0,
         moves bigint not null, one boolean primary key default true check (one))`);
  const [row] = await client<(Progress & { name: string; checksum: string })[]>`
    select name, checksum, step, after, rows::float8 as rows, moves::float8 as moves from migration_under_way`;
  if (!row) return { step: 0, after: null, rows: 0, moves: 0 };
  if (row.name === name && row.checksum !== checksums[0])
    throw new StartError(
      `Migration ${name} was changed while it was being applied: restore its file, and let it finish`,
    );
  return row;
}

/** Runs the statements of the step that is due, and records that it ended. */
export function applyStep(client: Client, run: StepRun, text: string): Promise<Outcome> {
  return transact(client, run, `${text}\n;${ended(run)}`);
}

/**
 * Builds an index while others write. Its waits hold up nobody, so they have no bound. A build that was killed leaves an invalid index; it
 * is dropped, but not while a node that builds it holds its lock on the table.
 */
export async function buildIndex(client: Client, run: StepRun, step: Step & { kind: "index" }): Promise<Outcome> {
  const { index, table, text } = step;
  const isInvalid = `exists (select from pg_index where indexrelid = to_regclass('${index}') and not indisvalid)`;
  const cleared = await transact(
    client,
    run,
    `do $clear$ begin
      if ${isInvalid} then
        lock table ${table} in share update exclusive mode;
        if ${isInvalid} then drop index ${index}; end if;
      end if;
    end $clear$`,
  );
  if (cleared !== "ended") return cleared;
  const built = await outcomeOf(run, () => client.unsafe(text));
  if (built !== "ended") return built;
  const check = `do $check$ begin
    if ${isInvalid} then raise exception 'the index is invalid' using errcode = 'lock_not_available'; end if;
  end $check$`;
  return applyStep(client, run, check);
}

// A table that was small when it was last analyzed would be read as a whole for each batch.
const byIndex = "set local enable_seqscan = off; set local max_parallel_workers_per_gather = 0";

/** Runs a step of batches for the next rows, or records that the step ended when there are none. */
export async function applyBatch(
  client: Client,
  { run, step, most }: { run: StepRun; step: Step & { kind: "batches" }; most: number },
): Promise<Outcome | Batch> {
  const { after, rows } = run.progress;
  const { table } = step;
  const keys = step.keys.join(", ");
  const began = after === null ? "true" : `(${keys}) > ${after}`;
  const backwards = step.keys.map((key) => `${key} desc`).join(", ");
  const literals = `array[${step.keys.map((key) => `format('%L', ${key})`).join(", ")}]`;
  const [page] = await client.unsafe<Page[]>(`
    with page as materialized (select ${keys} from ${table} where ${began} order by ${keys} limit ${most}),
      first as (select ${literals} as key from page order by ${keys} limit 1),
      last as (select ${literals} as key from page order by ${backwards} limit 1)
    select first.key as first, last.key as last, quote_literal(format('(%s)', array_to_string(last.key, ', '))) as upto,
      (select count(*)::int from page) as rows,
      (select reltuples::float8 from pg_class where oid = '${table}'::regclass) as total
    from first, last`);
  const batch = (condition: string) => step.text.replaceAll(":batch", () => condition);
  // Also without rows, so that a statement that cannot be planned fails on every new database.
  if (!page) return applyStep(client, run, batch(`((${keys}) is null and false)`));
  const done = rows + page.rows;
  const text = batch(`(${between(step.keys, page)})`);
  const startedAt = performance.now();
  const outcome = await transact(
    client,
    run,
    `${byIndex}; ${text}\n;${moved(run, `step = ${run.progress.step}, after = ${page.upto}, rows = ${done}`)}`,
  );
  if (outcome !== "ended") return outcome;
  return { rows: done, total: Math.max(done, page.total), tookMs: performance.now() - startedAt };
}

/** The rows of a batch: the keys of the first and the last one, as literals; `upto` quotes the last as a row, to be stored. */
type Page = Readonly<{ first: readonly string[]; last: readonly string[]; upto: string; rows: number; total: number }>;

/**
 * The condition that keys lie between two rows, both included. It compares column by column: the planner estimates a comparison of whole
 * rows by their first column alone. Where many rows share that column, it chose any smaller index that begins with it and read all of them
 * for each batch: of two million events, 166,000 for ten.
 */
function between(keys: readonly string[], { first, last }: Pick<Page, "first" | "last">): string {
  const [key = "", ...others] = keys;
  const [[from = "", ...fromOthers], [to = "", ...toOthers]] = [first, last];
  if (others.length === 0) return `${key} >= ${from} and ${key} <= ${to}`;
  if (from === to) return `${key} = ${from} and ${between(others, { first: fromOthers, last: toOthers })}`;
  const [names, least, most] = [others, fromOthers, toOthers].map((parts) => `(${parts.join(", ")})`);
  return `(${key} = ${from} and ${names} >= ${least} or ${key} > ${from} and ${key} < ${to} or ${key} = ${to} and ${names} <= ${most})`;
}

// Several statements in one message form one transaction, which a lost connection cannot split. The lock lasts as long as the transaction,
// so it needs no session. A node that waited for it finds that another was faster, and reads again.
function transact(client: Client, run: StepRun, text: string): Promise<Outcome> {
  const { applied, progress } = run;
  const guard = `do $guard$ begin
    if (select count(*) from migrations) <> ${applied}
      or coalesce((select moves from migration_under_way), 0) <> ${progress.moves}
    then raise exception 'overtaken' using errcode = '${overtaken}'; end if;
  end $guard$`;
  return outcomeOf(run, () => client.unsafe(`${lock};\n${guard};\n${bounded};\n${text}`));
}

async function outcomeOf({ migration, progress }: StepRun, work: () => Promise<unknown>): Promise<Outcome> {
  try {
    await work();
    return "ended";
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    if (error.code === overtaken) return "overtaken";
    if (lockLost.has(error.code)) return "locked";
    const count = migration.steps.length;
    const where = count > 1 ? ` in step ${progress.step + 1} of ${count}, after which it goes on once that works` : "";
    const kept = count > 1 ? "" : " and changed nothing";
    throw new StartError(`Migration ${migration.name} failed${kept}${where}: ${error.message}`);
  }
}

function ended(run: StepRun): string {
  const { migration, progress } = run;
  const { name, checksums, steps } = migration;
  if (progress.step + 1 < steps.length) return moved(run, `step = ${progress.step + 1}, after = null, rows = 0`);
  return `insert into migrations (name, checksum) values ('${name}', '${checksums[0]}'); delete from migration_under_way`;
}

function moved({ migration: { name, checksums }, progress: { moves } }: StepRun, change: string): string {
  return `insert into migration_under_way (name, checksum, step, moves) values ('${name}', '${checksums[0]}', 0, 0)
    on conflict (one) do nothing;
    update migration_under_way set moves = ${moves + 1}, ${change}`;
}
