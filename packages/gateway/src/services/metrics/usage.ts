import { counter, type Family, gauge, together } from "./text.ts";

/** The start time of a process, in Unix milliseconds, and the time and memory that it has used. */
export type ProcessUsage = {
  readonly beganMs: number;
  readonly cpu: NodeJS.CpuUsage;
  readonly memory: Pick<NodeJS.MemoryUsage, "rss" | "heapTotal" | "heapUsed" | "external">;
};

/** The metrics of a process's time and memory. */
export function usageFamilies({ beganMs, cpu, memory }: ProcessUsage): Family[] {
  return [
    together("least", gauge("process_start_time_seconds", "When the process started, in Unix time.", beganMs / 1000)),
    counter("process_cpu_seconds_total", "CPU time used.", (cpu.user + cpu.system) / 1e6),
    gauge("process_resident_memory_bytes", "Resident memory.", memory.rss),
    gauge("nodejs_heap_size_total_bytes", "Size of the heap.", memory.heapTotal),
    gauge("nodejs_heap_size_used_bytes", "Used part of the heap.", memory.heapUsed),
    gauge("nodejs_external_memory_bytes", "Memory outside the heap that its objects hold.", memory.external),
  ];
}
