import { readFile, writeFile } from "node:fs/promises";

// Linux counts the CPU of processes in hundredths of a second.
const ticksPerSecond = 100;
const kibibyte = 1024;

/** The seconds of CPU that a process and its threads have used; asks the kernel, since a process that hangs tells nothing. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program comes second, in parentheses, and may hold spaces; user and system time are fields 14 and 15.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
}

/** Resident memory in bytes, now and at most since it was reset. */
export type Resident = { readonly now: number; readonly most: number };

/** Reads the resident memory of a process. */
export async function residentOf(pid: number): Promise<Resident> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) * kibibyte;
  return { now: of("VmRSS"), most: of("VmHWM") };
}

/** Lets the most of the resident memory begin from now on: proc(5), clear_refs. */
export async function resetPeakOf(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, "5");
}
