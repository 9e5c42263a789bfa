import { constants, monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { type Family, gauge, together } from "./text.ts";
import { usageFamilies } from "./usage.ts";

/** Metrics of the process, with the names that Node dashboards expect. */
export type ProcessMetrics = Disposable & { readonly families: () => Family[] };

const kinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weakcb",
};

/** Starts to measure the event loop and the garbage collector. */
export function processMetrics(): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  const collections = new Map<string, { count: number; seconds: number }>();
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      countCollection(collections, "detail" in entry ? entry.detail : undefined, entry.duration / 1000);
  });
  delay.enable();
  observer.observe({ entryTypes: ["gc"] });
  return {
    families() {
      const usage = { beganMs: performance.timeOrigin, cpu: process.cpuUsage(), memory: process.memoryUsage() };
      const families = [...usageFamilies(usage), ...loopFamilies(delay), collectorFamily(collections)];
      delay.reset();
      return families;
    },
    [Symbol.dispose]() {
      delay.disable();
      observer.disconnect();
    },
  };
}

type Collections = Map<string, { count: number; seconds: number }>;

function countCollection(collections: Collections, detail: unknown, seconds: number): void {
  const number = typeof detail === "object" && detail && "kind" in detail ? Number(detail.kind) : 0;
  const kind = kinds[number] ?? "other";
  const total = collections.get(kind) ?? { count: 0, seconds: 0 };
  collections.set(kind, { count: total.count + 1, seconds: total.seconds + seconds });
}

// The monitor measures the time between two ticks of a timer, so its values include the timer's interval.
const resolutionMs = 20;

/** The delays since the last scrape. */
function loopFamilies(delay: ReturnType<typeof monitorEventLoopDelay>): Family[] {
  const seconds = (nanoseconds: number) => Math.max(0, (nanoseconds || 0) / 1e9 - resolutionMs / 1000);
  const lag = (name: string, help: string, nanoseconds: number) =>
    together("most", gauge(`nodejs_eventloop_lag_${name}_seconds`, help, seconds(nanoseconds)));
  return [
    lag("mean", "Mean of the event loop's delays.", delay.mean),
    lag("p50", "Median of the event loop's delays.", delay.percentile(50)),
    lag("p99", "99th percentile of the event loop's delays.", delay.percentile(99)),
    lag("max", "Longest of the event loop's delays.", delay.max),
  ];
}

function collectorFamily(collections: Collections): Family {
  const samples = [...collections].flatMap(([kind, { count, seconds }]) => [
    { suffix: "_sum", labels: { kind }, value: seconds },
    { suffix: "_count", labels: { kind }, value: count },
  ]);
  return { name: "nodejs_gc_duration_seconds", help: "Time of garbage collections.", type: "summary", samples };
}
