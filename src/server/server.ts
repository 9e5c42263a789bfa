import { processMetrics } from "@postern/gateway";
import type { Logger } from "pino";
import { type Config, tracesOf } from "../config/config.ts";
import { createLogger } from "../config/logger.ts";
import { preflight } from "../config/preflight.ts";
import { watchPasswordFile } from "../maintenance/admin_files.ts";
import { bootstrapInstance } from "../maintenance/bootstrap.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { hashBehindOthers } from "../security/priority.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { Parent } from "../workers/parent.ts";
import { sharedFailureRates } from "../workers/shared_failures.ts";
import { startErrands } from "./background.ts";
import { openPorts, type Ports } from "./ports.ts";
import { welcomeTo } from "./welcome.ts";

/** A running service. */
export type Server = AsyncDisposable & {
  readonly url: string;
  /** The URL of the operations port, if there is one. */
  readonly operationsUrl: string | undefined;
  /** Whether this start created the first organization. */
  readonly isFirst: boolean;
  /** Lines for people: what was created, where everything is, and on the first start, the first calls to make. */
  readonly welcome: readonly string[];
  /** Logs the error that ends the process, and fails calls that are waiting for the database with UNAVAILABLE. */
  readonly fail: (error: unknown) => Promise<void>;
};

/**
 * Starts the server: database, tables, ports, the first organization, background work. A worker uses its parent's ports and embedded
 * database.
 */
export async function startServer(config: Config, parent?: Parent): Promise<Server> {
  if (!parent) await preflight(config);
  await using opened = new AsyncDisposableStack();
  const logger = createLogger(config, parent?.assignment.number);
  const tracing = await startTracing(config, logger);
  if (tracing) opened.use(tracing);
  const runtime = opened.use(await openRuntime(config, runtimeOptions(logger, tracing, parent)));
  await hashBehindOthers();
  const ownProcess = config.metrics === "on" ? opened.use(processMetrics()) : undefined;
  let bootstrapped = false;
  const listening = opened.use(
    await openPorts(runtime, config, { ownProcess, tracing, parent, isBootstrapped: () => bootstrapped }),
  );
  opened.use(reloadOnHangUp(listening, logger));
  const { url, operationsUrl } = listening;
  // Listening comes first: a port taken in the meantime must stop the start before anything is created.
  const isFirst = await bootstrapInstance(runtime, config);
  bootstrapped = true;
  if (!parent || parent.assignment.number === 1) opened.use(watchPasswordFile(runtime, config));
  opened.use(startErrands(runtime, config, config.port || Number(new URL(url).port)));
  const welcome = await welcomeTo(runtime, config, { isFirst, url, operationsUrl });
  if (runtime.database.note) logger.info(runtime.database.note);
  if (!parent) logger.info({ url, operationsUrl }, "listening");
  // The port is disposed of first: a stopping node is not ready, whatever its background work is still waiting for.
  opened.defer(() => listening[Symbol.asyncDispose]());
  const fail = failing(runtime, listening);
  const stack = opened.move();
  return { url, operationsUrl, isFirst, welcome, fail, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const runtimeOptions = (logger: Logger, tracing: Tracing | undefined, parent: Parent | undefined) => ({
  logger,
  observe: tracing?.statement,
  join: parent !== undefined,
  serves: true,
  failureRate: parent && sharedFailureRates(parent),
});

// How long statements already sent may keep running after the process has failed.
const lastGraceMs = 500;

function failing({ logger, refuse }: Runtime, listening: AsyncDisposable) {
  let failed: Promise<void> | undefined;
  const end = () => Promise.allSettled([listening[Symbol.asyncDispose](), refuse(lastGraceMs)]).then(() => {});
  return (error: unknown) => {
    logger.fatal({ err: error }, "the process exits because nothing handles this error");
    logger.flush();
    // The reason goes to standard error even if LOG_LEVEL silences the log, because exiting silently is worse.
    if (!logger.isLevelEnabled("fatal"))
      process.stderr.write(`postern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    failed ??= end();
    return failed;
  };
}

/** Starts tracing if the settings ask for it; otherwise its modules are never loaded. */
async function startTracing(config: Config, logger: Logger): Promise<Tracing | undefined> {
  const traces = tracesOf(config);
  if (!traces) return undefined;
  const { openTracing } = await import("../tracing/tracing.ts");
  const onError = (error: unknown) => logger.warn({ err: error }, "the collector accepts no spans");
  return openTracing({ ...traces, onError });
}

/** Reads the certificate again on SIGHUP. */
function reloadOnHangUp({ reload }: Pick<Ports, "reload">, logger: Logger): Disposable {
  const again = () =>
    reload().then(
      () => logger.info("certificate read again"),
      (error) => logger.error({ err: error }, "the certificate cannot be read; the old one stays in use"),
    );
  process.on("SIGHUP", again);
  return { [Symbol.dispose]: () => void process.off("SIGHUP", again) };
}
