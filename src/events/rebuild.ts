import type { JsonValue } from "@bufbuild/protobuf";
import type { Sql } from "../postgres/pool/connect.ts";
import { crossNounTypes } from "./cross_noun.ts";
import type { Fold } from "./fold.ts";
import { makeFoldFunctions } from "./fold_functions.ts";
import { replay } from "./replay.ts";
import { rewriting } from "./rewrite.ts";

/** A view table that differs from a replay of the log. */
export type Difference = {
  readonly table: string;
  /** The number of rows that differ. */
  readonly rows: number;
  /** Sample rows of the replay that are missing from the table. */
  readonly missing: readonly JsonValue[];
  /** Sample rows of the table that are missing from the replay. */
  readonly extra: readonly JsonValue[];
};

/** Whether the tables equal a replay of the log. */
export type Rebuilt = { readonly equal: boolean; readonly differences: readonly Difference[] };

/** Replays the log into fresh tables and compares them with the real ones. The client must have at most one connection. */
export async function rebuild(client: Sql, folds: ReadonlyMap<string, Fold>): Promise<Rebuilt> {
  await client.unsafe("begin isolation level repeatable read");
  try {
    for (const [name, value] of Object.entries(settings)) await client.unsafe(`set local ${name} = ${value}`);
    const schema = await schemaOf(client);
    const { written, compared, expiries, unknown } = tablesOf(folds);
    const bases = await basesOf(client, [...written, ...followers]);
    const triggers = await triggersOf(client, { schema, bases });
    // Temporary tables hide others with the same name, so the folds write only to them.
    for (const [table, { base }] of bases)
      await client.unsafe(`create temporary table ${table} (like ${schema}.${base} including all)`);
    for (const index of await listIndexes(client)) await client.unsafe(`drop index ${index}`);
    for (const trigger of triggers) await client.unsafe(trigger);
    // A reconnect leaves the transaction and so loses these functions, without which no fold can run.
    await makeFoldFunctions(client, folds);
    const rewrite = rewriting(client, [...written, ...followers]);
    await replay(client, { crossNoun: crossNounTypes(folds), rewrite });
    const found = [];
    for (const table of [...compared, ...followers]) {
      const columns = bases.get(table)?.columns.filter((column) => !unknown.has(`${table}.${column}`));
      found.push(await difference(client, schema, { table, columns, column: expiries.get(table) }));
    }
    const differences = found.filter(({ rows }) => rows > 0);
    return { equal: differences.length === 0, differences };
  } finally {
    await client.unsafe("rollback");
  }
}

// Plans are made while the tables are empty, and kept, so they have to suit large ones.
const settings = {
  statement_timeout: "0",
  // The statement ends soon after the process that asked for it has been stopped.
  client_connection_check_interval: "'1s'",
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  jit: "off",
};

const writing = /\b(?:insert\s+into|delete\s+from|update(?!\s+set\b))\s+(\w+)/g;

/** The tables that facts are folded into. Tables of credentials are not view tables, and are not compared. */
function tablesOf(folds: ReadonlyMap<string, Fold>) {
  const named = (texts: readonly string[]) =>
    texts.flatMap((text) => [...text.matchAll(writing)].map(([, table = ""]) => table.replace(/^all_/, "")));
  const all = [...folds.values()];
  const written = [...new Set(all.flatMap(({ views = [] }) => named(views)))].sort();
  const credentials = new Set(all.flatMap(({ credentials = [] }) => named(credentials)));
  const expiries = new Map(all.flatMap(({ expiry }) => (expiry ? [[expiry.table, expiry.column] as const] : [])));
  const unknown = new Set(all.flatMap(({ unknownBefore: one }) => (one ? [`${one.table}.${one.column}`] : [])));
  return { written, compared: written.filter((table) => !credentials.has(table)), expiries, unknown };
}

/** Tables written by other tables' triggers. */
const followers = ["terms", "used_client_ids"];

/** The table behind a name, and the columns that the name shows. */
type Base = { readonly base: string; readonly columns: readonly string[] };

/** Finds the table behind each name: `users` is a view of the rows of `all_users` that no job is deleting. */
async function basesOf(client: Sql, names: readonly string[]): Promise<ReadonlyMap<string, Base>> {
  const rows = await client<({ name: string } & Base)[]>`
    select name, case when c.relkind = 'v' then 'all_' || name else name end as base,
      (select array_agg(quote_ident(attname) order by attnum) from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
    from string_to_table(${names.join()}, ',') name join pg_class c on c.oid = name::regclass`;
  return new Map(rows.map(({ name, ...base }) => [name, base]));
}

type Named = { readonly schema: string; readonly bases: ReadonlyMap<string, Base> };

/**
 * The triggers of tables, as statements that create them on the temporary tables with these names. Constraint triggers decide races, and
 * the log only contains what was decided.
 */
async function triggersOf(client: Sql, { schema, bases }: Named) {
  const tables = [...bases.values()].map(({ base }) => base);
  const rows = await client<{ table: string; text: string }[]>`
    select c.relname as table, pg_get_triggerdef(t.oid) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and t.tgconstraint = 0 and c.relnamespace = ${schema}::regnamespace and c.relname = any(string_to_array(${tables.join()}, ','))
    order by t.tgname`;
  return rows.map(({ table, text }) => text.replace(/ ON \S+ /, ` ON pg_temp.${table.replace(/^all_/, "")} `));
}

/** The indexes of the temporary tables that only lists use: on expressions, partial, or comparing bytes. */
async function listIndexes(client: Sql): Promise<readonly string[]> {
  const rows = await client<{ name: string }[]>`
    select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = pg_my_temp_schema() and not i.indisunique and (i.indexprs is not null or i.indpred is not null
      or exists (select from unnest(i.indcollation) o where o not in (0, 'pg_catalog."default"'::regcollation)))`;
  return rows.map(({ name }) => name);
}

async function schemaOf(client: Sql): Promise<string> {
  const [row] = await client<{ schema: string }[]>`select quote_ident(current_schema()) as schema`;
  return row?.schema ?? "public";
}

const examples = 3;

/** A table with its columns, and the column with the time after which its rows may be gone. */
type Compared = {
  readonly table: string;
  readonly columns: readonly string[] | undefined;
  readonly column: string | undefined;
};

/** Compares a table with its replay. Schema and names come from the folds and the catalogue, never from a caller. */
async function difference(
  client: Sql,
  schema: string,
  { table, columns: names = ["*"], column }: Compared,
): Promise<Difference> {
  const columns = names.join(", ");
  const lasting = column === undefined ? "" : `where ${column} > now()`;
  const [row] = await client.unsafe<{ rows: number; missing: JsonValue[] | null; extra: JsonValue[] | null }[]>(`
    with missing as materialized (
      select ${columns} from pg_temp.${table} ${lasting} except select ${columns} from ${schema}.${table} ${lasting}),
         extra as materialized (
      select ${columns} from ${schema}.${table} ${lasting} except select ${columns} from pg_temp.${table} ${lasting})
    select ((select count(*) from missing) + (select count(*) from extra))::float8 as rows,
      (select jsonb_agg(to_jsonb(one)) from (select * from missing limit ${examples}) one) as missing,
      (select jsonb_agg(to_jsonb(one)) from (select * from extra limit ${examples}) one) as extra`);
  return { table, rows: row?.rows ?? 0, missing: row?.missing ?? [], extra: row?.extra ?? [] };
}
