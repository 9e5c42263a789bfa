import { isConnectionsExhausted } from "../failure.ts";
import type { ProcessLog } from "../process_log.ts";
import { type Connection, connect, type Pooler, type Sql } from "./connect.ts";
import type { Aside } from "./slow_servers.ts";

/** Options of the check whether the database is writable. */
export type WritableOptions = Readonly<{
  url: string;
  log: ProcessLog;
  pooler?: Pooler | undefined;
  /** The pools whose connections are in the state that the check finds. */
  pools: readonly [Connection, ...Connection[]];
  /** Whether the check has a connection of its own. */
  own: boolean;
  aside?: Aside | undefined;
}>;

/** Checks whether the database is writable; rejects if it cannot be reached. */
export type Writable = AsyncDisposable &
  Readonly<{
    ask: () => Promise<boolean>;
    /** Runs a short read on the connection of the check, so that it does not wait for the statements of calls. */
    read: <T>(statement: (sql: Sql) => Promise<T>) => Promise<T>;
    /** Reports that a statement found the database's disk full. */
    diskFull: () => void;
    /** The number of such reports. */
    fullDisks: () => number;
  }> &
  Pick<Connection, "renew" | "shrink">;

// Nobody can ask for the room on a full disk: a small write may succeed where the next one fails. So calls are admitted again after this
// time, and the first that finds no room closes the node again.
const fullMs = 10_000;

const answerMs = 1_000;
const bounds = { connections: 1, waitMs: answerMs, statementTimeoutMs: answerMs, connectMs: answerMs, answerMs };

/**
 * Opens a connection for the check alone. In the common queue the check would be late on a busy but healthy node, and a lock that holds up
 * every connection of the pool would look like an outage of the database.
 */
export function openWritable({ url, log, pooler, pools, own, aside }: WritableOptions): Writable {
  const [first] = pools;
  const asking = own ? connect(url, { ...bounds, log, pooler, aside }) : first;
  let last = false;
  let fullDisks = 0;
  let fullAt = Number.NEGATIVE_INFINITY;
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
      // A connection keeps the `default_transaction_read_only` that it was opened with, so older ones are replaced once writes work.
      if (!answer || !before) for (const pool of [...pools, asking]) pool.renew(answer ? 0 : undefined);
      return answer && performance.now() - fullAt > fullMs;
    },
    read,
    diskFull() {
      fullDisks += 1;
      fullAt = performance.now();
    },
    fullDisks: () => fullDisks,
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
