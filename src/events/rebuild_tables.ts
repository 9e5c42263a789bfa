import { createHash } from "node:crypto";
import type { Sql } from "../postgres/pool/connect.ts";
import type { Fold } from "./fold.ts";
import { foldFunctions } from "./fold_functions.ts";

/** The schema of the service, and that of the tables into which the log is replayed. */
export type Schemas = { readonly schema: string; readonly replayed: string };

/** A table behind a name, and the columns that the name shows. */
export type Base = { readonly base: string; readonly columns: readonly string[] };

export type Bases = ReadonlyMap<string, Base>;

type Plan = Schemas & { readonly bases: Bases };

/** With the number of deleted events: a replay that has read some of them starts over. */
type Design = Plan & { readonly deleted: string };

/** The tables to replay the log into: the statements that make them, and a fingerprint by which existing ones are recognized. */
export type Blueprint = { readonly statements: readonly string[]; readonly fingerprint: string };

/** Finds the schemas; an unfinished replay is in the second one. The server would cut a name of more than 63 bytes to that of the first. */
export async function schemasOf(client: Sql): Promise<Schemas> {
  const [row] = await client<Schemas[]>`
    select quote_ident(name) as schema,
      quote_ident(case when octet_length(name) > 54 then md5(name) else name end || '_replayed') as replayed
    from (select current_schema()::text as name) s`;
  if (!row) throw new TypeError("the connection has no schema");
  return row;
}

/** Designs the tables that the folds write, without rows, foreign keys and the indexes of lists, and the functions that fold. */
export async function design(
  client: Sql,
  folds: ReadonlyMap<string, Fold>,
  { schema, replayed, bases, deleted }: Design,
): Promise<Blueprint> {
  const statements = [
    ...[...bases].map(
      ([table, { base }]) => `create unlogged table ${replayed}.${table} (like ${schema}.${base} including all)`,
    ),
    ...(await triggersOf(client, { schema, replayed, bases })),
    ...foldFunctions(replayed, folds),
  ];
  const [row] = await client<{ migrations: string }[]>`
    select string_agg(name || checksum, ',' order by name) as migrations from migrations`;
  const told = JSON.stringify([statements, [...bases], row?.migrations, deleted]);
  return { statements, fingerprint: createHash("sha256").update(told).digest("hex") };
}

/** Whether the schema contains the tables of a replay, and not somebody else's. */
export async function hasReplay(client: Sql, replayed: string): Promise<boolean> {
  const [row] = await client<{ is: boolean }[]>`
    select to_regclass(${`${replayed}.replay_progress`}) is not null as is`;
  return row?.is ?? false;
}

/** Makes the tables anew; must run in a transaction. A schema of that name that is not a replay's stays, so the next statement fails. */
export async function makeTables(client: Sql, replayed: string, { statements }: Blueprint): Promise<void> {
  if (await hasReplay(client, replayed)) await client.unsafe(`drop schema ${replayed} cascade`);
  await client.unsafe(`create schema ${replayed}`);
  for (const statement of statements) await client.unsafe(statement);
  for (const index of await listIndexes(client, replayed)) await client.unsafe(`drop index ${index}`);
}

/** Finds the table behind each name: `users` is a view of the rows of `all_users` that no job is deleting. */
export async function basesOf(client: Sql, names: readonly string[]): Promise<Bases> {
  const rows = await client<({ name: string } & Base)[]>`
    select name, case when c.relkind = 'v' then 'all_' || name else name end as base,
      (select array_agg(quote_ident(attname) order by attnum) from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
    from string_to_table(${names.join()}, ',') name join pg_class c on c.oid = name::regclass`;
  return new Map(rows.map(({ name, ...base }) => [name, base]));
}

/**
 * The triggers of tables, as statements that create them on the tables of the replay. Constraint triggers decide races, and the log only
 * contains the results.
 */
async function triggersOf(client: Sql, { schema, replayed, bases }: Plan) {
  const tables = [...bases.values()].map(({ base }) => base);
  const rows = await client<{ table: string; text: string }[]>`
    select c.relname as table, pg_get_triggerdef(t.oid) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and t.tgconstraint = 0 and c.relnamespace = ${schema}::regnamespace and c.relname = any(string_to_array(${tables.join()}, ','))
    order by c.relname, t.tgname`;
  return rows.map(({ table, text }) => text.replace(/ ON \S+ /, ` ON ${replayed}.${table.replace(/^all_/, "")} `));
}

/** The indexes of the replay's tables that only lists use: on expressions, partial, or comparing bytes. */
async function listIndexes(client: Sql, replayed: string): Promise<readonly string[]> {
  const rows = await client<{ name: string }[]>`
    select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = ${replayed}::regnamespace and not i.indisunique and (i.indexprs is not null or i.indpred is not null
      or exists (select from unnest(i.indcollation) o where o not in (0, 'pg_catalog."default"'::regcollation)))`;
  return rows.map(({ name }) => name);
}
