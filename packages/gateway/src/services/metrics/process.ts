import { constants, monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { counter, type Family, gauge } from "./text.ts";

/** Metrics of the process, by the names that dashboards for Node expect. */
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
  const started = Date.now() / 1000 - process.uptime();

  return {
    families() {
      const families = [...processFamilies(started), ...loopFamilies(delay), collectorFamily(collections)];
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

function processFamilies(started: number): Family[] {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return [
    gauge("process_start_time_seconds", "When the process began, in Unix time.", started),
    counter("process_cpu_seconds_total", "Processor time used.", (user + system) / 1e6),
    gauge("process_resident_memory_bytes", "Resident memory.", rss),
    gauge("nodejs_heap_size_total_bytes", "Size of the heap.", heapTotal),
    gauge("nodejs_heap_size_used_bytes", "Used part of the heap.", heapUsed),
    gauge("nodejs_external_memory_bytes", "Memory outside the heap that its objects hold.", external),
  ];
}

// The monitor measures the time between two ticks of a timer, so its values include the timer's interval.
const resolutionMs = 20;

/** The delays since the last scrape. */
function loopFamilies(delay: ReturnType<typeof monitorEventLoopDelay>): Family[] {
  const seconds = (nanoseconds: number) => Math.max(0, (nanoseconds || 0) / 1e9 - resolutionMs / 1000);
  return [
    gauge("nodejs_eventloop_lag_mean_seconds", "Mean of the event loop's delays.", seconds(delay.mean)),
    gauge("nodejs_eventloop_lag_p50_seconds", "Median of the event loop's delays.", seconds(delay.percentile(50))),
    gauge(
      "nodejs_eventloop_lag_p99_seconds",
      "99th percentile of the event loop's delays.",
      seconds(delay.percentile(99)),
    ),
    gauge("nodejs_eventloop_lag_max_seconds", "Longest of the event loop's delays.", seconds(delay.max)),
  ];
}

function collectorFamily(collections: Collections): Family {
  const samples = [...collections].flatMap(([kind, { count, seconds }]) => [
    { suffix: "_sum", labels: { kind }, value: seconds },
    { suffix: "_count", labels: { kind }, value: count },
  ]);
  return { name: "nodejs_gc_duration_seconds", help: "Time of garbage collections.", type: "summary", samples };
}
