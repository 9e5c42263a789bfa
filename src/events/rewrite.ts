import type { Sql } from "../postgres/connect.ts";

/** Rewrites tables now and then; called after facts were folded into them, with their number. */
export type Rewrite = (facts: number) => Promise<void>;

const everyFacts = 2_000;

/**
 * Keeps the temporary tables of a rebuild short. Each update leaves the row before it, which no vacuum removes within the
 * transaction, and each later one reads all of them: 2,000 changes of one user took a second each in the end. A table that is
 * rewritten keeps the rows that are visible only. That is done as often as it has had as many updates as it has rows, so that all
 * rewriting together costs no more than the updates.
 */
export function rewriting(client: Sql, tables: readonly string[]): Rewrite {
  const rewrittenAt = new Map<string, number>();
  let since = 0;
  return async (facts) => {
    since += facts;
    if (since < everyFacts) return;
    since = 0;
    for (const { table, updates, rows } of await countsOf(client, tables)) {
      if (updates - (rewrittenAt.get(table) ?? 0) < everyFacts / 4 + rows) continue;
      rewrittenAt.set(table, updates);
      // The expression makes it another value for the server, which copies the table then.
      await client.unsafe(`alter table pg_temp.${table} alter column version type bigint using version + 0`);
    }
  };
}

type Counts = { readonly table: string; readonly updates: number; readonly rows: number };

/** The updates of this transaction and the rows, of those tables that hold objects. */
const countsOf = (client: Sql, tables: readonly string[]) => client<Counts[]>`
  select s.relname as table, s.n_tup_upd::float8 as updates, (s.n_tup_ins - s.n_tup_del)::float8 as rows
  from pg_stat_xact_user_tables s join pg_attribute a on a.attrelid = s.relid and a.attname = 'version'
  where s.schemaname like 'pg\\_temp\\_%' and s.relname = any(string_to_array(${tables.join()}, ','))
    and s.relid = to_regclass('pg_temp.' || quote_ident(s.relname))`;
