import { type Connection, connect, type Pooler, type Sql } from "./connect.ts";
import { isConnectionsExhausted } from "./failure.ts";
import type { ProcessLog } from "./process_log.ts";

/** Options of the check whether the database can be written. */
export type WritableOptions = Readonly<{
  url: string;
  log: ProcessLog;
  pooler?: Pooler | undefined;
  /** The pools whose connections are in the state that the check finds. */
  pools: readonly [Connection, ...Connection[]];
  /** Whether the check has a connection of its own. */
  own: boolean;
}>;

/** Checks whether the database can be written; rejects if it cannot be reached. */
export type Writable = AsyncDisposable &
  Readonly<{
    ask: () => Promise<boolean>;
    /** Runs a short read on the connection of the check, so that it does not wait for the statements of calls. */
    read: <T>(statement: (sql: Sql) => Promise<T>) => Promise<T>;
  }> &
  Pick<Connection, "renew" | "shrink">;

const answerMs = 1_000;
const bounds = { connections: 1, waitMs: answerMs, statementTimeoutMs: answerMs, connectMs: answerMs, answerMs };

/**
 * Opens a connection for the check alone. In the common queue the check would be late on a node that is busy and healthy, and a
 * lock that holds up every connection of the pool would look like an outage of the database.
 */
export function openWritable({ url, log, pooler, pools, own }: WritableOptions): Writable {
  const [first] = pools;
  const asking = own ? connect(url, { ...bounds, log, pooler }) : first;
  let last = false;
  // If the server allows fewer connections than the pool may open, an open one runs the statement.
  const read = <T>(statement: (sql: Sql) => Promise<T>) =>
    statement(asking.sql).catch((error) =>
      own && isConnectionsExhausted(error) ? statement(first.sql) : Promise.reject(error),
    );
  return {
    async ask() {
      const before = last;
      last = false;
      const answer = await read(isWritable);
      last = answer;
      // A connection keeps the `default_transaction_read_only` that it was opened with: once writes are taken again, no older one is.
      if (!answer || !before) for (const pool of [...pools, asking]) pool.renew(answer ? 0 : undefined);
      return answer;
    },
    read,
    renew: asking.renew,
    shrink: asking.shrink,
    async [Symbol.asyncDispose]() {
      if (own) await asking[Symbol.asyncDispose]();
    },
  };
}

async function isWritable(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select 1 where not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean`;
  return rows.length === 1;
}
