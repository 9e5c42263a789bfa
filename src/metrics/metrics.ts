import { counter, type Family, gauge, together } from "@postern/gateway";

/** The load of a queue that runs a few jobs at a time. */
export type Load = { readonly running: number; readonly waiting: number };

/** The number of messages waiting, the age of the oldest, and how many were given up in the last few days; both up to 10,000. */
type DeliveryHealth = { readonly waiting: number; readonly oldestSeconds: number; readonly dead: number };

/** The values of the metrics that no call counts, of each part of the server. */
export type InstanceMetrics = {
  readonly ready: boolean;
  readonly database: Load;
  /** How long statements have been waiting for locks; absent if the database does not respond. */
  readonly lockWaitSeconds?: number | undefined;
  /** The number of statements that failed because the database's disk was full. */
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
  readonly subscriptions?: DeliveryHealth | undefined;
  /** The instance's jobs; absent if the database does not respond. */
  readonly jobs?: { readonly underWay: number; readonly stalledSeconds: number } | undefined;
  /** How long the oldest event no longer kept by the retention policy has been past its days; absent if the database does not respond. */
  readonly retentionBehindSeconds?: number | undefined;
  /** Sign-ins by password on this node. */
  readonly signIns: { readonly rightPasswords: number; readonly refusedNames: number };
  /** The spans of traces; absent if tracing is off. */
  readonly spans?: { readonly waiting: number; readonly exported: number; readonly dropped: number } | undefined;
};

const logBehind =
  "How long ago the node last read the log to its end, or how long the oldest event without a number has been waiting, if that is longer.";

/** A gauge for which the highest value of all processes counts: they read it from the same database, or the worst one matters. */
const most = (name: string, help: string, value: number) => together("most", gauge(name, help, value));

const upTo = "; 10,000 of them at most are counted.";

const texts = {
  sms: { name: "sms", waiting: `SMS waiting to be sent${upTo}`, dead: `SMS given up in the last few days${upTo}` },
  mail: {
    name: "mail",
    waiting: `Mails waiting to be sent${upTo}`,
    dead: `Mails given up in the last few days${upTo}`,
  },
  logout: {
    name: "logout",
    waiting: `Sign-outs waiting to be sent to applications${upTo}`,
    dead: `Sign-outs given up in the last few days${upTo}`,
  },
  subscription: {
    name: "subscription",
    waiting: `Subscriptions with events to deliver${upTo}`,
    dead: `Subscriptions that died because their receivers accepted nothing${upTo}`,
    oldest: "How long the receiver of one of them has accepted nothing.",
  },
} as const satisfies Record<string, DeliveryTexts>;

type DeliveryTexts = Readonly<Record<"name" | "waiting" | "dead", string>> & { readonly oldest?: string };

const deliveryFamilies = (
  { name, waiting, dead, oldest = "How long the oldest one has been waiting." }: DeliveryTexts,
  health: DeliveryHealth | undefined,
): Family[] =>
  health
    ? [
        most(`postern_${name}_waiting`, waiting, health.waiting),
        most(`postern_${name}_oldest_seconds`, oldest, health.oldestSeconds),
        most(`postern_${name}_dead`, dead, health.dead),
      ]
    : [];

const stalled = "Time since the last progress of the job that has made none for longest.";

const jobFamilies = (jobs: InstanceMetrics["jobs"]): Family[] =>
  jobs
    ? [
        most("postern_jobs_under_way", "Large deletions that continue after their call.", jobs.underWay),
        most("postern_jobs_stalled_seconds", stalled, jobs.stalledSeconds),
      ]
    : [];

const retentionBehind =
  "For how long the oldest event that the retention policy no longer keeps has been past its days; 0 without a policy.";

const retentionFamilies = (seconds: number | undefined): Family[] =>
  seconds === undefined ? [] : [most("postern_retention_behind_seconds", retentionBehind, seconds)];

const longFamilies = (load: InstanceMetrics["longStatements"]): Family[] =>
  load
    ? [
        gauge("postern_database_long_statements_running", "Long statements running in the database.", load.running),
        gauge(
          "postern_database_long_statements_waiting",
          "Long statements waiting for a connection of their own.",
          load.waiting,
        ),
        gauge(
          "postern_database_long_statements_limit",
          "Maximum number of long statements that run at once.",
          load.limit,
        ),
      ]
    : [];

function databaseFamilies({ database, lockWaitSeconds, fullDisks, longStatements }: InstanceMetrics): Family[] {
  const lockWait = "How long the oldest statement that is waiting for a lock has been running.";
  const noRoom = "Statements that failed because the disk of the database was full.";
  return [
    gauge("postern_database_statements_running", "Statements running in the database.", database.running),
    gauge("postern_database_statements_waiting", "Statements waiting for a connection.", database.waiting),
    ...(lockWaitSeconds === undefined ? [] : [most("postern_database_lock_wait_seconds", lockWait, lockWaitSeconds)]),
    counter("postern_database_disk_full_total", noRoom, fullDisks),
    ...longFamilies(longStatements),
  ];
}

const spanFamilies = (spans: InstanceMetrics["spans"]): Family[] =>
  spans
    ? [
        gauge("postern_spans_waiting", "Spans waiting to be sent to the collector.", spans.waiting),
        counter("postern_spans_exported_total", "Spans that the collector accepted.", spans.exported),
        counter("postern_spans_dropped_total", "Spans lost on the way to the collector.", spans.dropped),
      ]
    : [];

const refusedNames =
  "Login names at which passwords were refused, whether users have them or not; each counts once a minute.";

const signInFamilies = (signIns: InstanceMetrics["signIns"]): Family[] => [
  counter("postern_sign_in_passwords_right_total", "Passwords that were right at sign-in.", signIns.rightPasswords),
  counter("postern_sign_in_names_refused_total", refusedNames, signIns.refusedNames),
];

export function instanceFamilies(metrics: InstanceMetrics): Family[] {
  const { ready, hashing, logBehindSeconds, sms, mail, logouts, subscriptions, jobs, signIns, spans } = metrics;
  return [
    most("postern_ready", "Whether this node can serve.", ready ? 1 : 0),
    ...databaseFamilies(metrics),
    gauge("postern_password_hashes_running", "Password hashes being computed.", hashing.running),
    gauge("postern_password_hashes_waiting", "Password hashes waiting to be computed.", hashing.waiting),
    ...signInFamilies(signIns),
    most("postern_log_behind_seconds", logBehind, logBehindSeconds),
    ...deliveryFamilies(texts.sms, sms),
    ...deliveryFamilies(texts.mail, mail),
    ...deliveryFamilies(texts.logout, logouts),
    ...deliveryFamilies(texts.subscription, subscriptions),
    ...jobFamilies(jobs),
    ...retentionFamilies(metrics.retentionBehindSeconds),
    ...spanFamilies(spans),
  ];
}

export const workerFamilies = (count: {
  readonly serving: number;
  readonly of: number;
  readonly ended: number;
}): Family[] => [
  gauge("postern_workers", "Workers that this node should have.", count.of),
  gauge("postern_workers_serving", "Workers that are serving.", count.serving),
  counter("postern_workers_ended_total", "Workers that exited and were restarted.", count.ended),
];
