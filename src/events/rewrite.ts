import type { Sql } from "../postgres/connect.ts";

/** Rewrites tables now and then; called after facts were folded into them, with their number. */
export type Rewrite = (facts: number) => Promise<void>;

const everyFacts = 2_000;

/**
 * Keeps the temporary tables of a rebuild short. Each update or delete leaves the row before it, which no vacuum removes within the
 * transaction, and each later one reads all of them: 2,000 changes of one user took a second each in the end. A table that is
 * rewritten keeps the rows that are visible only. That is done as often as it has left as many rows as it has, so that all
 * rewriting together costs no more than the changes.
 */
export function rewriting(client: Sql, tables: readonly string[]): Rewrite {
  const rewrittenAt = new Map<string, number>();
  let since = 0;
  return async (facts) => {
    since += facts;
    if (since < everyFacts) return;
    since = 0;
    for (const { table, column, type, left, rows } of await countsOf(client, tables)) {
      if (left - (rewrittenAt.get(table) ?? 0) < everyFacts / 4 + rows) continue;
      rewrittenAt.set(table, left);
      // The expression makes it another value for the server, which copies the table then.
      await client.unsafe(
        `alter table pg_temp.${table} alter column ${column} type ${type} using coalesce(${column}, ${column})`,
      );
    }
  };
}

type Counts = {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The rows that this transaction left behind. */
  readonly left: number;
  readonly rows: number;
};

/** The rows of each table, and a column whose collation its type implies. */
const countsOf = (client: Sql, tables: readonly string[]) => client<Counts[]>`
  select s.relname as table, quote_ident(a.attname) as column, format_type(a.atttypid, a.atttypmod) as type,
    (s.n_tup_upd + s.n_tup_del)::float8 as left, (s.n_tup_ins - s.n_tup_del)::float8 as rows
  from pg_stat_xact_user_tables s cross join lateral (
    select * from pg_attribute where attrelid = s.relid and attnum > 0 and not attisdropped
      and attcollation in (0, 'pg_catalog."default"'::regcollation) order by attnum limit 1) a
  where s.schemaname like 'pg\\_temp\\_%' and s.relname = any(string_to_array(${tables.join()}, ','))
    and s.relid = to_regclass('pg_temp.' || quote_ident(s.relname))`;
