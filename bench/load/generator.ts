import { Worker } from "node:worker_threads";
import type { Recipe } from "./recipes.ts";

/** What to send, and for how long; each call has a number of its own, from `from` on. */
export type Load = {
  readonly url: string;
  readonly protocol: "grpc" | "json";
  readonly callers: number;
  readonly seconds: number;
  readonly token: string;
  readonly recipe: Recipe;
  readonly from: number;
};

/** What came of it; times in milliseconds. */
export type Outcome = {
  readonly calls: number;
  readonly refused: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** The number that the next load may begin with. */
  readonly next: number;
};

/** Sends calls from a thread of its own, each caller one after the other. */
export function generate(load: Load): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: load });
    worker.on("message", resolve);
    worker.on("error", reject);
  });
}
