import type { WorkerProcess } from "./worker_process.ts";

/** Options of the watch. */
export type WatchOptions = {
  readonly serving: ReadonlySet<WorkerProcess>;
  readonly everyMs?: number;
  /** Called before a worker that hangs is ended. */
  readonly onHang: (worker: WorkerProcess) => void;
};

/** The watch over workers that hang: whoever else looks at the node sees only that it serves. */
export type Watch = {
  /** Takes the answer of a worker. */
  readonly answered: (worker: WorkerProcess) => void;
};

// A minute in all: a loop that ends takes less, also on a busy machine.
const asksEveryMs = 10_000;
const mostUnanswered = 6;

/** Asks every worker that serves whether it is there, and ends one that has not answered for a minute; it is started again. */
export function watchWorkers({ serving, everyMs = asksEveryMs, onHang }: WatchOptions): Watch {
  const unanswered = new WeakMap<WorkerProcess, number>();
  const ask = (worker: WorkerProcess) => {
    const count = unanswered.get(worker) ?? 0;
    unanswered.set(worker, count + 1);
    if (count < mostUnanswered) return worker.send({ kind: "ask" });
    if (count === mostUnanswered) onHang(worker);
    worker.signal("SIGKILL");
  };
  setInterval(() => {
    for (const worker of serving) ask(worker);
  }, everyMs).unref();
  return { answered: (worker) => void unanswered.delete(worker) };
}
