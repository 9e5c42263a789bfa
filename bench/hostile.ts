import { setTimeout as pause } from "node:timers/promises";
import { type Goal, type Row, row } from "../packages/gateway/bench/report.ts";
import { median, percentile, round } from "../packages/gateway/bench/stats.ts";
import {
  type AttackOutcome,
  attack,
  cpuPerUnit,
  mebibyte,
  memoryHeld,
  memoryPerUnit,
  type Used,
} from "./hostile/attack.ts";
import { type Bystander, startBystander } from "./hostile/bystanders.ts";
import type { Case } from "./hostile/case.ts";
import { cases } from "./hostile/cases.ts";
import { cpuSecondsOf, residentOf } from "./hostile/process.ts";
import { prepareTarget, type Server, type Target } from "./hostile/target.ts";
import { startDatabaseServer } from "./server.ts";

// A caller with a token may send a MiB where an unknown one may send 16 KiB, and it has to be read before its rules are known.
const mostCpuMs = { unknown: 5, "no role": 20 };
// Of a message of 1 MiB there are its parts, the whole of it, and its text, until its rules refuse it.
const mostMib = { unknown: 1, "no role": 4 };
const mostDatabaseMs = 5;
const mostAnswerKib = 64;
const mostLogKib = 1;
const mostHeldMib = 128;
const mostSilentSeconds = 2;
const mostToUnloaded = 3;
const unloadedMs = 400;
const mostSeconds = 1;
// A p99 that is too high is measured once more, and the better one counts, because of other load on the machine.
const tries = 2;

// A server that has grown by more is replaced: growth in later cases would not show.
const bloat = 48 * mebibyte;

/** Measures the cost of each kind of hostile request, and the latency of a caller with a token meanwhile. */
export async function hostile(seconds: number, only?: string): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using bench = makeBench(await prepareTarget(databases), Math.min(seconds, mostSeconds));
  const chosen = cases.filter(({ name }) => !only || name.includes(only));
  if (chosen.length === 0) throw new Error(`there is no case ${only}`);
  const found: { readonly one: Case; readonly outcome: Measured }[] = [];
  for (const one of chosen) found.push({ one, outcome: await bench.measure(one) });
  const unloaded = bench.unloaded();
  return [
    row("GetMe", "unloaded", { "p99 ms": round(unloaded) }),
    ...found.map(({ one, outcome }) => rowOf(one, outcome, unloaded)),
  ];
}

function rowOf({ name, caller, holds, documents }: Case, outcome: Measured, unloaded: number): Row {
  const { traffic, watched, silent, end } = outcome;
  const p99 = percentile(watched.times, 0.99);
  const memory = holds ? { "MiB held": memoryHeld(outcome) } : { MiB: memoryPerUnit(outcome) };
  const figures = {
    requests: traffic.requests,
    "KiB sent": traffic.sent / 1024,
    "KiB an answer": traffic.answer / 1024,
    "CPU ms": cpuPerUnit(outcome, "server"),
    "database ms": cpuPerUnit(outcome, "database"),
    "KiB of log": outcome.logged / 1024 / Math.max(1, traffic.requests),
    ...memory,
    "p99 ms": p99,
    "to unloaded": p99 / Math.max(unloaded, outcome.unloaded),
    failed: watched.failed,
    "s silent": silent,
  };
  const rounded = Object.entries(figures).map(([key, value]) => [key, round(value)]);
  const goals: Record<string, Goal> = {
    "CPU ms": { most: mostCpuMs[caller] },
    "database ms": { most: mostDatabaseMs },
    ...(holds ? { "MiB held": { most: mostHeldMib } } : { MiB: { most: mostMib[caller] } }),
    ...(!documents && { "KiB an answer": { most: mostAnswerKib } }),
    "to unloaded": { most: mostToUnloaded },
    ...(caller === "unknown" && { "KiB of log": { most: mostLogKib } }),
    failed: { most: 0 },
    "s silent": { most: mostSilentSeconds },
  };
  return { ...row(name, caller, Object.fromEntries(rounded)), goals, ...(end !== "well" && { note: notes[end] }) };
}

