import type { Family, ProcessUsage } from "@postern/gateway";

/** The ports of a node: the one for calls, and the operations port. */
export type PortName = "calls" | "operations";

/** The data that a worker receives at its start: its number, the number of workers, and the open ports. */
export type Assignment = {
  readonly number: number;
  readonly of: number;
  /** Whether the node has started; until then, no worker is ready. */
  readonly hasStarted: boolean;
  readonly ports: Readonly<Partial<Record<PortName, number>>>;
};

/** The number of serving workers, the number of all, and how often one has exited. */
export type WorkerCount = { readonly serving: number; readonly of: number; readonly ended: number };

/** The start of a worker, for the node's welcome lines. */
export type WorkerStart = {
  readonly url: string;
  readonly operationsUrl: string | undefined;
  readonly isFirst: boolean;
  readonly welcome: readonly string[];
};

/** The combined metrics of all workers, and those of their parent. */
export type NodeMetrics = {
  readonly families: readonly Family[];
  readonly parent: ProcessUsage;
  readonly count: WorkerCount;
};

/** A failure that a worker counted towards a limit of the node, or took back. */
export type Failure = { readonly limit: string; readonly key: string; readonly change: 1 | -1 };

/** The parent's messages; a connection comes with its socket. */
export type ToWorker =
  | { readonly kind: "assignment"; readonly assignment: Assignment }
  /** Every worker has begun to serve, or has failed to. */
  | { readonly kind: "started" }
  | { readonly kind: "connection"; readonly port: PortName }
  /** No more connections of this port will arrive. */
  | { readonly kind: "closed"; readonly port: PortName }
  | { readonly kind: "count"; readonly count: WorkerCount }
  /** Asks for the metrics of the worker. */
  | { readonly kind: "measure" }
  | { readonly kind: "measured"; readonly metrics: NodeMetrics }
  /** Another worker counted a failure. */
  | { readonly kind: "failure"; readonly failure: Failure }
  /** Asks whether the worker is alive. */
  | { readonly kind: "ask" }
  | { readonly kind: "stop" };

/** The message of a worker that begins to serve. */
export type ServingMessage = { readonly kind: "serving"; readonly start: WorkerStart };

/** The messages of a worker. */
export type ToParent = ServingMessage | RunningMessage;

/** The messages of a worker that runs. */
export type RunningMessage =
  /** The worker accepts connections of this port. */
  | { readonly kind: "open"; readonly port: PortName }
  /** The worker has taken the connection last handed to it. */
  | { readonly kind: "taken"; readonly port: PortName }
  /** The number of the worker's open connections. */
  | { readonly kind: "load"; readonly connections: number }
  | { readonly kind: "close"; readonly port: PortName }
  | { readonly kind: "failure"; readonly failure: Failure }
  | { readonly kind: "metrics"; readonly families: readonly Family[] }
  /** Asks for the metrics of all workers. */
  | { readonly kind: "gather" }
  /** The worker is alive. */
  | { readonly kind: "there" };
