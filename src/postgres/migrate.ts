import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { StartError } from "./failure.ts";
import { candidatesOf } from "./pool/connect.ts";
import { findServer } from "./pool/find_server.ts";
import type { Link } from "./pool/link.ts";
import type { ProcessLog } from "./process_log.ts";
import { checkDatabase, startErrorOf } from "./start_error.ts";

/** The database to migrate, with the URL of a role that may change its tables. */
export type MigrateOptions = Readonly<{ url: string; log: ProcessLog; folder?: string }>;

type Migration = Readonly<{ name: string; checksum: string; text: string }>;
type Applied = Readonly<{ name: string; checksum: string }>;
type Client = postgres.Sql<{ bigint: bigint }>;

const ours = fileURLToPath(new URL("./migrations", import.meta.url));
// The number is arbitrary, but must be the same for every node of every version.
const lock = "select pg_advisory_xact_lock(7710653297)";
// Our own error code for "another node was faster".
const overtaken = "PT409";

// Other statements queue up behind a migration that waits for a table, so it gives way and tries again.
const bounded = "set local lock_timeout = '2s'";
const lockNotAvailable = "55P03";
const restMs = 1_000;

const connectMs = 10_000;

/** What became of a migration: another node may have applied it, or running statements may hold its tables. */
type Outcome = "applied" | "overtaken" | "locked";

/** Applies missing migrations in order, each file in its own transaction; returns the names of those applied. */
export async function migrate({ url, log, folder = ours }: MigrateOptions): Promise<readonly string[]> {
  const files = await migrationsIn(folder);
  const connection = { application_name: "postern-migrate" };
  const links: Link[] = [];
  const events = { made: (link: Link) => void links.push(link), ended() {} };
  try {
    const found = await findServer(candidatesOf({ url, log, connectMs, connection, prepare: false }), events);
    checkDatabase(found);
    await prepare(found.link.sql);
    return await applyAll(found.link.sql, files, log);
  } catch (error) {
    throw startErrorOf(error);
  } finally {
    await Promise.all(links.map((link) => link.end()));
  }
}

async function applyAll(client: Client, files: readonly Migration[], log: ProcessLog): Promise<readonly string[]> {
  const done: string[] = [];
  let isNew = false;
  for (;;) {
    const applied = await client<Applied[]>`select name, checksum from migrations order by name`;
    const next = nextOf(files, applied);
    if (!next) break;
    const outcome = await apply(client, next, applied.length);
    if (outcome === "locked") {
      log.warn({ migration: next.name }, "the migration waits for statements that hold its tables; trying again");
      await pause(restMs);
    }
    if (outcome !== "applied") continue;
    // An empty database gets a single log line for all of them.
    isNew = applied.length === done.length;
    log[isNew ? "debug" : "info"]({ migration: next.name }, "migration applied");
    done.push(next.name);
  }
  if (isNew) log.info({ migrations: done.length }, "tables made");
  return done;
}

async function prepare(client: Client): Promise<void> {
  const [row] = await client`select to_regclass('migrations') is not null as made`;
  if (row?.made) return;
  await client.unsafe(`${lock};
    create table if not exists migrations
      (name text primary key, checksum text not null, applied_at timestamptz not null default now())`);
}

// Several statements in one message form one transaction, which a lost connection cannot split. The lock lasts as long as the transaction,
// so it needs no session. A node that waited for it finds that the count has changed, and reads again.
async function apply(client: Client, { name, checksum, text }: Migration, count: number): Promise<Outcome> {
  const guard = `do $guard$ begin
    if (select count(*) from migrations) <> ${count} then raise exception 'overtaken' using errcode = '${overtaken}'; end if;
  end $guard$`;
  const record = `insert into migrations (name, checksum) values ('${name}', '${checksum}')`;
  try {
    await client.unsafe(`${lock};\n${guard};\n${bounded};\n${text}\n;${record}`);
    return "applied";
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    if (error.code === overtaken) return "overtaken";
    if (error.code === lockNotAvailable) return "locked";
    throw new StartError(`Migration ${name} failed and changed nothing: ${error.message}`);
  }
}

function nextOf(files: readonly Migration[], applied: readonly Applied[]): Migration | undefined {
  const newest = files.at(-1)?.name ?? "";
  for (const { name, checksum } of applied) {
    const file = files.find((one) => one.name === name);
    if (!file && name > newest)
      throw new StartError(
        `The database is newer than this program: it has migration ${name}, this program ends with ${newest || "none"}`,
      );
    if (!file) throw new StartError(`Migration ${name} was applied to the database but its file is missing`);
    if (file.checksum !== checksum)
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

async function migrationsIn(folder: string): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const odd = names.find((name) => !/^\d{4}-[a-z0-9-]+\.sql$/.test(name));
  if (odd) throw new StartError(`${odd} is no name for a migration: it must be like 0001-what.sql`);
  return Promise.all(names.map((name) => readMigration(folder, name)));
}

async function readMigration(folder: string, file: string): Promise<Migration> {
  const text = await readFile(join(folder, file), "utf8");
  const name = file.replace(/\.sql$/, "");
  return { name, text, checksum: createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex") };
}
