import type { Socket } from "node:net";
import type { ConnectionSource, Family } from "@postern/gateway";
import { type HandedSource, handedSource } from "./handed_source.ts";
import type {
  Assignment,
  Failure,
  NodeMetrics,
  PortName,
  ToParent,
  ToWorker,
  WorkerCount,
  WorkerStart,
} from "./message.ts";

/** The parent of this process, as a worker sees it. */
export type Parent = Disposable & {
  readonly assignment: Assignment;
  /** The source of a port's connections; undefined if the port is not open. */
  readonly source: (port: PortName) => ConnectionSource | undefined;
  /** Whether the node has started; until then, other workers are still starting. */
  readonly hasStarted: () => boolean;
  readonly count: () => WorkerCount;
  /** Sets how to collect the metrics of this worker. */
  readonly onMeasure: (measure: () => Promise<readonly Family[]>) => void;
  /** The metrics of all workers. */
  readonly gather: () => Promise<NodeMetrics>;
  /** Makes the other workers count a failure. */
  readonly announce: (failure: Failure) => void;
  /** Sets the listener for other workers' failures. */
  readonly onAnnounced: (listener: (failure: Failure) => void) => void;
  readonly serving: (start: WorkerStart) => void;
  /** Resolves when the worker should stop. */
  readonly stopped: Promise<void>;
};

/** The process was started without a parent. */
export class NoParent extends Error {
  override readonly name = "NoParent";
}

/** Finds the parent of a worker. The parent handles signals to stop; if the parent exits, this process exits at once. */
export async function findParent(exitCode: number): Promise<Parent> {
  if (!process.send) throw new NoParent("worker is started by serve, where WORKERS is more than 1");
  const end = () => process.exit(exitCode);
  process.on("disconnect", end);
  // Until the certificate is loaded, there is nothing to reload on SIGHUP, whose default would end the process.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  const link = parentLink(await firstAssignment());
  return {
    ...link,
    [Symbol.dispose]() {
      process.off("disconnect", end);
      process.disconnect();
    },
  };
}

/** Waits for the first message, the worker's assignment; later messages are kept for the next listener. */
function firstAssignment(): Promise<Assignment> {
  return new Promise((resolve) => {
    process.once("message", (message) => {
      const first = message as ToWorker;
      if (first.kind === "assignment") resolve(first.assignment);
    });
  });
}

// Sending to a parent that has just exited fails; `disconnect` then ends this process.
const send = (message: ToParent) => void process.send?.(message, undefined, undefined, () => {});

function parentLink(assignment: Assignment): Omit<Parent, typeof Symbol.dispose> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const sources = sourcesOf(assignment);
  let hasStarted = assignment.hasStarted;
  let count: WorkerCount = { serving: 0, of: assignment.of, ended: 0 };
  let measure = async (): Promise<readonly Family[]> => [];
  let countFailure = (_failure: Failure): void => {};
  let gathering: PromiseWithResolvers<NodeMetrics> | undefined;

  process.on("message", (message, handle) => receive(message as ToWorker, handle as Socket | undefined));

  function receive(message: ToWorker, socket: Socket | undefined): void {
    switch (message.kind) {
      case "assignment":
        break;
      case "started":
        hasStarted = true;
        break;
      case "connection":
        sources[message.port]?.take(socket);
        break;
      case "closed":
        sources[message.port]?.closed();
        break;
      case "count":
        count = message.count;
        break;
      case "measure":
        void measure().then((families) => send({ kind: "metrics", families }));
        break;
      case "measured":
        gathered(message.metrics);
        break;
      case "failure":
        countFailure(message.failure);
        break;
      case "ask":
        send({ kind: "there" });
        break;
      case "stop":
        stop();
        break;
      default:
        message satisfies never;
    }
  }

  function gathered(metrics: NodeMetrics): void {
    gathering?.resolve(metrics);
    gathering = undefined;
  }

  return {
    assignment,
    stopped,
    source: (port) => sources[port],
    hasStarted: () => hasStarted,
    count: () => count,
    onMeasure(made) {
      measure = made;
    },
    gather() {
      if (!gathering) send({ kind: "gather" });
      gathering ??= Promise.withResolvers();
      return gathering.promise;
    },
    announce: (failure) => send({ kind: "failure", failure }),
    onAnnounced(listener) {
      countFailure = listener;
    },
    serving: (start) => send({ kind: "serving", start }),
  };
}

function sourcesOf({ ports }: Assignment): Partial<Record<PortName, HandedSource>> {
  let connections = 0;
  let reports = false;
  // Many connections may end in one tick.
  const report = () => {
    reports = false;
    send({ kind: "load", connections });
  };
  const onChange = (change: number) => {
    connections += change;
    if (!reports) setImmediate(report);
    reports = true;
  };
  const made = Object.entries(ports).map(([name, port]) => {
    const source = handedSource({ name: name as PortName, port, send, onChange });
    return [name, source] as const;
  });
  return Object.fromEntries(made);
}
