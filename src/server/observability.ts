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
import { report } from "../guards/report.ts";
import { chooseLanguage } from "../messages/catalogue.ts";
import { merge } from "../metrics/merge.ts";
import { type InstanceMetrics, instanceFamilies, workerFamilies } from "../metrics/metrics.ts";
import { isStatementTimeout, isUnavailable } from "../postgres/failure.ts";
import { services } from "../runtime/modules.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { NodeMetrics, WorkerCount } from "../workers/message.ts";
import type { Parent } from "../workers/parent.ts";
import { instanceMetrics } from "./metric_values.ts";

/** The state of a node that it exposes in addition to its runtime. */
export type Observers = {
  readonly ownProcess: ProcessMetrics | undefined;
  readonly tracing: Tracing | undefined;
  /** The parent of a worker, which has the metrics of all workers. */
  readonly parent: Parent | undefined;
  /** Whether the first administrator exists; until then the node is not ready. */
  readonly isBootstrapped: () => boolean;
};

/** The parts of a node that operators see: log lines, readiness, documents and metrics. */
export function observability(runtime: Runtime, { ownProcess, tracing, parent, isBootstrapped }: Observers) {
  const { logger } = runtime;
  const calls = ownProcess && callMetrics([...services, ...standardServices], "postern");
  const requests = ownProcess && requestMetrics("postern_sign_in");
  const trace = tracing && tracerOf(tracing, operationsOf(services));
  // Probes arrive every second; successful ones are counted but not logged.
  const quiet = logger.child({}, { level: logger.isLevelEnabled("info") ? "warn" : logger.level });
  const begun = () => isBootstrapped() && (parent?.hasStarted() ?? true);
  const ready = readiness(async () => begun() && (await runtime.isWritable()));
  // Scrapers are not authenticated, and reading the metrics queries the database, so they are read at most once a second.
  const metrics = seldom(instanceMetrics(runtime, { ready, tracing }), 1000);
  const rpcs = describeAll(services);
  const counted = calls && requests && [calls, requests];
  const own = counted && (async () => families(counted, await metrics(), ownProcess));
  if (own) parent?.onMeasure(own);
  const alone = own && (async () => [...(await own()), ...workerFamilies({ serving: 1, of: 1, ended: 0 })]);
  const shown = parent ? async () => nodeFamilies(await parent.gather()) : alone;
  const observers = { observe: calls?.observe, observeRequest: requests?.observe };
  const outages = { isUnavailable, isStatementTimeout };
  const reported = { languageOf: chooseLanguage, outages, ...observers };
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

function families(counted: Counted, metrics: InstanceMetrics, ownProcess: ProcessMetrics): readonly Family[] {
  return [...counted.flatMap((one) => one.families()), ...instanceFamilies(metrics), ...ownProcess.families()];
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
