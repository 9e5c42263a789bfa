import { counter, type Family, gauge, together } from "@postern/gateway";

/** The load of a queue that runs a few jobs at a time. */
export type Load = { readonly running: number; readonly waiting: number };

/** The number of messages waiting, the age of the oldest, and how many were given up in the last few days. */
type DeliveryHealth = { readonly waiting: number; readonly oldestSeconds: number; readonly dead: number };

/** The load of each part of the server. */
export type InstanceLoad = {
  readonly ready: boolean;
  readonly database: Load;
  /** How long statements have been waiting for locks; absent if the database does not respond. */
  readonly lockWaitSeconds?: number | undefined;
  /** How many statements failed because the database's disk was full. */
  readonly fullDisks: number;
  /** Statements that may take long; absent if they share connections with all others. */
  readonly longStatements?: (Load & { readonly limit: number }) | undefined;
  readonly hashing: Load;
  /** How long ago the node last read the log to its end, or how long the oldest unreadable event has been waiting. */
  readonly logBehindSeconds: number;
  /** The delivery of SMS; absent if the database does not respond. */
  readonly sms?: DeliveryHealth | undefined;
  /** The delivery of mails; absent if the database does not respond. */
  readonly mail?: DeliveryHealth | undefined;
  /** The delivery of sign-outs to applications; absent if the database does not respond. */
  readonly logouts?: DeliveryHealth | undefined;
  /** The instance's jobs; absent if the database does not respond. */
  readonly jobs?: { readonly underWay: number; readonly stalledSeconds: number } | undefined;
  /** The spans of traces; absent if tracing is off. */
  readonly spans?: { readonly waiting: number; readonly exported: number; readonly dropped: number } | undefined;
};

const logBehind =
  "How far followers of the log are behind; they wait for every transaction that has written, in any database of the server.";

/** A gauge for which the highest value of all processes counts: they read it from the same database, or the worst one matters. */
const most = (name: string, help: string, value: number) => together("most", gauge(name, help, value));

const texts = {
  sms: { name: "sms", waiting: "SMS that have not left yet.", dead: "SMS that were given up in the last days." },
  mail: { name: "mail", waiting: "Mails that have not left yet.", dead: "Mails that were given up in the last days." },
  logout: {
    name: "logout",
    waiting: "Sign-outs that applications are still to learn of.",
    dead: "Sign-outs that were given up in the last days.",
  },
} as const;

const deliveryFamilies = (
  { name, waiting, dead }: (typeof texts)[keyof typeof texts],
  health: DeliveryHealth | undefined,
): Family[] =>
  health
    ? [
        most(`postern_${name}_waiting`, waiting, health.waiting),
        most(`postern_${name}_oldest_seconds`, "How long the oldest of them has waited.", health.oldestSeconds),
        most(`postern_${name}_dead`, dead, health.dead),
      ]
    : [];

const stalled = "How long ago the job that least recently went on did so.";

const jobFamilies = (jobs: InstanceLoad["jobs"]): Family[] =>
  jobs
    ? [
        most("postern_jobs_under_way", "Large deletions that go on after their call.", jobs.underWay),
        most("postern_jobs_stalled_seconds", stalled, jobs.stalledSeconds),
      ]
    : [];

const longFamilies = (load: InstanceLoad["longStatements"]): Family[] =>
  load
    ? [
        gauge(
          "postern_database_long_statements_running",
          "Statements that may take long, at the database.",
          load.running,
        ),
        gauge(
          "postern_database_long_statements_waiting",
          "Those that wait for a connection of their own.",
          load.waiting,
        ),
        gauge("postern_database_long_statements_limit", "How many of them run at once at most.", load.limit),
      ]
    : [];

function databaseFamilies({ database, lockWaitSeconds, fullDisks, longStatements }: InstanceLoad): Family[] {
  const lockWait = "How long a statement that waits for a lock has run.";
  const noRoom = "Statements that found no room on the disk of the database.";
  return [
    gauge("postern_database_statements_running", "Statements at the database.", database.running),
    gauge("postern_database_statements_waiting", "Statements that wait for a connection.", database.waiting),
    ...(lockWaitSeconds === undefined ? [] : [most("postern_database_lock_wait_seconds", lockWait, lockWaitSeconds)]),
    counter("postern_database_disk_full_total", noRoom, fullDisks),
    ...longFamilies(longStatements),
  ];
}

const spanFamilies = (spans: InstanceLoad["spans"]): Family[] =>
  spans
    ? [
        gauge("postern_spans_waiting", "Spans that wait for the collector.", spans.waiting),
        counter("postern_spans_exported_total", "Spans that the collector took.", spans.exported),
        counter("postern_spans_dropped_total", "Spans that were lost on the way to it.", spans.dropped),
      ]
    : [];

export function instanceFamilies(load: InstanceLoad): Family[] {
  const { ready, hashing, logBehindSeconds, sms, mail, logouts, jobs, spans } = load;
  return [
    most("postern_ready", "Whether this node can serve.", ready ? 1 : 0),
    ...databaseFamilies(load),
    gauge("postern_password_hashes_running", "Passwords that are hashed.", hashing.running),
    gauge("postern_password_hashes_waiting", "Passwords that wait to be hashed.", hashing.waiting),
    most("postern_log_behind_seconds", logBehind, logBehindSeconds),
    ...deliveryFamilies(texts.sms, sms),
    ...deliveryFamilies(texts.mail, mail),
    ...deliveryFamilies(texts.logout, logouts),
    ...jobFamilies(jobs),
    ...spanFamilies(spans),
  ];
}

export const workerFamilies = (count: {
  readonly serving: number;
  readonly of: number;
  readonly ended: number;
}): Family[] => [
  gauge("postern_workers", "Workers that this node should have.", count.of),
  gauge("postern_workers_serving", "Workers that serve.", count.serving),
  counter("postern_workers_ended_total", "Workers that ended and were started again.", count.ended),
];
