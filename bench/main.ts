import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { doors } from "../packages/gateway/bench/doors.ts";
import { isMissed, type Row, tableOf } from "../packages/gateway/bench/report.ts";
import type { Pace } from "../packages/gateway/bench/rounds.ts";
import { cascade } from "./cascade.ts";
import { chartOf } from "./chart.ts";
import { consolePages } from "./console.ts";
import { cost } from "./cost.ts";
import { exporting } from "./exporting.ts";
import { growth } from "./growth.ts";
import { hashing } from "./hashing.ts";
import { hostile } from "./hostile.ts";
import { importing } from "./importing.ts";
import { lists } from "./lists.ts";
import { memory } from "./memory.ts";
import { neighbours } from "./neighbours.ts";
import { operations } from "./operations.ts";
import { peers } from "./peers/peers.ts";
import { rebuilding } from "./rebuilding.ts";
import { scale } from "./scale.ts";
import { signin } from "./signin.ts";
import { workers } from "./workers.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    users: { type: "string", default: "1000000" },
    calls: { type: "string", default: "1000000" },
    sizes: { type: "string", default: "1000,10000,100000" },
    only: { type: "string" },
    data: { type: "string" },
  },
});

const pace: Pace = { rounds: Number(values.rounds), seconds: Number(values.seconds), warmSeconds: 1 };

const sizes = values.sizes.split(",").map(Number);

const parts = {
  doors: () => doors(pace, new URL("./servers/tiny.ts", import.meta.url)),
  operations: () => operations(pace, values.only),
  peers: () => peers(pace, values.only),
  signin: () => signin(pace, values.only),
  hashing: () => hashing(pace),
  scale: () => scale(pace, { users: Number(values.users), kept: values.data, only: values.only, sizes }),
  lists: () => lists(pace, { users: Number(values.users), kept: values.data, only: values.only }),
  neighbours: () => neighbours(pace, values.data),
  cascade: () => cascade(Number(values.users), values.data),
  console: () => consolePages(pace),
  cost: () => cost(pace.seconds),
  growth: () => growth(Number(values.users)),
  rebuild: () => rebuilding(Number(values.users), values.data),
  memory: () => memory(Number(values.calls)),
  workers: () => workers(pace, values.only),
  import: () => importing(Number(values.users)),
  export: () => exporting(Number(values.users), values.data),
  hostile: () => hostile(pace.seconds, values.only),
} satisfies Record<string, () => Promise<Row[]>>;

type Part = keyof typeof parts;
type Result = { readonly part: Part; readonly machine: object; readonly rows: readonly Row[] };

const results = new URL("./results.json", import.meta.url);
const chart = new URL("./chart.svg", import.meta.url);

for (const name of positionals.length > 0 ? positionals : Object.keys(parts)) {
  if (!isPart(name)) throw new Error(`there is no part ${name}: ${Object.keys(parts).join(", ")}`);
  process.stdout.write(`\n${name}\n`);
  const before = loadavg()[0];
  try {
    const rows = await parts[name]();
    process.stdout.write(`${tableOf(rows)}\n`);
    if (rows.some(isMissed)) process.exitCode = 1;
    await keep({ part: name, machine: await machine(before), rows });
  } catch (error) {
    // The other parts run all the same.
    process.stdout.write(`${name} failed: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  }
}

function isPart(name: string): name is Part {
  return Object.hasOwn(parts, name);
}

/** Puts a part's result in the place of its last one, and draws them all. */
async function keep(result: Result): Promise<void> {
  const text = await readFile(results, "utf8").catch(() => "[]");
  const others = (JSON.parse(text) as Result[]).filter(({ part }) => part !== result.part);
  const order = Object.keys(parts);
  const all = [...others, result].sort((one, other) => order.indexOf(one.part) - order.indexOf(other.part));
  await writeFile(results, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(chart, chartOf(all));
}

async function machine(loadBefore: number | undefined) {
  const { rounds, seconds } = pace;
  const [users, calls] = [Number(values.users), Number(values.calls)];
  const what = { cores: availableParallelism(), processor: cpus()[0]?.model, node: process.version };
  // Whether the kernel divides the processor by sessions first: then priorities count only within one.
  const autogroups = (await readFile("/proc/sys/kernel/sched_autogroup_enabled", "utf8").catch(() => "")) === "1\n";
  return { ...what, autogroups, loadBefore, rounds, seconds, users, calls, time: new Date().toISOString() };
}
