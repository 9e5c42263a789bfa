import type { Config } from "../config/config.ts";
import { createLogger } from "../config/logger.ts";
import { preflight } from "../config/preflight.ts";
import { openSharedPort, type SharedPort } from "./handover.ts";
import { measuring } from "./measuring.ts";
import type { PortName, RunningMessage, WorkerStart } from "./message.ts";
import { type Supervisor, supervise } from "./supervisor.ts";
import { watchWorkers } from "./watch.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** A node of several workers. */
export type WorkersNode = AsyncDisposable & {
  readonly start: WorkerStart;
  /** Resolves when no worker is serving and none can be started. */
  readonly lost: Promise<void>;
  /** Logs the error that ends the parent, and stops the workers. */
  readonly fail: (error: unknown) => Promise<void>;
  /** Stops the workers; returns whether all of them exited cleanly. */
  readonly stop: () => Promise<boolean>;
};

/** Starts a node with several workers: the ports, the embedded database, and the workers; undefined if they cannot start. */
export async function startWorkers(config: Config): Promise<WorkersNode | undefined> {
  await preflight(config);
  await using opened = new AsyncDisposableStack();
  const logger = createLogger(config);
  const ports = opened.use(await openPorts(config));
  const database = await embedded(config, logger);
  if (database) opened.use(database);
  const supervisor = superviseOn(config, ports.byName, logger);
  const stop = once(() => supervisor.stop());
  opened.defer(async () => void (await stop()));
  opened.use(reloadOnHangUp(supervisor));
  const start = await supervisor.start();
  if (!start) return undefined;
  if (database?.note) logger.info(database.note);
  const { url, operationsUrl } = start;
  logger.info({ url, operationsUrl, workers: config.workers }, "listening");
  const fail = async (error: unknown) => {
    logger.fatal({ err: error }, "the process exits because nothing handles this error");
    await stop();
  };
  const stack = opened.move();
  return { start, lost: supervisor.lost, fail, stop, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

type Ports = AsyncDisposable & { readonly byName: Readonly<Partial<Record<PortName, SharedPort>>> };

async function openPorts({ host, port, operationsPort }: Config): Promise<Ports> {
  const calls = await openSharedPort("calls", host, port);
  const operations =
    operationsPort === undefined ? undefined : await openSharedPort("operations", host, operationsPort);
  const byName = operations ? { calls, operations } : { calls };
  return {
    byName,
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(byName).map(({ close }) => close()));
    },
  };
}

async function embedded({ databaseUrl, dataDir }: Config, log: ReturnType<typeof createLogger>) {
  if (databaseUrl) return undefined;
  const { startEmbedded } = await import("../postgres/embedded/embedded.ts");
  return startEmbedded({ dataDir, log });
}

function superviseOn({ workers }: Config, ports: Ports["byName"], logger: ReturnType<typeof createLogger>): Supervisor {
  const metrics = measuring();
  let ended = 0;
  let isStopping = false;
  const all = Object.values(ports);
  const numbers = Object.fromEntries(all.map(({ name, port }) => [name, port]));
  const count = () => ({ serving: supervisor.serving.size, of: workers, ended });
  const supervisor = supervise({ workers, ports: numbers, logger, onMessage, onEnd, onCount });
  const onHang = ({ number }: WorkerProcess) =>
    logger.error({ worker: number }, "the worker does not respond and is being ended");
  const watch = watchWorkers({ serving: supervisor.serving, onHang });
  return {
    ...supervisor,
    stop() {
      isStopping = true;
      return supervisor.stop();
    },
  };

  function onMessage(worker: WorkerProcess, message: RunningMessage): void {
    switch (message.kind) {
      case "open":
        ports[message.port]?.add(worker);
        break;
      case "taken":
        ports[message.port]?.taken(worker);
        break;
      case "close":
        void ports[message.port]?.remove(worker, isStopping);
        break;
      case "load":
        worker.connections = message.connections;
        break;
      case "failure":
        for (const other of supervisor.running) if (other !== worker) other.send(message);
        break;
      case "metrics":
        metrics.answered(worker, message.families);
        break;
      case "gather":
        void answerMetrics(worker);
        break;
      case "there":
        watch.answered(worker);
        break;
      default:
        message satisfies never;
    }
  }

  async function answerMetrics(worker: WorkerProcess): Promise<void> {
    const families = await metrics.gather(supervisor.serving);
    const parent = { beganMs: performance.timeOrigin, cpu: process.cpuUsage(), memory: process.memoryUsage() };
    worker.send({ kind: "measured", metrics: { families, parent, count: count() } });
  }

  function onEnd(worker: WorkerProcess): void {
    ended += 1;
    for (const port of all) port.drop(worker);
    metrics.ended(worker);
  }

  function onCount(): void {
    for (const worker of supervisor.running) worker.send({ kind: "count", count: count() });
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Makes the workers reload the certificate on SIGHUP. */
function reloadOnHangUp({ running }: Supervisor): Disposable {
  const again = () => {
    for (const worker of running) worker.signal("SIGHUP");
  };
  process.on("SIGHUP", again);
  return { [Symbol.dispose]: () => void process.off("SIGHUP", again) };
}
