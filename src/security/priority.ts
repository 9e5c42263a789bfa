import { readdir, readFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";

const threads = "/proc/self/task";

/** Lets whatever is short go before the threads that hash passwords; where that cannot be asked for, nothing changes. */
export async function hashBehindOthers(): Promise<void> {
  // Listing them begins the threads of the pool.
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
