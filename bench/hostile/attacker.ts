import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { cases } from "./cases.ts";
import type { Client } from "./client.ts";

/** The settings of a case, which runs in a thread of its own. */
export type Attack = {
  readonly name: string;
  readonly url: string;
  readonly authorization: string;
  readonly seconds: number;
  readonly counters: Float64Array;
};

/** The steps of a case: what is sent is made, all was sent at the pace which the bystander is watched at, and it is over. */
export type Reported = "ready" | "paced" | "over";

// At the cost that the goal allows, a hundred units keep half a core busy. Faster, the attacker itself would be in the
// way of the bystander, who runs on the same machine.
const pacePerSecond = 100;
// Then as fast as one connection allows: this shows the cost of each request.
const fastMs = 300;

const { name, url, authorization, seconds, counters } = workerData as Attack;
const { hostname, port } = new URL(url);
const found = cases.find((one) => one.name === name);
if (!found || !parentPort) throw new Error(`there is no case ${name}`);
const parent = parentPort;

found.prepare?.(url);
await report("ready");
const started = performance.now();
const paced: Client = {
  host: hostname,
  port: Number(port),
  authorization,
  counters,
  since: started,
  until: started + seconds * 1000,
  pace: pacePerSecond,
};
const longest = await found.run(paced);
await report("paced");
// Requests that are slow one by one have shown their cost, and those that are held are released.
if (!found.holds && longest < 1000) {
  await found.together?.(paced, longest < 50 ? 64 : 8);
  await found.run({ ...paced, until: performance.now() + fastMs, pace: Number.POSITIVE_INFINITY });
}
await report("over");

/** Reports, and waits for the answer. */
async function report(reported: Reported): Promise<void> {
  const answered = once(parent, "message");
  parent.postMessage(reported);
  await answered;
}
