import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { freshDatabase } from "../database.ts";
import { openClient, warningsOnly } from "../fixture/database_client.ts";

const migrations = new URL("../../src/postgres/migrations", import.meta.url).pathname;

// Those before it are as they were shipped.
const first = "0037";

const isLater = (path: string) => path.endsWith(".sql") && basename(path) >= first;

/** The tables of a list that nobody can even read until the transaction ends. */
const closed = `
  select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
  where l.pid = pg_backend_pid() and l.mode = 'AccessExclusiveLock' and c.relkind = 'r' and c.relname = any(string_to_array($1, ','))
  order by 1`;

/** The indexes of these tables that the transaction made, and that compute what they hold. */
const computed = `
  select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relname = any(string_to_array($1, ',')) and i.indexprs is not null and i.xmin = pg_current_xact_id()::xid`;

// Accented names fold at two thousand a second.
const firstBrief = "0040";

test("a migration closes one table at most, or it and a statement that holds another wait for each other", async () => {
  await using database = await freshDatabase({ empty: true });
  const folder = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  await cp(migrations, folder, { recursive: true, filter: (path) => !isLater(path) });
  await migrate({ url: database.url, log: warningsOnly, folder });
  await rm(folder, { recursive: true });
  await using sql = openClient(database.url);
  for (const file of (await readdir(migrations)).filter(isLater).sort()) {
    const tables = await sql.client.unsafe<{ name: string }[]>(
      "select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace",
    );
    await sql.client.unsafe(`begin; ${await readFile(join(migrations, file), "utf8")}`);
    const names = await sql.client.unsafe(closed, [tables.map(({ name }) => name).join()]);
    expect(names.length, `${file} closes ${names.map(({ name }) => name)}`).toBeLessThanOrEqual(1);
    if (file >= firstBrief) {
      const slow = await sql.client.unsafe(computed, [names.map(({ name }) => name).join()]);
      expect(slow, `${file} computes an index while nobody can read the table`).toEqual([]);
    }
    await sql.client.unsafe("commit");
  }
});
