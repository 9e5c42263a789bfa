import { setTimeout as pause } from "node:timers/promises";
import { type Row, row } from "../../packages/gateway/bench/report.ts";
import { median, round } from "../../packages/gateway/bench/stats.ts";
import { residentOf } from "../hostile/process.ts";
import { type Comparison, load } from "./compared.ts";
import type { Question } from "./question.ts";
import type { System } from "./system.ts";

const megabyte = 1024 * 1024;
const restSeconds = 10;
const times = 3;

/** The name of the rows. */
export const footprint = "memory and start";

const questions: readonly Question[] = ["grant", "list", "check", "me"];
const size = { callers: 128, seconds: 3 };
const goals = { "MB idle": { most: 120 }, "MB at most": { most: 250 }, "start s": { most: 0.5 } };

/** The resident memory of a system under load and idle after it, and the time that it takes to start again. */
export async function footprintOf(system: System, comparison: Comparison): Promise<Row> {
  const started = await residentOf(system.pid);
  let calls = 0;
  for (const question of questions.filter((one) => system.can.includes(one)))
    for (const door of system.doors) calls += (await load({ system, door, question }, comparison, size)).granted;
  await pause(restSeconds * 1000);
  const { now, most } = await residentOf(system.pid);
  const figures = {
    calls,
    "MB before": Math.round(started.now / megabyte),
    "MB idle": Math.round(now / megabyte),
    "MB at most": Math.round(most / megabyte),
    "start s": round(median(await startsOf(system))),
  };
  return { ...row(footprint, system.name, figures), goals: system.name === "Postern" ? goals : {} };
}

/** The seconds from the command to the first answer, on a database that is filled. */
async function startsOf({ startAgain }: System): Promise<number[]> {
  const seconds: number[] = [];
  for (let time = 0; time < times; time++) {
    const began = performance.now();
    await using _ = await startAgain();
    seconds.push((performance.now() - began) / 1000);
  }
  return seconds;
}
