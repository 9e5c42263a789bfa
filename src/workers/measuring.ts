import type { Family } from "@postern/gateway";
import { lasting, merge } from "../metrics/merge.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** The metrics of all workers. */
export type Measuring = {
  /** Asks every serving worker; one that does not respond in time is represented by its last response. */
  readonly gather: (workers: Iterable<WorkerProcess>) => Promise<readonly Family[]>;
  /** Takes a worker's response. */
  readonly answered: (worker: WorkerProcess, families: readonly Family[]) => void;
  /** Keeps the metrics of a worker that has exited, because counters must never fall. */
  readonly ended: (worker: WorkerProcess) => void;
};

const answerMs = 1_000;
const freshMs = 1_000;

export function measuring(): Measuring {
  const last = new Map<WorkerProcess, readonly Family[]>();
  const waiting = new Map<WorkerProcess, () => void>();
  let left: readonly Family[] = [];
  let gathered: { readonly families: Promise<readonly Family[]>; readonly until: number } | undefined;

  function ask(worker: WorkerProcess): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, answerMs);
      waiting.set(worker, () => {
        clearTimeout(timer);
        resolve();
      });
      worker.send({ kind: "measure" });
    });
  }

  async function all(workers: readonly WorkerProcess[]): Promise<readonly Family[]> {
    await Promise.all(workers.map(ask));
    return merge([...last.values(), left]);
  }

  return {
    gather(workers) {
      const now = performance.now();
      if (gathered && now < gathered.until) return gathered.families;
      gathered = { families: all([...workers]), until: now + freshMs };
      return gathered.families;
    },
    answered(worker, families) {
      last.set(worker, families);
      waiting.get(worker)?.();
    },
    ended(worker) {
      left = merge([left, lasting(last.get(worker) ?? [])]);
      last.delete(worker);
      waiting.get(worker)?.();
      waiting.delete(worker);
    },
  };
}
