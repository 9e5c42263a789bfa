import { readdir, readFile } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";

const threads = "/proc/self/task";

// How much nicer than the process the threads are: at 4 each weighs two fifths of the thread that answers, at 10 a tenth. PostgreSQL's
// processes are not affected where the kernel groups processes by session.
const steps = 4;
const nicest = 19;

/** Lowers the priority of the threads that hash passwords, so that short work goes first. Has no effect where that is forbidden. */
export async function hashBehindOthers(): Promise<void> {
  // Reading the list starts the pool's threads.
  for (const thread of await readdir(threads).catch(() => [])) {
    const name = await readFile(`${threads}/${thread}/comm`, "utf8").catch(() => "");
    if (name.startsWith("libuv-worker")) lower(Number(thread));
  }
}

function lower(thread: number): void {
  try {
    setPriority(thread, Math.min(getPriority() + steps, nicest));
  } catch {
    // Sandboxes may forbid it.
  }
}
