import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { createLimiter, type Limiter } from "../../security/limiter.ts";
import type { ProcessLog } from "../process_log.ts";
import { admission, type Observed } from "./admission.ts";
import { arrayTypes } from "./arrays.ts";
import { type Client, createClient } from "./client.ts";
import { heldBack } from "./driver.ts";
import { encryptionOf, encryptionParameters } from "./encryption.ts";
import type { Candidates } from "./find_server.ts";
import type { Server } from "./link.ts";
import { watchLost } from "./lost_statement.ts";
import { createPool } from "./pool.ts";
import { serversOf } from "./servers.ts";
import type { Aside } from "./slow_servers.ts";

import { watchSilence } from "./watchdog.ts";

/** Runs statements written as tagged templates, one at a time; without transactions and reserved connections. */
export type Sql = postgres.ISql<{ bigint: bigint }>;

/** A piece of SQL to insert into others. */
export type Fragment = postgres.Fragment;

/** Connection options; silenceMs is how long a response may take beyond the statement's limit, connectMs how long connecting may take. */
export type ConnectOptions = Readonly<{
  connections: number;
  waitMs: number;
  statementTimeoutMs: number;
  log: ProcessLog;
  silenceMs?: number;
  connectMs?: number;
  /** The longest silence of a connection whose response is due; by default all of these times together. */
  answerMs?: number;
  /** The longest time for which a connection is used, by default the driver's; the shortest is half of it. */
  lifetimeMs?: number;
  /** The pool that asks whether a silent statement still runs, if statements may run for long. */
  asking?: Sql | undefined;
  /** The pooler between this program and the database, if there is one. */
  pooler?: Pooler | undefined;
  /** Called when the database refused a write because it is read-only. */
  readOnly?: (() => void) | undefined;
  /** Called when the database's disk was full. */
  diskFull?: (() => void) | undefined;
  /** The servers that are tried last; pools share them. */
  aside?: Aside | undefined;
  /** Called if the server has no room for the only connection; returns whether another pool gave one up. */
  makeRoom?: (() => boolean) | undefined;
  /** Called with each statement's text before it waits for a connection; the result is called when it is sent and ends. */
  observe?: ((text: string) => Observed | undefined) | undefined;
}>;

/** A pool of connections, with the numbers of running and waiting statements. */
export type Connection = AsyncDisposable &
  Readonly<{
    sql: Sql;
    load: Limiter["load"];
    /** Replaces connections, each when its statement has ended: settings that they read at their start may have changed. */
    renew: (ageMs?: number) => void;
    /** Ends an idle connection; returns whether there was one. */
    shrink: () => boolean;
    /** Refuses waiting and new statements, and ends the connections of those still running after the grace period. */
    refuse: (graceMs: number) => Promise<void>;
  }>;

/**
 * A plan lives as long as its connection. If it was made while a table was small, it read the whole table, or hashed a whole index, and
 * continued to do so while the table grew: until the next analyze the database spent three times as long on AddUserGrant. A bitmap scan
 * reads all matches before its first row: a page of 20 events of one caller sorted 785,000. If it may choose, the database plans a list of
 * many rows anew for each call, by its values, which took as long as reading it.
 */
export const planning = {
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  jit: "off",
  plan_cache_mode: "force_generic_plan",
};

const hourMs = 3_600_000;

/** Opens a pool; connections are made when first needed. */
export function connect(url: string, options: ConnectOptions): Connection {
  const {
    connections,
    waitMs,
    statementTimeoutMs,
    silenceMs = 5_000,
    connectMs = 5_000,
    lifetimeMs = hourMs,
  } = options;
  const { answerMs = statementTimeoutMs + connectMs + silenceMs, log, pooler, aside } = options;
  const { observe, readOnly, diskFull, makeRoom } = options;
  const settings = pooler ? {} : { statement_timeout: statementTimeoutMs, ...planning };
  const connection = { application_name: "postern", ...settings };
  const candidates = candidatesOf({ url, log, connectMs, connection, prepare: pooler?.prepares ?? true });
  const cancelMs = pooler ? statementTimeoutMs : undefined;
  const limiter = createLimiter({ limit: connections, waitMs });
  const clients = new Set<Client>();
  const make = (closed: (client: Client) => void) => createClient({ ...candidates, aside, closed, lifetimeMs });
  const pool = createPool({ most: connections, make, clients });
  // Long statements are silent while they run; the database is asked about them instead.
  const watchdog = watchSilence(clients, answerMs, options.asking ? answerMs : undefined);
  // The processes that a pooler names are its own.
  const lost = options.asking && !pooler ? watchLost(clients, { sql: options.asking, everyMs: silenceMs }) : undefined;
  // Composes the statements, and has no connection.
  const [{ url: any, driver }] = candidates.servers;
  const maker = postgres(any, { ...driver, max: 1 });
  const refuse = async (graceMs: number) => {
    const over = new AbortController();
    await Promise.race([limiter.close(), sleep(graceMs, undefined, { signal: over.signal }).catch(() => {})]);
    over.abort();
    await pool.close();
  };
  return {
    sql: heldBack(maker, admission({ limiter, pool, waitMs, cancelMs, observe, readOnly, diskFull, makeRoom })),
    load: limiter.load,
    renew: pool.renew,
    shrink: pool.shrink,
    refuse,
    async [Symbol.asyncDispose]() {
      await refuse(5_000);
      watchdog[Symbol.dispose]();
      lost?.[Symbol.dispose]();
    },
  };
}

/** Options for connecting to the servers of a URL; connectMs is divided among them. */
export type CandidatesOptions = Readonly<{
  url: string;
  log: ProcessLog;
  connectMs: number;
  /** Settings of each session, by the names of the server. */
  connection: Readonly<Record<string, string | number>>;
  /** Whether statements are prepared, and planned once for each connection; true by default. */
  prepare?: boolean;
}>;

/** A pooler between this program and the database, whose sessions take no settings from us. */
export type Pooler = Readonly<{
  /** Whether the pooler keeps prepared statements apart, as PgBouncer does since 1.21 with `max_prepared_statements`. */
  prepares: boolean;
}>;

/** The servers of a URL, with the options for connecting to each. */
export function candidatesOf({ url, log, connectMs, connection, prepare = true }: CandidatesOptions): Candidates {
  const { urls, need } = serversOf(url);
  const [first, ...more] = urls;
  const serverOf = (one: string): Server => {
    const connect_timeout = connectMs / 1000 / urls.length;
    return { url: driverUrl(one), driver: { ...clientOptions(one, log), connect_timeout, connection, prepare } };
  };
  return { servers: [serverOf(first), ...more.map(serverOf)], need };
}

/** The options that all our clients share; the folder of a Unix-domain socket is the host parameter, as for libpq. */
export function clientOptions(url: string, log: ProcessLog) {
  const parsed = new URL(url);
  const folder = parsed.searchParams.get("host");
  const ssl = encryptionOf(parsed);
  return {
    types: { ...arrayTypes, bigint: postgres.BigInt },
    // See arrayTypes.
    fetch_types: false,
    onnotice: (notice: postgres.Notice) => log.debug({ notice: notice.message }, "database notice"),
    ...(folder ? { host: folder } : {}),
    ...(ssl === undefined ? {} : { ssl }),
  };
}

/** Removes our own parameters from the URL, which postgres.js would send to the server as settings. */
export function driverUrl(url: string): string {
  const stripped = new URL(url);
  for (const parameter of ["host", ...encryptionParameters]) stripped.searchParams.delete(parameter);
  return stripped.href;
}
