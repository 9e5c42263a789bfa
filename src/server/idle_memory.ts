import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A snapshot of a process: the share of time it was busy, its resident memory, and the memory left by the last collection. */
export type Look = {
  readonly utilization: number;
  readonly rss: number;
  /** Resident memory after the last collection; 0 before the first. */
  readonly left: number;
  readonly sinceCollectionMs: number;
};

const quiet = 0.05;
const growth = 24 * 1024 * 1024;
// A collection takes as long as a slow call, so a node with little to do pauses at most once in this time.
const restMs = 30_000;

/** Whether to collect garbage: the process is idle, and holds noticeably more than after the last collection. */
export const isWorthwhile = ({ utilization, rss, left, sinceCollectionMs }: Look): boolean =>
  utilization < quiet && rss - left > growth && sinceCollectionMs >= restMs;

/**
 * Returns memory to the system once the process is idle. V8 keeps the pages of its busiest moment: its own idle collection is only
 * triggered by major collections, which calls with short-lived garbage never cause.
 */
export function returnIdleMemory(everyMs = 5_000): Disposable {
  let before = performance.eventLoopUtilization();
  let [left, collectedAt] = [0, Number.NEGATIVE_INFINITY];
  const look = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const rss = process.memoryUsage.rss();
    const at = performance.now();
    if (!isWorthwhile({ utilization, rss, left, sinceCollectionMs: at - collectedAt })) return;
    collectAll();
    [left, collectedAt, before] = [process.memoryUsage.rss(), performance.now(), performance.eventLoopUtilization()];
  };
  const timer = setInterval(look, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

type Collect = (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void;

// V8 only returns pooled pages in a last-resort collection, which Node offers through this flag alone.
function collectAll(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  collect({ type: "major", flavor: "last-resort" });
}
