import { lazy as whenShown } from "preact-iso";
import { after, isAway, pauses } from "./client.ts";
import { connection, outdated } from "./connection.ts";

/**
 * A component whose file is loaded when it is first shown. While no server responds, loading is repeated for some seconds; if the server is
 * there and the file is not, it belonged to an earlier version, and the frame offers to reload.
 */
export const lazy: typeof whenShown = (load) => whenShown(() => persistently(load));

/** Reads a file of the console in the same way. */
export async function persistently<T>(load: () => Promise<T>): Promise<T> {
  let isBack = false;
  for (const pause of [...pauses, undefined]) {
    try {
      const loaded = await load();
      connection.value = "up";
      return loaded;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const { status } = await fetch("/console/", { method: "HEAD", cache: "no-store" }).catch(() => ({ status: 0 }));
      if (pause === undefined) break;
      if (isAway({ status })) {
        connection.value = "lost";
        await after(pause);
      } else if (isBack) break;
      // The server may have come back since it did not send the file.
      else isBack = true;
    }
  }
  outdated.value = true;
  return new Promise(() => {});
}
