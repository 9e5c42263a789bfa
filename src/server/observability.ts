import {
  type ArrivedRequest,
  type CallMetrics,
  callMetrics,
  doorOf,
  type Family,
  metricsRoute,
  operationsOf,
  type ProcessMetrics,
  readiness,
  reference,
  requestMetrics,
  seldom,
  standardServices,
  usageFamilies,
} from "@postern/gateway";
import { describeAll, type RpcDescription } from "../contract/describe.ts";
import { type Call, keys } from "../deps.ts";
import { jobsHealth } from "../events/job.ts";
import { unnumberedSeconds } from "../events/numbering.ts";
import { retentionHealth } from "../events/retention.ts";
import { report } from "../guards/report.ts";
import { chooseLanguage } from "../messages/catalogue.ts";
import { merge } from "../metrics/merge.ts";
import { type InstanceLoad, instanceFamilies, workerFamilies } from "../metrics/metrics.ts";
import { logoutHealth } from "../notify/logout/outbox.ts";
import { mailHealth } from "../notify/mail/outbox.ts";
import { smsHealth } from "../notify/sms/outbox.ts";
import { subscriptionHealth } from "../notify/subscriptions/outbox.ts";
import { services } from "../runtime/modules.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { NodeMetrics, WorkerCount } from "../workers/message.ts";
import type { Parent } from "../workers/parent.ts";

/** The state of a node that it exposes in addition to its runtime. */
export type Observers = {
  readonly ownProcess: ProcessMetrics | undefined;
  readonly tracing: Tracing | undefined;
  /** The parent of a worker, which has the metrics of all workers. */
  readonly parent: Parent | undefined;
  /** Whether the first administrator exists; until then the node is not ready. */
  readonly isBootstrapped: () => boolean;
};

/** What operators see of a node: log lines, readiness, documents and metrics. */
export function observability(runtime: Runtime, { ownProcess, tracing, parent, isBootstrapped }: Observers) {
  const { logger } = runtime;
  const calls = ownProcess && callMetrics([...services, ...standardServices], "postern");
  const requests = ownProcess && requestMetrics("postern_sign_in");
  const trace = tracing && tracerOf(tracing, operationsOf(services));
  // Probes arrive every second; successful ones are counted but not logged.
  const quiet = logger.child({}, { level: logger.isLevelEnabled("info") ? "warn" : logger.level });
  const begun = () => isBootstrapped() && (parent?.hasStarted() ?? true);
  const ready = readiness(async () => begun() && (await runtime.isWritable()));
  // Scrapers are not authenticated, and reading the load queries the database, so it is read at most once a second.
  const asked = questionsTo(runtime);
  const load = seldom(() => loadOf(runtime, { ready, asked, tracing }), 1000);
  const rpcs = describeAll(services);
  const counted = calls && requests && [calls, requests];
  const own = counted && (async () => families(counted, await load(), ownProcess));
  if (own) parent?.onMeasure(own);
  const alone = own && (async () => [...(await own()), ...workerFamilies({ serving: 1, of: 1, ended: 0 })]);
  const shown = parent ? async () => nodeFamilies(await parent.gather()) : alone;
  const observers = { observe: calls?.observe, observeRequest: requests?.observe };
  const reported = { languageOf: chooseLanguage, ...observers };
  return {
    lines: report({ logger, trace, traceRequest: tracing && requestTracerOf(tracing), ...reported }),
    quietLines: report({ logger: quiet, ...reported }),
    ready,
    readyFields: parent && (() => ({ workers: readyWorkers(parent.count()) })),
    docs: reference(() => apiOptionsOf(rpcs)),
    docsForOperators: reference(() => apiOptionsOf(rpcs), { makesCalls: false }),
    metrics: own && shown ? [metricsRoute(shown)] : [],
  };
}

/** The options of the API reference, with the contract's comments and examples, which nothing else needs. */
const apiOptionsOf = async (rpcs: readonly RpcDescription[]) => (await import("../contract/api.ts")).apiOptions(rpcs);

type Counted = readonly Pick<CallMetrics, "families">[];

function families(counted: Counted, load: InstanceLoad, ownProcess: ProcessMetrics): readonly Family[] {
  return [...counted.flatMap((one) => one.families()), ...instanceFamilies(load), ...ownProcess.families()];
}

/** The combined metrics of all workers, and of the parent. */
function nodeFamilies({ families, parent, count }: NodeMetrics): readonly Family[] {
  return [...merge([families, usageFamilies(parent)]), ...workerFamilies(count)];
}

const readyWorkers = ({ serving, of }: WorkerCount) => ({ serving, of });

function tracerOf({ call }: Tracing, operations: ReadonlySet<string>) {
  return (operation: string, { requestHeader, values }: Call) =>
    call(requestHeader, {
      operation: operations.has(operation) ? operation.slice(1) : undefined,
      door: doorOf(requestHeader),
      requestId: values.get(keys.requestId),
    });
}

const requestTracerOf =
  ({ request }: Tracing) =>
  (endpoint: string, { method, headers, values }: ArrivedRequest) =>
    request({ get: (name) => headers[name] ?? null }, { method, endpoint, requestId: values.get(keys.requestId) });

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

type LoadOptions = {
  readonly ready: () => Promise<boolean>;
  readonly asked: ReturnType<typeof questionsTo>;
  readonly tracing: Tracing | undefined;
};

async function loadOf(
  { databaseLoad, longLoad, fullDisks, deps, tail, signIns }: Runtime,
  { ready, asked, tracing }: LoadOptions,
): Promise<InstanceLoad> {
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
