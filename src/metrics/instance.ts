import { counter, type Family, gauge, together } from "@postern/gateway";

/** The load of a queue that runs a few jobs at a time. */
export type Load = { readonly running: number; readonly waiting: number };

/** The number of messages under way, the age of the oldest, and the number given up in the last days. */
type DeliveryHealth = { readonly waiting: number; readonly oldestSeconds: number; readonly dead: number };

/** The load of each part of the server. */
export type InstanceLoad = {
  readonly ready: boolean;
  readonly database: Load;
  readonly hashing: Load;
  /** How long ago the node last read the log to its end, or how long the oldest event that may not be read yet has waited. */
  readonly logBehindSeconds: number;
  /** The delivery of SMS; absent when the database does not answer. */
  readonly sms?: DeliveryHealth | undefined;
  /** The delivery of mails; absent when the database does not answer. */
  readonly mail?: DeliveryHealth | undefined;
  /** The delivery of sign-outs to applications; absent when the database does not answer. */
  readonly logouts?: DeliveryHealth | undefined;
  /** The spans of traces; absent when nothing is traced. */
  readonly spans?: { readonly waiting: number; readonly exported: number; readonly dropped: number } | undefined;
};

const logBehind =
  "How far followers of the log are behind; they wait for every transaction that has written, in any database of the server.";

/** A gauge that every process reads from the same database, or that is as bad as the worst of them. */
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

/** Metrics of the database, the hashes, the log, the SMS, the mails and the sign-outs. */
export function instanceFamilies({
  ready,
  database,
  hashing,
  logBehindSeconds,
  sms,
  mail,
  logouts,
  spans,
}: InstanceLoad): Family[] {
  return [
    most("postern_ready", "Whether this node can serve.", ready ? 1 : 0),
    gauge("postern_database_statements_running", "Statements at the database.", database.running),
    gauge("postern_database_statements_waiting", "Statements that wait for a connection.", database.waiting),
    gauge("postern_password_hashes_running", "Passwords that are hashed.", hashing.running),
    gauge("postern_password_hashes_waiting", "Passwords that wait to be hashed.", hashing.waiting),
    most("postern_log_behind_seconds", logBehind, logBehindSeconds),
    ...deliveryFamilies(texts.sms, sms),
    ...deliveryFamilies(texts.mail, mail),
    ...deliveryFamilies(texts.logout, logouts),
    ...(spans
      ? [
          gauge("postern_spans_waiting", "Spans that wait for the collector.", spans.waiting),
          counter("postern_spans_exported_total", "Spans that the collector took.", spans.exported),
          counter("postern_spans_dropped_total", "Spans that were lost on the way to it.", spans.dropped),
        ]
      : []),
  ];
}

/** Metrics of the workers of a node. */
export const workerFamilies = (count: {
  readonly serving: number;
  readonly of: number;
  readonly ended: number;
}): Family[] => [
  gauge("postern_workers", "Workers that this node should have.", count.of),
  gauge("postern_workers_serving", "Workers that serve.", count.serving),
  counter("postern_workers_ended_total", "Workers that ended and were started again.", count.ended),
];
