import { expect, test } from "vitest";
import { type Watch, watchWorkers } from "../../src/workers/watch.ts";
import type { WorkerProcess } from "../../src/workers/worker_process.ts";
import { until } from "../postgres/embedded/holder.ts";

/** A worker that answers, or hangs, as the parent sees it. */
function workerOf(number: number, onAsk: (worker: WorkerProcess) => void) {
  const signals: string[] = [];
  let asked = 0;
  const worker: WorkerProcess = {
    ...{ number, pid: undefined, connections: 0, ended: new Promise(() => {}) },
    send() {
      asked += 1;
      onAsk(worker);
    },
    signal: (signal) => void signals.push(signal),
  };
  return { worker, signals, asked: () => asked };
}

test("a worker that does not answer is ended, and one that answers is not", async () => {
  const hung: number[] = [];
  const there = workerOf(1, (worker) => watch.answered(worker));
  const late = workerOf(2, (worker) => {
    if (late.asked() % 5 === 0) watch.answered(worker);
  });
  const gone = workerOf(3, () => {});
  const serving = new Set([there, late, gone].map(({ worker }) => worker));
  const watch: Watch = watchWorkers({ serving, everyMs: 1, onHang: ({ number }) => void hung.push(number) });
  await until(async () => there.asked() > 50);
  expect([there.signals, late.signals, hung]).toEqual([[], [], [3]]);
  expect([gone.asked(), gone.signals[0]]).toEqual([6, "SIGKILL"]);
  serving.clear();
});
