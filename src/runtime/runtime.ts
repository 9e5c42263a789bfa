import type { Logger } from "pino";
import { type Config, masterKeys } from "../config/config.ts";
import { type Call, callOrigin, type Deps, keys, newId, systemCall } from "../deps.ts";
import { type Attempts, attemptsOf } from "../events/attempts.ts";
import type { NewFact } from "../events/fact.ts";
import { factCaches, happenedBy } from "../events/fact_cache.ts";
import { followTail, type Tail } from "../events/follow.ts";
import { type CommandOrigin, openLog } from "../events/log.ts";
import { numberBacklog, numberEvents } from "../events/numbering.ts";
import { type CallerCache, callerCache } from "../guards/caller_cache.ts";
import { isStatementTimeout, StartError } from "../postgres/failure.ts";
import { migrate } from "../postgres/migrate.ts";
import { type Database, openDatabase } from "../postgres/open.ts";
import { type Connection, type ConnectOptions, connect, type Sql } from "../postgres/pool/connect.ts";
import { lockWaitSeconds } from "../postgres/pool/lock_wait.ts";
import { serversAside } from "../postgres/pool/slow_servers.ts";
import { openWritable, type Writable } from "../postgres/pool/writable.ts";
import { startErrorOf } from "../postgres/start_error.ts";
import { workForAll } from "../security/current_share.ts";
import { type FailureRates, failureRates, type MakeFailureRate, ownFailureRate } from "../security/failure_rate.ts";
import { Traffic } from "../security/pace.ts";
import { type Secrets, secretsOf } from "../security/secrets.ts";
import { notingUse } from "../services/callers/bearer_use.ts";
import { passwordResetsOf } from "../services/passwords/password_reset.ts";
import { signInsOf } from "../services/sessions/sign_in.ts";
import { aside } from "../services/writing/side_call.ts";

import { folds, type Parts } from "./modules.ts";

/** The parts that the service, the bootstrap and the doctor share. */
export type Runtime = AsyncDisposable &
  Parts & {
    /** The failure counts by name. */
    readonly rates: FailureRates;
    readonly attempts: Attempts<Call>;
    /** Whether members of several organizations call. */
    readonly traffic: Traffic;
    readonly database: Database;
    readonly databaseLoad: Connection["load"];
    /** The load of the connections for long statements; undefined if there are none. */
    readonly longLoad: (() => ReturnType<Connection["load"]> & { readonly limit: number }) | undefined;
    readonly logger: Logger;
    readonly callers: CallerCache;
    /** Calls the listener with the facts of each command that this process appended; returns a function that removes it. */
    readonly onAppended: (listener: AppendListener) => () => void;
    /** Whether the database is writable; rejects if it cannot be reached. */
    readonly isWritable: () => Promise<boolean>;
    /** How long statements have been waiting for locks; rejects if the database cannot be reached. */
    readonly lockWaitSeconds: () => Promise<number>;
    /** The number of statements that failed because the database's disk was full. */
    readonly fullDisks: () => number;
    /** Refuses new and waiting statements, and after the grace period closes the connections of those still running. */
    readonly refuse: (graceMs: number) => Promise<void>;
  };

type AppendListener = (facts: readonly NewFact[]) => void;

export type RuntimeOptions = {
  readonly logger: Logger;
  /** Whether to share the embedded database of a process that is running on the same folder. */
  readonly join?: boolean;
  /** Whether calls are served: the events of the log then have numbers before they are followed. */
  readonly serves?: boolean;
  /** Makes the failure counts; if absent, they belong to this process alone. */
  readonly failureRate?: MakeFailureRate | undefined;
  /** Called for every statement. */
  readonly observe?: ConnectOptions["observe"];
};

