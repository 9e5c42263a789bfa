import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { percentile, round } from "../packages/gateway/bench/stats.ts";
import { planning } from "../src/postgres/pool/connect.ts";
import type { Statement } from "../test/fixture/statements.ts";
import type { LoadOutcome } from "./load.ts";

const run = promisify(execFile);

/** The text in the recorded parameters that depends on the number of the call, and the SQL that makes it for another number. */
export type Slot = { readonly text: string; readonly sql: string };

/** The statements of one call, and the options by which pgbench repeats them. */
export type Script = {
  readonly url: string;
  readonly statements: readonly Statement[];
  readonly slots: readonly Slot[];
  /** Whether the row that a statement returns is available to the next one, each column as `:read_<name>`. */
  readonly gets?: boolean;
  readonly callers: number;
  readonly seconds: number;
  /** The time before calls count, in which each connection plans its statements. */
  readonly settle: number;
  readonly from: number;
};

const options = Object.entries(planning)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

/** Runs recorded statements with pgbench, prepared, each client one call after the other. */
export async function pgbench(script: Script): Promise<LoadOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "postern-pgbench-"));
  try {
    const file = join(folder, "script.sql");
    const from = Math.ceil(script.from / script.callers) * script.callers;
    await writeFile(file, textOf({ ...script, from }));
    const { callers, seconds, settle } = script;
    const counts = ["-c", `${callers}`, "-j", `${Math.min(callers, 2)}`, "-T", `${Math.ceil(settle + seconds)}`];
    const logs = ["-l", "--log-prefix", join(folder, "log")];
    // The planner settings of the service.
    const env = { PATH: "/usr/bin:/bin", PGOPTIONS: options };
    const args = ["-n", "-M", "prepared", ...counts, "-D", "k=-1", "-f", file, ...logs, ...addressOf(script.url)];
    await run("pgbench", args, { env });
    const { most, ...counted } = await countedIn(folder, settle);
    return { ...counted, next: from + (most + 1) * callers };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Evaluates the logs of the time after settling, and the most calls of one client. */
async function countedIn(folder: string, settle: number) {
  const calls: { ended: number; took: number }[] = [];
  let most = 0;
  for (const name of (await readdir(folder)).filter((one) => one.startsWith("log"))) {
    for (const line of (await readFile(join(folder, name), "utf8")).trimEnd().split("\n")) {
      const [, number = 0, took = 0, , second = 0, microsecond = 0] = line.split(" ").map(Number);
      most = Math.max(most, number);
      calls.push({ ended: second * 1e6 + microsecond, took });
    }
  }
  const begun = calls.reduce((first, { ended, took }) => Math.min(first, ended - took), Number.POSITIVE_INFINITY);
  const over = calls.reduce((last, { ended }) => Math.max(last, ended), 0);
  const counts = begun + settle * 1e6;
  const times = calls.filter(({ ended, took }) => ended - took >= counts).map(({ took }) => took / 1000);
  const rate = Math.round(times.length / ((over - counts) / 1e6));
  const [p50, p99] = [round(percentile(times, 0.5)), round(percentile(times, 0.99))];
  // A statement that fails ends pgbench, and so the case.
  return { calls: times.length, refused: 0, granted: calls.length, rate, p50, p99, most };
}

function textOf({ statements, slots, gets, from, callers }: Script): string {
  const lines = statements.map(({ text, parameters }) =>
    text.replace(/\$(\d+)/g, (_, at: string) => valueAs(parameters[Number(at) - 1] ?? "", slots)),
  );
  // A client keeps to its own numbers, so that no two ever have the same one.
  const count = ["\\set k :k + 1", `\\set n ${from} + :k * ${callers} + :client_id`];
  const ended = lines.map((line, at) => (gets && at < lines.length - 1 ? `${line}\n\\gset read_` : `${line};`));
  return [...count, ...ended].join("\n");
}

/** Writes a recorded parameter as SQL; the text that depends on the number of the call becomes an expression. */
function valueAs(parameter: string, slots: readonly Slot[]): string {
  const text = spaced(parameter);
  const used = slots.filter((slot) => text.includes(slot.text));
  const plain = text.replaceAll("%", "%%").replaceAll("'", "''");
  const marked = used.reduce((whole, slot, at) => whole.replaceAll(slot.text, `%${at + 1}$s`), plain);
  return used.length === 0
    ? `'${plain.replaceAll("%%", "%")}'`
    : `format('${marked}', ${used.map(({ sql }) => sql).join(", ")})`;
}

// pgbench takes a colon and a letter for a variable of its own.
function spaced(parameter: string): string {
  if (!/^[[{]/.test(parameter)) return parameter;
  return JSON.stringify(JSON.parse(parameter), null, 1).replace(/\n\s*/g, " ");
}

function addressOf(url: string): string[] {
  const { searchParams, hostname, port, username, pathname } = new URL(url);
  const host = searchParams.get("host") ?? hostname;
  return ["-h", host, "-p", port || "5432", "-U", username, pathname.slice(1)];
}
