import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { refuse } from "../errors.ts";
import { encryptionOf, encryptionParameters } from "./encryption.ts";
import { markSent } from "./failure.ts";
import { createLimiter, type Limiter } from "./limiter.ts";
import type { Log } from "./log.ts";
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

// What postgres.js keeps of a statement; a fragment is one that is never handled.
type Statement = {
  strings: readonly string[];
  handler: (statement: Statement) => void;
  resolve: (rows: unknown) => void;
  reject: (error: unknown) => void;
  state: unknown;
  cursor: () => never;
};

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
    sql: limited(pool, { limiter, watchdog, observe: options.observe }),
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
    types: { bigint: postgres.BigInt },
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

function limited(pool: Sql, gate: Gate): Sql {
  const intercept = (made: unknown) => (isStatement(made) ? admitted(made, gate) : made);
  return new Proxy(pool, {
    apply: (target, self, args) => intercept(Reflect.apply(target, self, args)),
    get: (target, key) =>
      key === "unsafe"
        ? (...args: unknown[]) => intercept(Reflect.apply(target.unsafe, target, args))
        : Reflect.get(target, key),
  });
}

function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && "handler" in made;
}

// postgres.js hands a statement to its handler when it is first awaited, so that is where it can be held back.
function admitted(statement: Statement, { limiter, watchdog, observe }: Gate): Statement {
  const { handler } = statement;
  const admit = () => {
    const observed = observe?.(statement.strings.join("$"));
    limiter.enter({
      start: () => {
        const expected = watchdog.expect();
        onEnd(statement, (error) => {
          expected[Symbol.dispose]();
          observed?.ended(error);
          limiter.leave();
        });
        observed?.sent();
        handler(statement);
      },
      refuse: () => statement.reject(refuse.because("UNAVAILABLE", { retrySeconds: 1 })),
    });
  };
  statement.handler = Object.assign(admit, handler);
  statement.cursor = noCursor;
  return statement;
}

// A cursor ends without a word to whoever waits for its connection.
function noCursor(): never {
  throw new Error("a pool has no cursors: read page by page, by key");
}

function onEnd(statement: Statement, ended: (error?: unknown) => void): void {
  const { resolve, reject } = statement;
  let isOver = false;
  const end = (error?: unknown) => {
    if (!isOver) ended(error);
    isOver = true;
  };
  statement.resolve = (rows) => {
    resolve(rows);
    end();
  };
  statement.reject = (error) => {
    if (statement.state) markSent(error);
    reject(error);
    end(error);
  };
}
