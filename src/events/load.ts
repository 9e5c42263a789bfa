import type { Sql } from "../postgres/pool/connect.ts";
import { inBatches } from "./batch.ts";
import { sharedJson } from "./fold.ts";

/** A read whose statement concurrent callers share; returns one key's rows. */
export type Load<K, R> = (key: K, signal?: AbortSignal) => Promise<R[]>;

/** The SQL of a shared statement. */
export type Question = {
  /** The key's columns with their types, such as `user_id text`. */
  readonly asked: string;
  /** Additional CTEs. */
  readonly parts?: string;
  /**
   * Whether a lone key is passed as plain parameters, which the planner inlines where they are read; this makes a list a fifth faster. The
   * planner then expects one row, for which any plan will do on small tables, so each join has to force its index with a lateral select and
   * a limit.
   */
  readonly isPlain?: true;
  /** Whether it writes. Keys that share such a statement wait at most a second for each row locked by others. */
  readonly isWrite?: true;
  /** A select from `asked` (n and the key's columns) that yields asked.n as "n" in addition to its own columns. */
  readonly select: string;
};

export type Key = Readonly<Record<string, unknown>>;

const textOf = ({ asked, parts, select }: Question, given = "$1::text::jsonb"): string => `with asked as materialized (
  select * from jsonb_to_recordset(${given}) as asked (n integer, ${asked})
)${parts === undefined ? "" : `,\n${parts}`}\n${select}`;

const numbered = (keys: readonly Key[]): string => JSON.stringify(keys.map((key, n) => ({ ...key, n })));

/** A column of a key that can be a plain parameter of a statement. */
type Plain = { readonly name: string; readonly type: string };

/** A key's columns, each a text or a number, if they may be plain parameters. */
function plainColumns({ asked, isPlain }: Question): readonly Plain[] | undefined {
  if (!isPlain) return undefined;
  const columns = asked.split(", ").map((column) => column.split(" "));
  return columns.map(([name = "", type = ""]) => ({ name, type }));
}

const loneTextOf = ({ parts, select }: Question, columns: readonly Plain[]): string => `with asked as not materialized (
  select 0 as n, ${columns.map(({ name, type }, at) => `$${at + 1}::${type} as ${name}`).join(", ")}
)${parts === undefined ? "" : `,\n${parts}`}\n${select}`;

type Statement = [text: string, parameters: string[]];

/** Makes the statement that reads keys. */
function statementOf(question: Question): (keys: readonly Key[]) => Statement {
  const text = textOf(question);
  if (question.isWrite) {
    const sharedText = textOf(question, sharedJson);
    return (keys) => [keys.length > 1 ? sharedText : text, [numbered(keys)]];
  }
  const columns = plainColumns(question);
  if (!columns) return (keys) => [text, [numbered(keys)]];
  const loneText = loneTextOf(question, columns);
  const isPlain = (key: Key) => columns.every(({ name }) => key[name] !== null && key[name] !== undefined);
  return (keys) => {
    const [key, another] = keys;
    if (!key || another || !isPlain(key)) return [text, [numbered(keys)]];
    return [loneText, columns.map(({ name }) => String(key[name]))];
  };
}

/** The statement of a question, and its rows for each key of a list. */
export function asking<K extends Key, R>(sql: Sql, question: Question) {
  const statement = statementOf(question);
  return (keys: readonly K[]) => sql.unsafe<({ n: number } & R)[]>(...statement(keys), { prepare: true });
}

/** Makes a read of the rows of several keys in one statement, in the order of the keys. */
export function loadEach<K extends Key, R>(sql: Sql, question: Question) {
  const ask = asking<K, R>(sql, question);
  return async (keys: readonly K[]): Promise<readonly (readonly R[])[]> => {
    const found = keys.map((): R[] => []);
    for (const row of await ask(keys)) found[row.n]?.push(row);
    return found;
  };
}

/** Makes a shared read: keys read at the same time share one statement. */
export function load<K extends Key, R>(sql: Sql, question: Question): Load<K, R> {
  const rowsOf = asking<K, R>(sql, question);
  const ask = inBatches<{ key: K; rows: R[] }>({
    atOnce: 2,
    most: 100,
    async run(batch) {
      for (const row of await rowsOf(batch.map(({ job }) => job.key))) batch[row.n]?.job.rows.push(row);
      for (const { resolve } of batch) resolve();
    },
  });
  return async (key, signal) => {
    const job = { key, rows: [] as R[] };
    await ask(job, signal);
    return job.rows;
  };
}

/** Makes a shared read that yields at most one row per key. */
export function loadOne<K extends Key, R>(sql: Sql, question: Question) {
  const rows = load<K, R>(sql, question);
  return async (key: K, signal?: AbortSignal): Promise<R | undefined> => (await rows(key, signal))[0];
}

// Decoding this many rows blocks a node for about ten milliseconds.
const mostRows = 5_000;

/** A row of a list: its key's number, then its columns in the order of the select. */
export type Tuple = readonly [n: number, ...columns: unknown[]];

/**
 * Makes a shared read of lists. The rows are tuples, because with many rows the column names cost more than the values. `mostOf` is the
 * maximum number of rows of a key, and limits how many keys share a statement.
 */
export function loadLists<K extends Key, R extends Tuple>(sql: Sql, question: Question, mostOf: (key: K) => number) {
  const statement = statementOf(question);
  const ask = inBatches<{ key: K; rows: R[] }>({
    atOnce: 4,
    most: 100,
    weights: { of: ({ key }) => mostOf(key), most: mostRows },
    async run(batch) {
      const keys = batch.map(({ job }) => job.key);
      const rows = (await sql.unsafe(...statement(keys), { prepare: true }).values()) as unknown as R[];
      for (const row of rows) batch[row[0]]?.job.rows.push(row);
      for (const { resolve } of batch) resolve();
    },
  });
  return async (key: K, signal?: AbortSignal): Promise<readonly R[]> => {
    const job = { key, rows: [] as R[] };
    await ask(job, signal);
    return job.rows;
  };
}
