import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The state of a process when it is looked at: what share of the time it worked, its resident memory, and both at the last collection. */
export type Look = {
  readonly utilization: number;
  readonly rss: number;
  /** Resident memory that the last collection left; 0 before the first. */
  readonly left: number;
  readonly sinceCollectionMs: number;
};

const quiet = 0.05;
const growth = 24 * 1024 * 1024;
// A collection takes as long as a slow call, so that a node with little to do has one pause in this time at most.
const restMs = 30_000;

/** Whether garbage is to be collected: the process rests, and holds noticeably more than the last collection left. */
export const isWorthwhile = ({ utilization, rss, left, sinceCollectionMs }: Look): boolean =>
  utilization < quiet && rss - left > growth && sinceCollectionMs >= restMs;

/**
 * Returns memory to the system once the process rests. V8 keeps the pages of its busiest moment: its own idle collection is
 * started by great collections only, and calls whose garbage dies young cause none.
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

// V8 returns pooled pages in a collection of last resort only, which Node offers by this flag alone.
function collectAll(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  collect({ type: "major", flavor: "last-resort" });
}
