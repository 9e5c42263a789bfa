import { seldom } from "@postern/gateway";
import { jobsHealth } from "../events/job.ts";
import { unnumberedSeconds } from "../events/numbering.ts";
import { retentionHealth } from "../events/retention.ts";
import type { InstanceMetrics } from "../metrics/metrics.ts";
import { logoutHealth } from "../notify/logout/outbox.ts";
import { mailHealth } from "../notify/mail/outbox.ts";
import { smsHealth } from "../notify/sms/outbox.ts";
import { subscriptionHealth } from "../notify/subscriptions/outbox.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Tracing } from "../tracing/tracing.ts";

const answerMs = 1_000;

/**
 * Makes a question with a one-second limit: an answer that takes longer, or fails, is undefined. It is not asked again until the previous
 * attempt has ended.
 */
function withinTime<T>(ask: () => Promise<T>): () => Promise<T | undefined> {
  const current = seldom(ask, 0);
  return () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, answerMs, undefined);
    const first = Promise.race([current(), promise]).catch(() => undefined);
    return first.finally(() => clearTimeout(timer));
  };
}

/**
 * Makes the questions that only the database can answer. A lock there, or a network that drops packets, must not make the other metrics
 * disappear too.
 */
const questionsTo = ({ deps: { sql }, lockWaitSeconds }: Runtime) => ({
  sms: withinTime(() => smsHealth(sql)),
  mail: withinTime(() => mailHealth(sql)),
  logouts: withinTime(() => logoutHealth(sql)),
  subscriptions: withinTime(() => subscriptionHealth(sql)),
  jobs: withinTime(() => jobsHealth(sql)),
  unnumbered: withinTime(() => unnumberedSeconds(sql)),
  retention: withinTime(() => retentionHealth(sql)),
  lockWait: withinTime(lockWaitSeconds),
});

type MetricsOptions = { readonly ready: () => Promise<boolean>; readonly tracing: Tracing | undefined };

/** Makes the function that reads the values of the metrics that no call counts: the queues, the log, the database. */
export function instanceMetrics(runtime: Runtime, options: MetricsOptions): () => Promise<InstanceMetrics> {
  const asked = questionsTo(runtime);
  return () => metricsOf(runtime, { ...options, asked });
}

async function metricsOf(
  { databaseLoad, longLoad, fullDisks, deps, tail, signIns }: Runtime,
  { ready, asked, tracing }: MetricsOptions & { readonly asked: ReturnType<typeof questionsTo> },
): Promise<InstanceMetrics> {
  const [isReady, sms, mail, logouts, subscriptions, jobs, unnumbered = 0, retention, lockWait] = await Promise.all([
    ready(),
    asked.sms(),
    asked.mail(),
    asked.logouts(),
    asked.subscriptions(),
    asked.jobs(),
    asked.unnumbered(),
    asked.retention(),
    asked.lockWait(),
  ]);
  const { running, waiting } = deps.secrets.passwords.load();
  return {
    ready: isReady,
    sms,
    mail,
    logouts,
    subscriptions,
    jobs,
    retentionBehindSeconds: retention && Math.max(0, ...retention.map(({ behindSeconds }) => behindSeconds)),
    database: databaseLoad(),
    lockWaitSeconds: lockWait,
    fullDisks: fullDisks(),
    longStatements: longLoad?.(),
    hashing: { running, waiting },
    logBehindSeconds: Math.max(tail.behindMs() / 1000, unnumbered),
    signIns: signIns.counts.read(),
    spans: tracing?.load(),
  };
}
