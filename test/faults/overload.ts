import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { freshDatabase } from "../database.ts";
import { serve } from "../postgres/serving.ts";

/** Calls to make at a rate. */
export type OpenLoopOptions = {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The bodies, one after the other. */
  readonly bodies: readonly string[];
  readonly rate: number;
  readonly seconds: number;
  readonly deadlineMs: number;
};

/** The outcomes of the calls: a refusal is unhelpful when it does not say when to try again. */
export type OpenLoopResult = {
  sent: number;
  accepted: number;
  late: number;
  refused: number;
  unhelpful: number;
  expired: number;
  failed: number;
};

/** The same, with the times of answers and of refusals in milliseconds. */
export type OpenLoopFigures = OpenLoopResult & Readonly<Record<"p50" | "p99" | "refusedP50" | "refusedP99", number>>;

const program = fileURLToPath(new URL("./open_loop.ts", import.meta.url));

/** Makes calls at a rate from a process of its own. */
export async function openLoop(options: OpenLoopOptions): Promise<OpenLoopFigures> {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout));
}

/** The memory of a process in megabytes. */
export async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

type OverloadOptions = {
  readonly seconds: number;
  /** How long the node rests before its memory is compared. */
  readonly restSeconds: number;
};

/** The figures of an overload: the rates are in calls a second, the memory in megabytes. */
export type Overload = {
  readonly sustained: number;
  readonly during: OpenLoopFigures;
  /** The calls that were accepted in five seconds that began right after it, at half of the sustainable rate. */
  readonly after: OpenLoopFigures;
  readonly memory: { readonly before: number; readonly after: number };
};

const deadlineMs = 2_000;
const method = "/postern.v1.UserService/ListUsers";

/** Makes four times the calls that a node can answer, and prints what became of them; no call may fail in another way. */
export async function overload({ seconds, restSeconds }: OverloadOptions): Promise<Overload> {
  await using at = await freshDatabase();
  await using postern = await serve(at.url);
  const headers = { authorization: `Bearer ${postern.admin.token}` };
  const calls = { url: postern.url, path: method, headers, bodies: ['{"pageSize":20}'], deadlineMs };
  const pid = postern.child.pid ?? 0;
  const sustained = await sustainable((rate) => openLoop({ ...calls, rate, seconds: 2 }));
  const before = await memoryOf(pid);
  const during = await openLoop({ ...calls, rate: 4 * sustained, seconds });
  const after = await openLoop({ ...calls, rate: sustained / 2, seconds: 5 });
  await pause(restSeconds * 1000);
  const found = { sustained, during, after, memory: { before, after: await memoryOf(pid) } };
  console.log(`four times ${sustained} calls a second for ${seconds} s:`, JSON.stringify(found));
  expect(postern.child.exitCode).toBeNull();
  for (const { failed, unhelpful } of [during, after])
    expect({ failed, unhelpful }).toEqual({ failed: 0, unhelpful: 0 });
  expect(postern.lines.filter(({ code }) => code === "INTERNAL")).toEqual([]);
  for (let n = 0; n < 20; n++) expect((await postern.admin.get("/v1/users/me")).status).toBe(200);
  return found;
}

/** The highest rate of these, each twice the one before, at which every call is accepted in time. */
async function sustainable(run: (rate: number) => Promise<OpenLoopFigures>): Promise<number> {
  let found = 125;
  // The first calls wait for the compiler.
  await run(250);
  for (let rate = 250; rate <= 4_000; rate *= 2) {
    const { sent, accepted, late, p50 } = await run(rate);
    if (accepted - late < sent || p50 > deadlineMs / 8) break;
    found = rate;
  }
  return found;
}