/** Opens the database, migrates its tables, and composes the runtime. */
export async function openRuntime(config: Config, options: RuntimeOptions): Promise<Runtime> {
  const { logger, join = false, serves = false, observe } = options;
  await using opened = new AsyncDisposableStack();
  const sealingKeys = await masterKeys(config);
  const database = opened.use(await openDatabase(config, logger, { join }));
  const secrets = secretsOf(sealingKeys, hashingOf(config));
  await migrate({ url: database.migrationUrl, log: logger });
  const { pools, writable, longLoad } = openPools({ config, database, logger, observe, opened });
  const [{ sql, load }, { sql: longRunning }] = pools;
  const instanceId = await instanceOf(sql, secrets).catch((error: unknown) => {
    throw startErrorOf(error);
  });
  const caches = factCaches({ clock: now, seconds: config.cacheSeconds });
  const factCache = caches.open;
  const callers = callerCache({ lookup: notingUse({ sql, clock: now }), clock: now, factCache });
  const tail = opened.use(await followLog({ sql, longRunning, writable, logger, serves }));
  tail.listen({ events: (events) => events.forEach(caches.forget), lost: caches.forgetAll });
  const listeners = new Set<AppendListener>();
  const log = openLog<Call>({
    sql,
    longRunning,
    folds,
    ids: newId,
    originOf,
    onWritten: ({ values }) => void values.set(keys.written, true),
    onAppended(facts) {
      for (const fact of facts) caches.forget(happenedBy(fact));
      workForAll(() => {
        tail.poke();
        for (const listener of listeners) listener(facts);
      });
    },
  });
  const onAppended = (listener: AppendListener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const rates = failureRates(options.failureRate ?? ownFailureRate);
  const attempts = attemptsOf({ log, sql, clock: now, ids: newId, instanceId, ...ofAttempts });
  const deps: Deps = { log, sql, clock: now, ids: newId, secrets, factCache, ...countsOf(rates, attempts) };
  const signIns = signInsOf(deps, config);
  const resets = passwordResetsOf(deps, config);
  const ofNode = { rates, attempts, logger, traffic: new Traffic(), databaseLoad: load, longLoad };
  const parts = { deps, signIns, resets, database, ...ofNode, instanceId, tail, callers, onAppended };
  const refuse = (graceMs: number) => Promise.all(pools.map((pool) => pool.refuse(graceMs))).then(() => {});
  const stack = opened.move();
  const state = { isWritable: writable.ask, fullDisks: writable.fullDisks, lockWaitSeconds: lockWait(writable) };
  return { ...parts, ...state, refuse, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Reduces calls whose attempts are written later, and makes the calls that write counts. */
const ofAttempts = { keep: aside, own: () => systemCall(newId()) };

const countsOf = (rates: FailureRates, attempts: Attempts<Call>) => ({
  failureRate: rates.rateOf,
  noteAttempt: attempts.note,
});

const lockWait =
  ({ read }: Writable) =>
  () =>
    read(lockWaitSeconds);

// A revocation reaches other nodes within 250 ms, and a watcher receives an event within 100 ms.
const followMs = 80;

type FollowOptions = {
  readonly sql: Sql;
  readonly longRunning: Sql;
  readonly writable: Writable;
  readonly logger: Logger;
  readonly serves: boolean;
};

/** Follows the log by reads that do not wait for the statements of calls. */
async function followLog({ sql, longRunning, writable, logger, serves }: FollowOptions): Promise<Tail> {
  const onError = (error: unknown) => logger.warn({ err: error }, "the log cannot be followed; trying again");
  if (serves) await numberBacklog(longRunning, logger).catch(onError);
  // All events of a transaction are numbered by one statement, which would never succeed for a million events without a longer timeout.
  const numberForLong = (error: unknown) =>
    isStatementTimeout(error) ? numberEvents(longRunning) : Promise.reject(error);
  return followTail({
    number: () => numberEvents(sql).catch(numberForLong),
    read: writable.read,
    everyMs: followMs,
    onError,
  });
}

// If a granted project loses a role, so do all user grants that depend on it: half a minute for a million of them.
const longStatements = { statementTimeoutMs: 600_000, waitMs: 30_000 };

/** Divides the connections among the pools; if there are at least two, one of them checks whether the database is writable. */
export function sharesOf(connections: number) {
  const asking = connections > 1 ? 1 : 0;
  const long = connections > 2 ? Math.max(1, Math.min(4, connections >> 2)) : 0;
  return { asking, long, short: connections - asking - long };
}

type PoolsOptions = Pick<RuntimeOptions, "logger" | "observe"> &
  Readonly<{ config: Config; database: Database; opened: AsyncDisposableStack }>;

/** Opens one pool for ordinary statements and one for long ones, or a single pool if there are too few connections. */
function openPools({ config, database, logger: log, observe, opened }: PoolsOptions) {
  const { url, pooler } = database;
  const shares = sharesOf(config.databaseConnections);
  const readOnly = () => {
    for (const { renew } of [...pools, writable]) renew();
  };
  const diskFull = () => writable.diskFull();
  const aside = serversAside();
  const makeRoom = () => [...pools, writable].some(({ shrink }) => shrink());
  const common = { ...poolOf(config), log, pooler, observe, readOnly, diskFull, aside, makeRoom };
  const short = opened.use(connect(url, { ...common, connections: shares.short }));
  const long = shares.long
    ? opened.use(connect(url, { ...common, ...longStatements, connections: shares.long, asking: short.sql }))
    : short;
  const pools: readonly [Connection, Connection] = [short, long];
  const writable = opened.use(openWritable({ url, log, pooler, pools, own: shares.asking > 0, aside }));
  const longLoad = shares.long > 0 ? () => ({ ...long.load(), limit: shares.long }) : undefined;
  return { pools, writable, longLoad };
}

const now = () => new Date();

function originOf(call: Call): CommandOrigin {
  return {
    actor: call.values.get(keys.caller)?.userId,
    requestId: call.values.get(keys.requestId),
    from: callOrigin(call),
    signal: call.signal,
    idempotency: call.values.get(keys.idempotency),
  };
}

function poolOf({ databaseWaitMs, databaseStatementTimeoutMs }: Config) {
  return { waitMs: databaseWaitMs, statementTimeoutMs: databaseStatementTimeoutMs };
}

function hashingOf(config: Config) {
  return {
    concurrency: config.hashConcurrency,
    queue: config.hashQueue,
    memoryKib: config.hashMemoryKib,
    iterations: config.hashIterations,
    parallelism: config.hashParallelism,
  };
}

/**
 * Reads the instance's id, which the first start creates; the check value keeps out nodes with another master key. If there are events of
 * future transactions, the database was restored and a new epoch begins.
 */
async function instanceOf(sql: Sql, { keyring }: Secrets): Promise<string> {
  const check = keyring.checkValue();
  await sql`insert into instance (instance_id, key_check) values (${newId()}, ${check}) on conflict do nothing`;
  const [instance] = await sql<
    { id: string; check: Buffer }[]
  >`select instance_id as id, key_check as check from instance`;
  if (!instance) throw new StartError("The database has lost the row of its instance: restore it from a backup");
  if (!keyring.holds(instance.check)) {
    throw new StartError("POSTERN_MASTER_KEY is not the key that this database was created with: set it to that key");
  }
  if (!check.equals(instance.check)) await sql`update instance set key_check = ${check}`;
  await sql`
    update instance set epoch = instance.epoch + 1 where exists (
      select 1 from events e where e.epoch = instance.epoch and e.xid >= pg_snapshot_xmax(pg_current_snapshot()))
    or (select b.epoch = instance.epoch and pg_snapshot_xmax(b.snapshot) > pg_snapshot_xmax(pg_current_snapshot())
      from event_batches b order by b.first desc limit 1)`;
  return instance.id;
}
