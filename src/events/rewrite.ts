import type { Sql } from "../postgres/pool/connect.ts";

/** Rewrites tables from time to time; called after facts were folded, with their number. */
export type Rewrite = (facts: number) => Promise<void>;

const everyFacts = 1_000;
// Rewriting a table costs as much as reading this many index entries, plus this many for each of its rows.
const fixedCost = 10_000;
const rowCost = 4;

/**
 * Keeps the temporary tables of a rebuild short. Each update or delete leaves a dead row, which vacuum cannot remove within the
 * transaction, and every later one reads all of them: by the end of 2,000 changes to one user, each took a second. A rewritten table keeps
 * only the visible rows. It is rewritten once as much has been spent on dead rows as the rewrite costs, so all rewriting together costs no
 * more than it saves.
 */
export function rewriting(client: Sql, tables: readonly string[]): Rewrite {
  let since = 0;
  let readBefore = new Map<string, number>();
  return async (facts) => {
    since += facts;
    if (since < everyFacts) return;
    since = 0;
    const spent = (one: Counts) => one.read - (readBefore.get(one.table) ?? 0);
    const slow = (await countsOf(client, tables)).filter((one) => spent(one) > fixedCost + rowCost * one.rows);
    // With the expression, the server treats it as a different value and copies the table.
    for (const { table, column, type } of slow)
      await client.unsafe(
        `alter table pg_temp.${table} alter column ${column} type ${type} using coalesce(${column}, ${column})`,
      );
    // Rebuilt indexes count from zero.
    const now =
      slow.length > 0
        ? await countsOf(
            client,
            slow.map(({ table }) => table),
          )
        : [];
    readBefore = new Map([...readBefore, ...now.map(({ table, read }) => [table, read] as const)]);
  };
}

type Counts = {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The index entries that were read in vain, for dead rows. */
  readonly read: number;
  readonly rows: number;
};

/** The state of each table, and a column whose collation is implied by its type. */
const countsOf = (client: Sql, tables: readonly string[]) => client<Counts[]>`
  select s.relname as table, quote_ident(a.attname) as column, format_type(a.atttypid, a.atttypmod) as type,
    (s.n_tup_ins - s.n_tup_del)::float8 as rows, (
      select sum(pg_stat_get_xact_tuples_returned(i.indexrelid) - pg_stat_get_xact_tuples_fetched(i.indexrelid))::float8
      from pg_index i where i.indrelid = s.relid) as read
  from pg_stat_xact_user_tables s cross join lateral (
    select * from pg_attribute where attrelid = s.relid and attnum > 0 and not attisdropped
      and attcollation in (0, 'pg_catalog."default"'::regcollation) order by attnum limit 1) a
  where s.schemaname like 'pg\\_temp\\_%' and s.relname = any(string_to_array(${tables.join()}, ','))
    and s.relid = to_regclass('pg_temp.' || quote_ident(s.relname))`;
