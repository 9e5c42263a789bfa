import { readdir, readFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";

const threads = "/proc/self/task";

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
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Sandboxes may forbid it.
  }
}
