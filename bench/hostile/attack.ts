import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Attack, Reported } from "./attacker.ts";
import type { Watched } from "./bystander.ts";
import type { Bystander } from "./bystanders.ts";
import type { Case } from "./case.ts";
import { newCounters, type Traffic, trafficOf } from "./client.ts";
import { resetPeakOf, residentOf } from "./process.ts";
import type { Server } from "./target.ts";

/** Seconds of CPU of the server and of its database. */
export type Used = { readonly server: number; readonly database: number };

/** The effect of a case on the server. */
export type AttackOutcome = {
  readonly traffic: Traffic;
  /** Seconds of CPU of the server and of its database, without those of the bystander. */
  readonly used: Used;
  /** Bytes of the log, without calls that end well. */
  readonly logged: number;
  /** Growth of resident memory at most, in bytes. */
  readonly growth: number;
  readonly watched: Watched;
  /** Seconds until the server answered anybody after the case. */
  readonly silent: number;
  readonly end: "well" | "slow" | "hang" | "exit";
};

/** The instruments that a case is measured with. */
export type Measuring = {
  readonly server: Server;
  readonly bystander: Bystander;
  /** Seconds of CPU that are used in each second without the case. */
  readonly usual: Used;
  /** How much was used until now. */
  readonly usage: () => Promise<Used>;
  readonly seconds: number;
  /** The authorization header of the attacker. */
  readonly authorization: string;
};

// How long a case may go on beyond its time before its server counts as hung, and how long that may stay silent afterwards.
const answerTimeoutMs = 5_000;

/** Runs a case against a server, for a bounded time. */
export async function attack(one: Case, measuring: Measuring): Promise<AttackOutcome> {
  const { server, bystander, usual, usage, seconds: sending, authorization } = measuring;
  const counters = newCounters();
  await using attacker = startAttacker({ name: one.name, url: server.url, authorization, seconds: sending, counters });
  // The thread of the attack needs the CPU for itself until it has made what it sends.
  await attacker.reached("ready", startMs);
  await bystander.watched();
  await resetPeakOf(server.pid);
  const memory = await residentOf(server.pid);
  const loggedBefore = server.logged();
  const before = await usage();
  const began = performance.now();
  attacker.proceed();
  const most = sending * 1000 + answerTimeoutMs;
  const isPaced = await attacker.reached("paced", most);
  const watched = await bystander.watched();
  attacker.proceed();
  const isOver = isPaced && (await attacker.reached("over", Math.max(0, most - (performance.now() - began))));
  await attacker[Symbol.asyncDispose]();
  const silent = await silence(server);
  const seconds = (performance.now() - began) / 1000;
  const after = await usage();
  const spent = (of: keyof Used) => Math.max(0, after[of] - before[of] - usual[of] * seconds);
  return {
    traffic: trafficOf(counters),
    used: { server: spent("server"), database: spent("database") },
    logged: server.logged() - loggedBefore,
    growth: Math.max(0, (await residentOf(server.pid)).most - memory.now),
    watched,
    silent: silent ?? answerTimeoutMs / 1000,
    end: server.hasExited() ? "exit" : silent === undefined ? "hang" : isOver ? "well" : "slow",
  };
}

// Compressing 200 MB takes its time.
const startMs = 60_000;

/** A case that is run in a thread of its own, step by step. */
type Attacker = AsyncDisposable & {
  /** Waits for a step, for so long at most; false when it was not reached. */
  readonly reached: (step: Reported, mostMs: number) => Promise<boolean>;
  readonly proceed: () => void;
};

function startAttacker({ name, url, authorization, seconds, counters }: Attack): Attacker {
  const workerData: Attack = { name, url, authorization, seconds, counters };
  const worker = new Worker(new URL("./attacker.ts", import.meta.url), { workerData });
  const failed = once(worker, "error").then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  const steps: Reported[] = [];
  worker.on("message", (step: Reported) => steps.push(step));
  return {
    async reached(step, mostMs) {
      const until = performance.now() + mostMs;
      while (!steps.includes(step) && performance.now() < until) await Promise.race([failed, pause(5)]);
      return steps.includes(step);
    },
    proceed: () => worker.postMessage("proceed"),
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

/** Seconds until the server answers; undefined when it does not. */
async function silence(server: Server): Promise<number | undefined> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  while (seconds() * 1000 < answerTimeoutMs && !server.hasExited()) {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const answer = await fetch(`${server.url}/healthz`, { signal }).catch(() => undefined);
    if (answer?.ok) return seconds();
    await pause(50);
  }
  return undefined;
}

/** Milliseconds of CPU for each unit. */
export const cpuPerUnit = ({ used, traffic }: AttackOutcome, of: keyof Used): number =>
  (used[of] * 1000) / Math.max(1, traffic.units);

/** Bytes of a MiB. */
export const mebibyte = 2 ** 20;

// V8 lets its young generation grow to three times 16 MiB and its old one by some more before it collects; what grows by less
// than this grew by itself.
const swing = 96 * mebibyte;

/** MiB of memory held in all, beyond the swing of V8. */
export const memoryHeld = ({ growth }: Pick<AttackOutcome, "growth">): number => Math.max(0, growth - swing) / mebibyte;

/** MiB of memory for each unit under way at once, beyond the swing of V8. */
export const memoryPerUnit = ({ growth, traffic }: AttackOutcome): number =>
  memoryHeld({ growth }) / Math.max(1, traffic.most);
