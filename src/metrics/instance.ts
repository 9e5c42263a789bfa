import { counter, type Family, gauge, together } from "@postern/gateway";

/** The load of a queue that runs a few jobs at a time. */
export type Load = { readonly running: number; readonly waiting: number };

/** The load of each part of the server. */
export type InstanceLoad = {
  readonly ready: boolean;
  readonly database: Load;
  readonly hashing: Load;
  /** How long ago the node last read the log to its end, or how long the oldest event that may not be read yet has waited. */
  readonly logBehindSeconds: number;
  /** The delivery of SMS; absent when the database does not answer. */
  readonly sms?: { readonly waiting: number; readonly oldestSeconds: number; readonly dead: number } | undefined;
  /** The delivery of mails; absent when the database does not answer. */
  readonly mail?: { readonly waiting: number; readonly oldestSeconds: number; readonly dead: number } | undefined;
  /** The spans of traces; absent when nothing is traced. */
  readonly spans?: { readonly waiting: number; readonly exported: number; readonly dropped: number } | undefined;
};

const logBehind =
  "How far followers of the log are behind; they wait for every transaction that has written, in any database of the server.";

/** A gauge that every process reads from the same database, or that is as bad as the worst of them. */
const most = (name: string, help: string, value: number) => together("most", gauge(name, help, value));

/** Metrics of the database, the hashes, the log, the SMS and the mails. */
export function instanceFamilies({
  ready,
  database,
  hashing,
  logBehindSeconds,
  sms,
  mail,
  spans,
}: InstanceLoad): Family[] {
  return [
    most("postern_ready", "Whether this node can serve.", ready ? 1 : 0),
    gauge("postern_database_statements_running", "Statements at the database.", database.running),
    gauge("postern_database_statements_waiting", "Statements that wait for a connection.", database.waiting),
    gauge("postern_password_hashes_running", "Passwords that are hashed.", hashing.running),
    gauge("postern_password_hashes_waiting", "Passwords that wait to be hashed.", hashing.waiting),
    most("postern_log_behind_seconds", logBehind, logBehindSeconds),
    ...(sms
      ? [
          most("postern_sms_waiting", "SMS that have not left yet.", sms.waiting),
          most("postern_sms_oldest_seconds", "How long the oldest of them has waited.", sms.oldestSeconds),
          most("postern_sms_dead", "SMS that were given up in the last days.", sms.dead),
        ]
      : []),
    ...(mail
      ? [
          most("postern_mail_waiting", "Mails that have not left yet.", mail.waiting),
          most("postern_mail_oldest_seconds", "How long the oldest of them has waited.", mail.oldestSeconds),
          most("postern_mail_dead", "Mails that were given up in the last days.", mail.dead),
        ]
      : []),
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
