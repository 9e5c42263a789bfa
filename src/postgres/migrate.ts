import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { StartError } from "./failure.ts";
import { watchIndexBuild } from "./migrating/index_build.ts";
import { type Migration, migrationsIn, type Step } from "./migrating/migration_file.ts";
import {
  applyBatch,
  applyStep,
  type Batch,
  buildIndex,
  type Client,
  type Outcome,
  prepare,
  progressOf,
  type StepRun,
} from "./migrating/migration_step.ts";
import { candidatesOf } from "./pool/connect.ts";
import { findServer } from "./pool/find_server.ts";
import type { Link } from "./pool/link.ts";
import type { ProcessLog } from "./process_log.ts";
import { checkDatabase, startErrorOf } from "./start_error.ts";

/** The database to migrate, with the URL of a role that may change its tables. */
export type MigrateOptions = Readonly<{ url: string; log: ProcessLog; folder?: string }>;

type Applied = Readonly<{ name: string; checksum: string }>;

/** The means to apply migrations: a connection, another that watches the progress of an index, and the log. */
type Means = Readonly<{ client: Client; watcher: () => Promise<Client>; log: ProcessLog }>;

const ours = fileURLToPath(new URL("./migrations", import.meta.url));

const connectMs = 10_000;
const restMs = 1_000;
// Calls wait for the rows of a batch for about this long at most, and half of the time belongs to them alone.
const batchMs = 200;
const [leastRows, mostRows] = [10, 2_000];
const reportMs = 10_000;

/** Applies missing migrations in order, each step by itself; returns the names of those applied. */
export async function migrate({ url, log, folder = ours }: MigrateOptions): Promise<readonly string[]> {
  const files = migrationsIn(folder);
  const connection = { application_name: "postern-migrate" };
  const links: Link[] = [];
  const events = { made: (link: Link) => void links.push(link), ended() {} };
  const open = () => findServer(candidatesOf({ url, log, connectMs, connection, prepare: false }), events);
  try {
    const found = await open();
    checkDatabase(found);
    const { sql: client } = found.link;
    await prepare(client);
    return await applyAll({ client, log, watcher: async () => (await open()).link.sql }, files);
  } catch (error) {
    throw startErrorOf(error);
  } finally {
    await Promise.all(links.map((link) => link.end()));
  }
}

async function applyAll(means: Means, files: readonly Migration[]): Promise<readonly string[]> {
  const { client } = means;
  const done: string[] = [];
  const pace = { rows: 100, reportedAt: performance.now() };
  for (;;) {
    const applied = await client<Applied[]>`select name, checksum from migrations order by name`;
    const migration = nextOf(files, applied);
    // An empty database gets a single log line for all of them.
    const isNew = applied.length === done.length;
    if (!migration && isNew && done.length > 0) means.log.info({ migrations: done.length }, "tables made");
    if (!migration) return done;
    const run = { migration, progress: await progressOf(client, migration), applied: applied.length };
    const log: ProcessLog = isNew ? Object.create(means.log, { info: { value: means.log.debug } }) : means.log;
    const isLast = run.progress.step + 1 === migration.steps.length;
    if ((await advance({ ...means, log }, run, pace)) !== "ended" || !isLast) continue;
    log.info({ migration: migration.name }, "migration applied");
    done.push(migration.name);
  }
}

type Pace = { rows: number; reportedAt: number };

/** Applies a step, or a batch of one, and pauses for as long as others need. */
async function advance(means: Means, run: StepRun, pace: Pace): Promise<Outcome | "going on"> {
  const { migration, progress } = run;
  const { log } = means;
  const at = { migration: migration.name, step: `${progress.step + 1} of ${migration.steps.length}` };
  const step = migration.steps[progress.step];
  if (!step) throw new StartError(`Migration ${migration.name} has fewer steps than were applied`);
  const outcome = await apply(means, { run, step, pace });
  if (typeof outcome === "object") {
    const { rows, total, tookMs } = outcome;
    pace.rows = Math.round(Math.max(leastRows, Math.min(mostRows, pace.rows * 2, (pace.rows * batchMs) / tookMs)));
    if (performance.now() - pace.reportedAt > reportMs) {
      log.info({ ...at, rows, total }, "the migration is running");
      pace.reportedAt = performance.now();
    }
    await pause(tookMs);
    return "going on";
  }
  if (outcome === "ended" && migration.steps.length > 1) log.info(at, "step of a migration applied");
  // Otherwise nodes that start together would take turns, one working while the other leaves the time to calls.
  if (outcome === "overtaken" && step.kind === "batches") await pause(restMs);
  if (outcome !== "locked") return outcome;
  log.warn(at, "other statements hold a lock that the migration needs; trying again");
  await pause(restMs);
  return outcome;
}

type Work = Readonly<{ run: StepRun; step: Step; pace: Pace }>;

async function apply({ client, watcher, log }: Means, { run, step, pace }: Work): Promise<Outcome | Batch> {
  switch (step.kind) {
    case "transaction":
      return applyStep(client, run, step.text);
    case "batches":
      return applyBatch(client, { run, step, most: pace.rows });
    case "index": {
      const { name } = run.migration;
      using _watch = watchIndexBuild(watcher, { index: step.index, log, migration: name, everyMs: reportMs });
      return await buildIndex(client, run, step);
    }
  }
}

function nextOf(files: readonly Migration[], applied: readonly Applied[]): Migration | undefined {
  const newest = files.at(-1)?.name ?? "";
  for (const { name, checksum } of applied) {
    const file = files.find((one) => one.name === name);
    if (!file && name > newest)
      throw new StartError(
        `The database is newer than this program: it has migration ${name}, and the last one that this program knows is ${newest || "none"}`,
      );
    if (!file) throw new StartError(`Migration ${name} was applied to the database but its file is missing`);
    if (!file.checksums.includes(checksum))
      throw new StartError(`Migration ${name} was changed after it was applied: restore its file and add another`);
  }
  const next = files.find(({ name }) => !applied.some((one) => one.name === name));
  const last = applied.at(-1)?.name ?? "";
  if (next && next.name < last)
    throw new StartError(
      `Migration ${next.name} comes before ${last}, which is already applied: give it a later number`,
    );
  return next;
}
