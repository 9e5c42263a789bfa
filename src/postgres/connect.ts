import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { refuse } from "../errors.ts";
import { arrayTypes } from "./arrays.ts";
import { encryptionOf, encryptionParameters } from "./encryption.ts";
import { markSent } from "./failure.ts";
import { createLimiter, type Limiter } from "./limiter.ts";
import type { Log } from "./log.ts";
import { type Admit, heldBack, onEnd } from "./statement.ts";
import { createWatchdog, type Watchdog } from "./watchdog.ts";

/** Asks the database by tagged template, one statement at a time; neither transactions nor reserved connections. */
export type Sql = postgres.ISql<{ bigint: bigint }>;

/** A piece of SQL to put into others. */
export type Fragment = postgres.Fragment;

/** How to connect; silenceMs is how long past the statement's time an answer may take, connectMs how long connecting may. */
export type ConnectOptions = Readonly<{
  connections: number;
  waitMs: number;
  statementTimeoutMs: number;
  log: Log;
  silenceMs?: number;
  connectMs?: number;
  /** Is told of each statement's text before it waits for a connection; what it answers is told how it went on. */
  observe?: ((text: string) => Observed | undefined) | undefined;
}>;

/** Hears that a statement was sent, and that it ended. */
export type Observed = Readonly<{ sent: () => void; ended: (error?: unknown) => void }>;

/** A pool of connections, and how many statements run and wait. */
export type Connection = AsyncDisposable & Readonly<{ sql: Sql; load: Limiter["load"] }>;

/**
 * A plan lives as long as its connection. Made while a table was small it read the whole table, or hashed a whole index, and
 * went on to do so while the table grew: until the next analyze the database spent three times as long on AddUserGrant.
 */
export const planning = { enable_seqscan: "off", enable_hashjoin: "off", enable_mergejoin: "off", jit: "off" };

/** Opens a pool; connections are made when first needed. */
export function connect(url: string, options: ConnectOptions): Connection {
  const { connections, waitMs, statementTimeoutMs, silenceMs = 5_000, connectMs = 5_000 } = options;
  const limiter = createLimiter({ limit: connections, waitMs });
  const watchdog = createWatchdog(statementTimeoutMs + connectMs + silenceMs);
  const driver = {
    ...clientOptions(url, options.log),
    max: connections,
    connect_timeout: connectMs / 1000,
    // One statement to a connection: none waits behind a slow one of somebody else.
    max_pipeline: 0,
    connection: { application_name: "postern", statement_timeout: statementTimeoutMs, ...planning },
    // A statement that arrives while the pool redials should not wait for more than a moment.
    backoff: () => 0.05 + Math.random() / 20,
    socket: watchdog.open,
  };
  const pool = postgres(driverUrl(url), driver);
  return {
    sql: heldBack(pool, admission({ limiter, watchdog, observe: options.observe })),
    load: limiter.load,
    async [Symbol.asyncDispose]() {
      const patience = new AbortController();
      await Promise.race([limiter.close(), sleep(5_000, undefined, { signal: patience.signal }).catch(() => {})]);
      patience.abort();
      // The driver would wait in vain for the last statement of a connection that died.
      await pool.end({ timeout: 0.2 });
      watchdog[Symbol.dispose]();
      watchdog.destroyAll();
    },
  };
}

/** What every client of ours has in common; the folder of a Unix-domain socket is the host parameter, as for libpq. */
export function clientOptions(url: string, log: Log) {
  const parsed = new URL(url);
  const folder = parsed.searchParams.get("host");
  const ssl = encryptionOf(parsed);
  return {
    types: { ...arrayTypes, bigint: postgres.BigInt },
    // See arrayTypes.
    fetch_types: false,
    onnotice: (notice: postgres.Notice) => log.debug({ notice: notice.message }, "notice of the database"),
    ...(folder ? { host: folder } : {}),
    ...(ssl === undefined ? {} : { ssl }),
  };
}

/** The URL without what is for us to read, which postgres.js would send to the server as settings. */
export function driverUrl(url: string): string {
  const stripped = new URL(url);
  for (const parameter of ["host", ...encryptionParameters]) stripped.searchParams.delete(parameter);
  return stripped.href;
}

type Gate = Readonly<{ limiter: Limiter; watchdog: Watchdog; observe: ConnectOptions["observe"] }>;

/** Lets statements go as places become free, and watches them. */
function admission({ limiter, watchdog, observe }: Gate): Admit {
  return (statement, send) => {
    const observed = observe?.(statement.strings.join("$"));
    limiter.enter({
      start: () => {
        const expected = watchdog.expect();
        onEnd(statement, (error) => {
          // A statement that was never sent did nothing.
          if (error !== undefined && statement.state) markSent(error);
          expected[Symbol.dispose]();
          observed?.ended(error);
          limiter.leave();
        });
        observed?.sent();
        send();
      },
      refuse: () => statement.reject(refuse.because("UNAVAILABLE", { retrySeconds: 1 })),
    });
  };
}
