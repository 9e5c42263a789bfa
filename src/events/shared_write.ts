import type { Sql } from "../postgres/pool/connect.ts";
import { inBatches } from "./batch.ts";
import { batchWrite } from "./batch_write.ts";
import { keyLines } from "./key_lines.ts";
import { asking, type Key, type Question } from "./load.ts";

export type SharedWriteOptions<K> = {
  /** Keys with a common name are written one after the other. */
  readonly namesOf?: (key: K) => readonly string[];
  /** The minimum number of keys for a second statement beside a running one, as for other batches. */
  readonly worthwhile?: number;
};

/** Makes a shared write for tables outside the log: keys written at the same time share one statement. Returns the row for a key. */
export function sharedWrite<K extends Key, R>(
  sql: Sql,
  question: Question,
  { namesOf, worthwhile }: SharedWriteOptions<K> = {},
) {
  type Job = { readonly key: K; row: R | undefined };
  const rowsOf = asking<K, R>(sql, { ...question, isWrite: true });
  const written = inBatches<Job>({
    atOnce: 2,
    worthwhile,
    most: 100,
    lines: namesOf && keyLines<Job>({ keysOf: ({ key }) => namesOf(key) }),
    run: batchWrite({
      async write(jobs) {
        for (const row of await rowsOf(jobs.map(({ key }) => key))) {
          const job = jobs[row.n];
          if (job) job.row = row;
        }
      },
    }),
  });
  return async (key: K): Promise<R | undefined> => {
    const job: Job = { key, row: undefined };
    await written(job);
    return job.row;
  };
}
