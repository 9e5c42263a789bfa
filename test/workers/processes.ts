import type { ChildProcess } from "node:child_process";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The processes of the workers of a node, by their numbers. */
export async function workersOf({ pid }: ChildProcess): Promise<ReadonlyMap<number, number>> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,args="]);
  const rows = [...stdout.matchAll(/^ *(\d+) +(\d+) .* worker (\d+)$/gm)];
  return new Map(
    rows.flatMap(([, own, parent, number]) => (Number(parent) === pid ? [[Number(number), Number(own)]] : [])),
  );
}

/** Whether a process runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
