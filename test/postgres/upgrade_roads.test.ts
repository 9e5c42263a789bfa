import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { freshDatabase } from "../database.ts";
import { openClient, warningsOnly } from "../fixture/database_client.ts";
import { inHistory, unpack } from "../fixture/history.ts";

// 0.1.0, and the last commit whose migrations were single transactions.
const earlier = ["253f142", "1ea6420a"];

/** Everything that a schema has, as the database writes it down. */
const schema = `
  select c.relname as object, format('%s. %I %s%s%s%s %s', a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' end, ' generated ' || nullif(a.attgenerated::text, ''), ' identity ' || nullif(a.attidentity::text, ''),
      pg_get_expr(d.adbin, d.adrelid)) as text
  from pg_class c join pg_attribute a on a.attrelid = c.oid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped
  union all
  select conrelid::regclass::text, format('%I %s %s', conname, pg_get_constraintdef(oid), convalidated)
  from pg_constraint where connamespace = current_schema()::regnamespace
  union all
  select indrelid::regclass::text, format('%s %s', pg_get_indexdef(indexrelid), indisvalid)
  from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = current_schema()::regnamespace
  union all
  select tgrelid::regclass::text, pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where not tgisinternal and c.relnamespace = current_schema()::regnamespace
  union all
  select proname, pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace
  union all
  select viewname, definition from pg_views where schemaname = current_schema()
  order by 1, 2`;

for (const commit of earlier)
  test.skipIf(!inHistory(commit))(`a database that ${commit} migrated gets the same tables as a new one`, async () => {
    await using upgraded = await freshDatabase({ empty: true });
    await migrateTo(commit, upgraded.url);
    await migrate({ url: upgraded.url, log: warningsOnly });
    await using fresh = await freshDatabase();
    const expected = await schemaOf(fresh.url);
    expect(expected.length).toBeGreaterThan(500);
    expect(await schemaOf(upgraded.url)).toEqual(expected);
  });

async function migrateTo(commit: string, url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "postern-history-"));
  await unpack(commit, folder, "src/postgres/migrations");
  await migrate({ url, log: warningsOnly, folder: join(folder, "src/postgres/migrations") });
  await rm(folder, { recursive: true });
}

async function schemaOf(url: string): Promise<object[]> {
  await using sql = openClient(url);
  return [...(await sql.client.unsafe(schema))];
}
