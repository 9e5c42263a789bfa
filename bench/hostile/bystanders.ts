import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Watched } from "./bystander.ts";

/** A caller with a valid token beside an attack. */
export type Bystander = AsyncDisposable & {
  /** Answers how calls went since the last time. */
  readonly watched: () => Promise<Watched>;
};

/** Starts one, in a thread of its own. */
export function startBystander(url: string, token: string): Bystander {
  const worker = new Worker(new URL("./bystander.ts", import.meta.url), { workerData: { url, token } });
  return {
    async watched() {
      const answer = once(worker, "message");
      worker.postMessage("report");
      return (await answer)[0] as Watched;
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}
