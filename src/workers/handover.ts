import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as immediate } from "node:timers/promises";
import type { PortName } from "./message.ts";
import type { WorkerProcess } from "./worker_process.ts";

/**
 * A port that the parent listens on, handing each connection to the worker with the fewest. The workers of `node:cluster` close the port
 * when the last of them exits, which resets connections that are on their way to a worker.
 */
export type SharedPort = {
  readonly name: PortName;
  readonly port: number;
  /** Hands connections to this worker from now on. */
  readonly add: (worker: WorkerProcess) => void;
  /** Counts the connection last handed to the worker as its own. */
  readonly taken: (worker: WorkerProcess) => void;
  /** Hands the worker no more connections, and tells it so. On a stopping node, the last worker still gets those already accepted. */
  readonly remove: (worker: WorkerProcess, isStopping: boolean) => Promise<void>;
  /** Forgets a worker that has exited; a connection on its way to it ends too. */
  readonly drop: (worker: WorkerProcess) => void;
  /** Stops accepting; resolves once all connections are handed over, or no worker is left. */
  readonly close: () => Promise<void>;
};

// Connections wait in the parent while every worker has one on its way, and while none is serving.
const waitingMost = 4096;
const waitingMs = 10_000;

/** A connection on its way to a worker. */
type Handover = { readonly socket: Socket; readonly sentMs: number };

// If connections arrive at once, a fast worker gets at most this many more than a slower one, unless that is very slow.
const mostAhead = 2;
const slowMs = 250;

// Clients that reconnect immediately would otherwise keep the port from ever closing.
const mostTicks = 512;

/** Opens a port of the node. */
export async function openSharedPort(name: PortName, host: string, wanted: number): Promise<SharedPort> {
  // In the order of their last connection, so that workers with equally many take turns.
  const workers = new Set<WorkerProcess>();
  const onTheWay = new Map<WorkerProcess, Handover>();
  const waiting = new Set<Socket>();
  let nextTry: NodeJS.Timeout | undefined;
  let accepted = 0;
  let isOpen = true;
  let closing: PromiseWithResolvers<void> | undefined;
  const server = createServer({ noDelay: true, pauseOnConnect: true }, accept);
  await listening(server, host, wanted);
  const { port } = server.address() as AddressInfo;

  function accept(socket: Socket): void {
    accepted += 1;
    if (waiting.size >= waitingMost) return void socket.destroy();
    keep(waiting, socket);
    handOver();
  }

  function handOver(): void {
    for (const socket of waiting) {
      const worker = chooseWorker(workers, onTheWay);
      if (!worker) break;
      waiting.delete(socket);
      onTheWay.set(worker, { socket, sentMs: performance.now() });
      workers.delete(worker);
      workers.add(worker);
      worker.send({ kind: "connection", port: name }, socket);
    }
    if (waiting.size > 0 && !nextTry) nextTry = setTimeout(tryAgain, slowMs);
    if (isOpen) return;
    if (workers.size === 0) for (const socket of waiting) socket.destroy();
    if (workers.size === 0 || (waiting.size === 0 && onTheWay.size === 0)) closing?.resolve();
  }

  function tryAgain(): void {
    nextTry = undefined;
    handOver();
  }

  /** The connection is the worker's own, or ends with it, because the worker may have read from it. */
  function release(worker: WorkerProcess): void {
    onTheWay.get(worker)?.socket.destroy();
    onTheWay.delete(worker);
  }

  return {
    name,
    port,
    add(worker) {
      workers.add(worker);
      handOver();
    },
    taken(worker) {
      release(worker);
      worker.connections += 1;
      handOver();
    },
    async remove(worker, isStopping) {
      if (isStopping && workers.size === 1 && workers.has(worker)) await close();
      workers.delete(worker);
      worker.send({ kind: "closed", port: name });
    },
    drop(worker) {
      workers.delete(worker);
      release(worker);
      handOver();
    },
    close,
  };

  async function close(): Promise<void> {
    if (closing) return closing.promise;
    closing = Promise.withResolvers();
    await allAccepted(() => accepted);
    server.close();
    isOpen = false;
    handOver();
    return closing.promise;
  }
}

/** Keeps a connection for a while, until a worker takes it. */
function keep(waiting: Set<Socket>, socket: Socket): void {
  waiting.add(socket);
  socket.on("error", () => {}).on("close", () => waiting.delete(socket));
  socket.setTimeout(waitingMs, () => socket.destroy());
}

/** Resolves when no connection is waiting to be accepted: closing would reset them, and each tick accepts one. */
async function allAccepted(accepted: () => number): Promise<void> {
  for (let ticks = 0, before = -1; accepted() !== before && ticks < mostTicks; ticks++) {
    before = accepted();
    await immediate();
  }
}

/** The worker with the fewest connections that has none on its way; undefined while one with fewer is about to take its own. */
function chooseWorker(workers: ReadonlySet<WorkerProcess>, onTheWay: ReadonlyMap<WorkerProcess, Handover>) {
  const now = performance.now();
  let fewest = Number.POSITIVE_INFINITY;
  let found: WorkerProcess | undefined;
  for (const worker of workers) {
    const sent = onTheWay.get(worker);
    if (!sent && (!found || worker.connections < found.connections)) found = worker;
    if (sent && now - sent.sentMs < slowMs) fewest = Math.min(fewest, worker.connections);
  }
  return found && found.connections <= fewest + mostAhead ? found : undefined;
}

function listening(server: ReturnType<typeof createServer>, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // The listener stays, because libuv retries a failed accept, which must not end the process.
  server.on("error", reject);
  server.listen(port, host, resolve);
  return promise;
}