const notes = {
  slow: "SLOW: was not over in time",
  hang: "HANG: answers nobody, was killed",
  exit: "EXIT: the process ended",
} as const;

/** An outcome, and the p99 of the bystander right before it. */
type Measured = AttackOutcome & { readonly unloaded: number };

type Bench = AsyncDisposable & {
  readonly measure: (one: Case) => Promise<Measured>;
  /** The p99 of the bystander between the cases: the middle one, as others work on the machine too. */
  readonly unloaded: () => number;
};

type Running = { readonly server: Server; readonly bystander: Bystander; readonly resident: number };

/** Measures one case after the other; a server that a case left broken or bloated is replaced. */
function makeBench(target: Target, seconds: number): Bench {
  const unloaded: number[] = [];
  let lately: (readonly number[])[] = [];
  const usual = { server: 0, database: 0, seconds: 0 };
  let running: Running | undefined;

  return {
    unloaded: () => median(unloaded),
    async measure(one) {
      let best = await once(one);
      for (let n = 1; n < tries && isDisturbed(one, best, median(unloaded)); n += 1)
        best = better(best, await once(one));
      process.stdout.write(`${one.name}: ${round(cpuPerUnit(best, "server"))} ms of CPU, ${best.end}\n`);
      return best;
    },
    [Symbol.asyncDispose]: stop,
  };

  async function once(one: Case): Promise<Measured> {
    running ??= await start();
    const { server, bystander, resident } = running;
    const before = await watchUnloaded(running);
    const authorization = one.caller === "no role" ? `Bearer ${target.noRole}` : "";
    const outcome = await attack(one, {
      server,
      bystander,
      usage: () => usageOf(server),
      usual: { server: usual.server / usual.seconds, database: usual.database / usual.seconds },
      seconds,
      authorization,
    });
    const { now } = await residentOf(server.pid);
    if (outcome.end !== "well" || now > resident + bloat) await stop();
    return { ...outcome, unloaded: before };
  }

  async function start(): Promise<Running> {
    const server = await target.start();
    const bystander = startBystander(server.url, target.token);
    // The first calls are slow: their code is compiled, and connections are made.
    await pause(1000);
    await bystander.watched();
    return { server, bystander, resident: (await residentOf(server.pid)).now };
  }

  async function watchUnloaded({ server, bystander }: Running): Promise<number> {
    // The case before ends with connections that are closed.
    await pause(100);
    await bystander.watched();
    const [before, began] = [await usageOf(server), performance.now()];
    await pause(unloadedMs);
    const after = await usageOf(server);
    usual.server += after.server - before.server;
    usual.database += after.database - before.database;
    usual.seconds += (performance.now() - began) / 1000;
    // As many calls as are watched during a case, or the two percentiles could not be compared.
    lately = [...lately.slice(-2), (await bystander.watched()).times];
    const p99 = percentile(lately.flat(), 0.99);
    unloaded.push(p99);
    return p99;
  }

  async function usageOf({ pid }: Server): Promise<Used> {
    return { server: await cpuSecondsOf(pid), database: await target.databaseCpu() };
  }

  async function stop(): Promise<void> {
    await running?.bystander[Symbol.asyncDispose]();
    await running?.server[Symbol.asyncDispose]();
    running = undefined;
  }
}

/** Whether nothing but the p99 of the bystander is wrong with a case. */
function isDisturbed({ caller }: Case, outcome: Measured, unloaded: number): boolean {
  const isCheap = outcome.end === "well" && cpuPerUnit(outcome, "server") <= mostCpuMs[caller];
  return isCheap && percentile(outcome.watched.times, 0.99) > mostToUnloaded * Math.max(unloaded, outcome.unloaded);
}

const better = (one: Measured, other: Measured): Measured => (toUnloaded(one) <= toUnloaded(other) ? one : other);

const toUnloaded = ({ watched, unloaded }: Measured) => percentile(watched.times, 0.99) / unloaded;
