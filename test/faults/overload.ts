import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { freshDatabase } from "../database.ts";
import { until } from "../postgres/embedded/holder.ts";
import { type Serving, serve } from "../postgres/serving.ts";
import {
  type OpenLoopCall,
  type OpenLoopFigures,
  type OpenLoopOptions,
  type Spread,
  spreadOf,
  unique,
} from "./spread.ts";

const program = fileURLToPath(new URL("./open_loop.ts", import.meta.url));

/** Makes calls at a rate from a process of its own. */
export async function openLoop(options: OpenLoopOptions): Promise<OpenLoopFigures> {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout));
}

/** The memory of a node in megabytes: as it stands, and what is in use once V8 has returned the pages that it keeps. */
export type Memory = Readonly<Record<"rss" | "inUse" | "heapUsed" | "pauseMs", number>>;

const report = new URL("./memory_report.ts", import.meta.url).href;

async function memoryOf({ child, lines }: Serving): Promise<Memory> {
  const from = lines.length;
  child.kill("SIGWINCH");
  const found = await until(async () => lines.slice(from).find(({ memory }) => memory !== undefined) ?? false, 60_000);
  const { pauseMs, ...bytes } = found.memory as Memory;
  const inMegabytes = Object.entries(bytes).map(([name, value]) => [name, Math.round(value / 2 ** 20)]);
  return { ...Object.fromEntries(inMegabytes), pauseMs };
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
  /** The times of the calls that were accepted meanwhile, by the clock of the service. */
  readonly byTheService: Readonly<Record<string, Spread>>;
  /** The calls that were accepted in five seconds that began right after it, at half of the sustainable rate. */
  readonly after: OpenLoopFigures;
  readonly memory: { readonly before: Memory; readonly after: Memory };
};

/** The time that each call of an overload has. */
export const deadlineMs = 2_000;

// The node's own limits, which a single caller reaches first, would refuse what the overload is about; hashes cost what they do.
const settings = {
  CALLS_PER_ADDRESS_PER_MINUTE: "0",
  CALLS_PER_CALLER_PER_MINUTE: "0",
  CALLS_PER_ORGANIZATION_PER_MINUTE: "0",
  HASH_MEMORY_KIB: "19456",
  HASH_ITERATIONS: "2",
  NODE_OPTIONS: `--expose-gc --import ${report}`,
};

/** Makes four times the calls that a node can answer, and prints what became of them; no call may fail in another way. */
export async function overload({ seconds, restSeconds }: OverloadOptions): Promise<Overload> {
  await using at = await freshDatabase();
  await using postern = await serve(at.url, settings);
  const headers = { authorization: `Bearer ${postern.admin.token}` };
  const calls = { url: postern.url, headers, calls: await mixOf(postern), deadlineMs };
  const sustained = await sustainable((rate) => openLoop({ ...calls, rate, seconds: 2 }));
  const before = await memoryOf(postern);
  const [from, during] = [postern.lines.length, await openLoop({ ...calls, rate: 4 * sustained, seconds })];
  const byTheService = timesIn(postern.lines.slice(from));
  const after = await openLoop({ ...calls, rate: sustained / 2, seconds: 5 });
  await pause(restSeconds * 1000);
  const found = { sustained, during, byTheService, after, memory: { before, after: await memoryOf(postern) } };
  console.log(`four times ${sustained} calls a second for ${seconds} s:`, JSON.stringify(found));
  expect(postern.child.exitCode).toBeNull();
  for (const { failed, unhelpful } of [during, after])
    expect({ failed, unhelpful }).toEqual({ failed: 0, unhelpful: 0 });
  expect(postern.lines.filter(({ code }) => code === "INTERNAL")).toEqual([]);
  for (let n = 0; n < 20; n++) expect((await postern.admin.get("/v1/users/me")).status).toBe(200);
  return found;
}

const password = "Blue-Kettle-42";

/** Sixteen calls: reads, a few writes, and one sign-in, which costs more than all others together. */
async function mixOf({ admin }: Serving): Promise<readonly OpenLoopCall[]> {
  const person = { username: "busy", givenName: "Ada", familyName: "Byron", email: "busy@example.com", password };
  await admin.post("/v1/users/human", person);
  const call = (method: string, request: object): OpenLoopCall => ({
    operation: method,
    path: `/postern.v1.${method}`.replace(/\.(?=[^.]*$)/, "/"),
    body: JSON.stringify(request),
  });
  const list = call("UserService.ListUsers", { pageSize: 20 });
  const me = call("AccountService.GetMe", {});
  // A user has a thousand access tokens at most, and an organization as many users as it likes.
  const write = call("UserService.CreateMachineUser", { username: `machine-${unique}`, name: "Machine" });
  const signIn = call("SessionService.CreateSession", { loginName: person.username, password });
  const four = [list, me, list, write];
  return [...four, ...four, ...four, list, me, list, signIn];
}

/** The times of the calls that were accepted, from the lines of the log. */
function timesIn(lines: Serving["lines"]): Readonly<Record<string, Spread>> {
  const accepted = lines.filter(({ code }) => code === "OK");
  const byOperation = Map.groupBy(accepted, ({ operation }) => nameOf(String(operation)));
  return Object.fromEntries(
    [...byOperation].map(([name, of]) => [name, spreadOf(of.map(({ durationMs }) => Number(durationMs)))]),
  );
}

const nameOf = (operation: string) => operation.replace("/postern.v1.", "").replace("/", ".");

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
