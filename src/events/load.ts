import type { Sql } from "../postgres/connect.ts";
import { inBatches } from "./batch.ts";

/** A read whose statement concurrent callers share; returns the rows of one key. */
export type Load<K, R> = (key: K, signal?: AbortSignal) => Promise<R[]>;

/** The SQL of a shared read. */
export type Question = {
  /** The key's columns and their types, such as `user_id text`. */
  readonly asked: string;
  /** A select that reads `asked` (n and the key's columns) and yields asked.n as "n" beside its own columns. */
  readonly select: string;
};

/** Makes a shared read: keys that are read at the same time go into one statement. */
export function load<K extends Readonly<Record<string, unknown>>, R>(
  sql: Sql,
  { asked, select }: Question,
): Load<K, R> {
  const text = `with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, ${asked})
)\n${select}`;
  const ask = inBatches<{ key: K; rows: R[] }>({
    atOnce: 2,
    most: 100,
    async run(batch) {
      const keys = batch.map(({ job }, n) => ({ ...job.key, n }));
      const rows = await sql.unsafe<({ n: number } & R)[]>(text, [JSON.stringify(keys)], { prepare: true });
      for (const row of rows) batch[row.n]?.job.rows.push(row);
      for (const { resolve } of batch) resolve();
    },
  });
  return async (key, signal) => {
    const job = { key, rows: [] as R[] };
    await ask(job, signal);
    return job.rows;
  };
}

/** Makes a shared read that yields at most one row for a key. */
export function loadOne<K extends Readonly<Record<string, unknown>>, R>(sql: Sql, question: Question) {
  const rows = load<K, R>(sql, question);
  return async (key: K, signal?: AbortSignal): Promise<R | undefined> => (await rows(key, signal))[0];
}
