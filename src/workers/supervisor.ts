import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import type { Assignment, RunningMessage, WorkerStart } from "./message.ts";
import { startWorker, type WorkerEnd, type WorkerProcess } from "./worker_process.ts";

export type SupervisorOptions = {
  readonly workers: number;
  readonly ports: Assignment["ports"];
  readonly logger: Pick<Logger, "info" | "error">;
  /** Called with each message except that of a start. */
  readonly onMessage: (worker: WorkerProcess, message: RunningMessage) => void;
  readonly onEnd: (worker: WorkerProcess) => void;
  /** Called when a worker begins to serve, and when one that was serving has exited. */
  readonly onCount: () => void;
};

/** The workers of a node, each of which is restarted when it exits. */
export type Supervisor = {
  /** Starts the first worker and then the others; undefined if the first one could not start. */
  readonly start: () => Promise<WorkerStart | undefined>;
  /** All workers that have begun to serve, in that order. */
  readonly serving: ReadonlySet<WorkerProcess>;
  readonly running: ReadonlySet<WorkerProcess>;
  /** Resolves when no worker is serving and none can be started. */
  readonly lost: Promise<void>;
  /** Stops all workers; returns whether all of them exited cleanly. */
  readonly stop: () => Promise<boolean>;
};

// A worker that exits sooner than this after its start is restarted with a delay.
const steadyMs = 10_000;
const longestPauseMs = 10_000;
const triesWithoutService = 6;

export function supervise({ workers: of, ports, logger, ...called }: SupervisorOptions): Supervisor {
  const running = new Set<WorkerProcess>();
  const serving = new Set<WorkerProcess>();
  const kept: Promise<void>[] = [];
  const stopping = new AbortController();
  const { promise: lost, resolve: lose } = Promise.withResolvers<void>();
  let canStart = false;
  let hasStarted = false;
  let endedWell = true;

  /** Runs a worker until it exits. */
  async function run(number: number, onStart: (start: WorkerStart) => void): Promise<WorkerEnd> {
    const worker = startWorker({ number, of, ports, hasStarted }, (_, message) => {
      if (message.kind !== "serving") return called.onMessage(worker, message);
      serving.add(worker);
      called.onCount();
      onStart(message.start);
    });
    running.add(worker);
    const end = await worker.ended;
    running.delete(worker);
    called.onEnd(worker);
    if (serving.delete(worker)) called.onCount();
    return end;
  }

  /** Keeps restarting a worker; `onFirst` receives its first start, or undefined if that failed. */
  async function keepRunning(number: number, onFirst: (start: WorkerStart | undefined) => void): Promise<void> {
    for (let failures = 0, runs = 1; ; runs++) {
      const began = performance.now();
      const end = await run(number, (start) => {
        if (runs > 1) logger.info({ worker: number }, "the worker is serving again");
        onFirst(start);
      });
      onFirst(undefined);
      if (stopping.signal.aborted && end.code !== 0) endedWell = false;
      if (stopping.signal.aborted) return;
      if (!canStart) return;
      failures = performance.now() - began > steadyMs ? 0 : failures + 1;
      if (serving.size === 0 && failures >= triesWithoutService) return lose();
      const pauseMs = failures === 0 ? 0 : Math.min(longestPauseMs, 50 * 2 ** failures);
      logger.error({ worker: number, ended: wordsOf(end), pauseMs }, "the worker exited and is being restarted");
      await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
    }
  }

  const firstStart = (number: number) =>
    new Promise<WorkerStart | undefined>((resolve) => kept.push(keepRunning(number, resolve)));

  return {
    serving,
    running,
    lost,
    async start() {
      const start = await firstStart(1);
      canStart = start !== undefined;
      if (!start || stopping.signal.aborted) return start;
      await Promise.all(Array.from({ length: of - 1 }, (_, index) => firstStart(index + 2)));
      hasStarted = true;
      for (const worker of running) worker.send({ kind: "started" });
      return start;
    },
    async stop() {
      stopping.abort();
      for (const worker of running) worker.send({ kind: "stop" });
      await Promise.all(kept);
      return endedWell;
    },
  };
}

function wordsOf({ code, signal }: WorkerEnd): string {
  if (signal) return `by ${signal}`;
  return code === null ? "before it began" : `with code ${code}`;
}
