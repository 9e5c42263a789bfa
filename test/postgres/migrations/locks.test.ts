import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../../src/postgres/migrate.ts";
import { type Migration, migrationsIn, type Step } from "../../../src/postgres/migrating/migration_file.ts";
import { freshDatabase } from "../../database.ts";
import { openClient, warningsOnly } from "../../fixture/database_client.ts";

const folder = new URL("../../../src/postgres/migrations", import.meta.url).pathname;

// Those before it are as 0.1.0 shipped them.
const first = "0018";

const isLater = (path: string) => path.endsWith(".sql") && basename(path) >= first;

type Client = ReturnType<typeof openClient>["client"];

/** The tables of 0.1.0, with the files that hold their rows: those may be large, whatever they are called later. */
const tablesOf = (client: Client) =>
  client<{ oid: string; file: string }[]>`
    select oid::text as oid, pg_relation_filenode(oid)::text as file from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace`;

/** The tables that nobody can even read until the transaction ends. */
const closed = `
  select c.oid::text as oid, c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
  where l.pid = pg_backend_pid() and l.mode = 'AccessExclusiveLock' and c.relkind = 'r'
    and c.oid = any(string_to_array($1, ',')::oid[])`;

/** What the transaction did to each row of these tables: indexes that it built, and rules that it checked while nobody could read. */
const laborious = `
  select indexrelid::regclass::text as name from pg_index
  where indrelid = any(string_to_array($1, ',')::oid[]) and not indexrelid = any(string_to_array($2, ',')::oid[])
  union all
  select conname from pg_constraint n
  where n.conrelid = any(string_to_array($1, ',')::oid[]) and n.xmin = pg_current_xact_id()::xid and n.convalidated and n.contype = 'c'
    and exists (select from pg_locks l where l.pid = pg_backend_pid() and l.relation = n.conrelid and l.mode = 'AccessExclusiveLock')`;

test("a step closes one table at most, and no work on its rows waits for it or holds others up", async () => {
  await using database = await freshDatabase({ empty: true });
  await migrateToFirst(database.url);
  await using sql = openClient(database.url);
  const tables = await tablesOf(sql.client);
  const oids = tables.map(({ oid }) => oid).join();
  const later = migrationsIn(folder).filter(({ name }) => name >= first);
  for (const { name, steps } of later) for (const step of steps) await applied(sql.client, { name, step, oids });
  expect(await tablesOf(sql.client)).toEqual(expect.arrayContaining([...tables]));
});

type Tried = { name: Migration["name"]; step: Step; oids: string };

async function applied(client: Client, { name, step, oids }: Tried): Promise<void> {
  if (step.kind === "index") return void (await client.unsafe(step.text));
  const [before] = await client<
    { indexes: string }[]
  >`select string_agg(indexrelid::text, ',') as indexes from pg_index`;
  await client.unsafe(`begin; ${step.text.replaceAll(":batch", "true")}`);
  const names = (await client.unsafe<{ name: string }[]>(closed, [oids])).map((one) => one.name);
  // Whoever drops a reference closes both of its tables, for a moment.
  const most = step.kind === "batches" ? 0 : name.startsWith("0018") ? 2 : 1;
  expect(names.length, `${name} closes ${names}: ${step.text}`).toBeLessThanOrEqual(most);
  expect(await client.unsafe(laborious, [oids, before?.indexes ?? ""]), `${name}: ${step.text}`).toEqual([]);
  await client.unsafe("commit");
}

async function migrateToFirst(url: string): Promise<void> {
  const earlier = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  await cp(folder, earlier, { recursive: true, filter: (path) => !isLater(path) });
  await migrate({ url, log: warningsOnly, folder: earlier });
  await rm(earlier, { recursive: true });
}
