import { readdir, readFile, writeFile } from "node:fs/promises";

// Linux counts the CPU of processes in hundredths of a second.
const ticksPerSecond = 100;
const kibibyte = 1024;

/** The seconds of CPU that a process and its threads have used; asks the kernel, since a process that hangs tells nothing. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const { user, system } = await statOf(pid);
  return (user + system) / ticksPerSecond;
}

/** The same of a process, of its children, and of those that have ended. */
export async function cpuSecondsOfFamily(pid: number): Promise<number> {
  const own = await statOf(pid);
  const running = [own, ...(await childrenOf(pid))].reduce((sum, { user, system }) => sum + user + system, 0);
  return (running + own.ended) / ticksPerSecond;
}

/** The same of children with one thread each whose title has a text, such as the processes that serve one database of PostgreSQL. */
export async function cpuSecondsOfChildren(pid: number, title: string): Promise<number> {
  const all = await Promise.all((await childrenOf(pid)).map((child) => threadSecondsOf(child, title)));
  return all.reduce((sum, seconds) => sum + seconds, 0);
}

async function childrenOf(pid: number) {
  const pids = (await readdir("/proc")).map(Number).filter((one) => one > 0 && one !== pid);
  const stats = await Promise.all(pids.map(async (one) => ({ ...(await statOf(one)), pid: one })));
  return stats.filter(({ parent }) => parent === pid);
}

/** Reads the CPU of the first thread, in nanoseconds where the kernel counts these: many processes do little each. */
async function threadSecondsOf({ pid, user, system }: Stat, title: string): Promise<number> {
  const text = (name: string) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
  if (!(await text("cmdline")).includes(title)) return 0;
  const nanoseconds = Number((await text("schedstat")).split(" ")[0]);
  return nanoseconds > 0 ? nanoseconds / 1e9 : (user + system) / ticksPerSecond;
}

type Stat = Awaited<ReturnType<typeof childrenOf>>[number];

/** The process that a process was started by. */
export const parentOf = async (pid: number): Promise<number> => (await statOf(pid)).parent;

/** Reads proc_pid_stat(5); zeros for a process that is gone. */
async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program comes second, in parentheses, and may hold spaces: the third field is the first one here.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (n: number) => Number(fields[n - 3] ?? 0);
  return { parent: field(4), user: field(14), system: field(15), ended: field(16) + field(17) };
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
