import type { WorkerProcess } from "./worker_process.ts";

export type WatchOptions = {
  readonly serving: ReadonlySet<WorkerProcess>;
  readonly everyMs?: number;
  /** Called before ending a worker that hangs. */
  readonly onHang: (worker: WorkerProcess) => void;
};

/** Detects hanging workers; from outside, the node still seems to be serving. */
export type Watch = {
  /** Takes a worker's response. */
  readonly answered: (worker: WorkerProcess) => void;
};

// A minute in total, more than any finite loop takes even on a busy machine.
const asksEveryMs = 10_000;
const mostUnanswered = 6;

/** Asks every serving worker whether it is alive, and ends one that has not responded for a minute; it is then restarted. */
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
