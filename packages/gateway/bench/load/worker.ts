import { setTimeout as pause } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { percentile, round } from "../stats.ts";
import type { Calls, CallsOf, Load, LoadOutcome } from "./generator.ts";
import { http1Wire } from "./http1.ts";
import { http2Wire } from "./http2.ts";
import { callsOfShot } from "./shot.ts";
import type { Send, Wire } from "./wire.ts";

parentPort?.postMessage(await Promise.all((workerData as Load[]).map(run)));

async function run(load: Load): Promise<LoadOutcome> {
  using wires = new DisposableStack();
  const { connect, count } = wiresOf(load, await callsOf(load));
  const sends = await Promise.all(Array.from({ length: count }, async (_, at) => wires.use(await connect(at)).send));
  const times: number[] = [];
  let next = load.from;
  let refused = 0;
  let all = 0;
  const started = performance.now() + (load.settle ?? 0) * 1000;
  const end = started + load.seconds * 1000;
  const last = load.from + (load.calls ?? Number.POSITIVE_INFINITY);
  await Promise.all(Array.from({ length: load.callers }, (_, at) => call(sends[at % count] as Send)));
  const rate = times.length / ((performance.now() - started) / 1000);
  return {
    ...{ calls: times.length, refused, granted: all, rate: Number(rate.toFixed(2)), next },
    ...{ p50: round(percentile(times, 0.5)), p99: round(percentile(times, 0.99)) },
  };

  async function call(send: Send): Promise<void> {
    for (let begun = performance.now(); begun < end && next < last; begun = await again(begun)) {
      const granted = await send(next++);
      if (granted) all += 1;
      if (begun < started) continue;
      if (!granted) refused += 1;
      times.push(performance.now() - begun);
    }
  }

  async function again(begun: number): Promise<number> {
    const left = begun + (load.everyMs ?? 0) - performance.now();
    if (left > 0) await pause(left);
    return performance.now();
  }
}

/** A connection of HTTP/1.1 for each caller, or a few of HTTP/2 for all. */
function wiresOf({ url, callers }: Load, calls: Calls): { connect: (caller: number) => Promise<Wire>; count: number } {
  if (calls.http === "1") return { connect: (caller) => http1Wire(url, calls, caller), count: callers };
  return { connect: () => http2Wire(url, calls), count: Math.min(callers, 4) };
}

async function callsOf(load: Load): Promise<Calls> {
  if ("shot" in load) return callsOfShot(load.shot, load.url);
  const { module, options } = load.source;
  const loaded: { callsOf: CallsOf } = await import(module);
  return loaded.callsOf(options, load.url);
}
