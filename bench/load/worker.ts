import { parentPort, workerData } from "node:worker_threads";
import { percentile, round } from "../stats.ts";
import type { Load, Outcome } from "./generator.ts";
import { grpcCaller } from "./grpc.ts";
import { jsonCaller } from "./json.ts";

/** Sends the call with this number; answers whether it was granted. */
export type Send = (n: number) => Promise<boolean>;

/** Something that can carry several callers. */
export type Wire = Disposable & { readonly send: Send };

parentPort?.postMessage(await run(workerData as Load));

async function run(load: Load): Promise<Outcome> {
  using wires = new DisposableStack();
  const connect = load.protocol === "grpc" ? grpcCaller : jsonCaller;
  const count = load.protocol === "grpc" ? Math.min(load.callers, 4) : load.callers;
  const sends = await Promise.all(Array.from({ length: count }, async () => wires.use(await connect(load)).send));
  const times: number[] = [];
  let next = load.from;
  let refused = 0;
  const started = performance.now();
  const end = started + load.seconds * 1000;
  await Promise.all(Array.from({ length: load.callers }, (_, at) => call(sends[at % count] as Send)));
  const rate = times.length / ((performance.now() - started) / 1000);
  return {
    ...{ calls: times.length, refused, rate: Math.round(rate), next },
    ...{ p50: round(percentile(times, 0.5)), p99: round(percentile(times, 0.99)) },
  };

  async function call(send: Send): Promise<void> {
    for (let begun = performance.now(); begun < end; begun = performance.now()) {
      if (!(await send(next++))) refused += 1;
      times.push(performance.now() - begun);
    }
  }
}
