import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Outcome } from "./load/generator.ts";
import type { Statement } from "./statements.ts";
import { percentile, round } from "./stats.ts";

const run = promisify(execFile);

/** Whether a program is there. */
export const has = (program: string): Promise<boolean> =>
  run(program, ["--version"]).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );

/** What in the recorded parameters stands for the number of the call, and the SQL that makes it of another number. */
export type Slot = { readonly text: string; readonly sql: string };

/** How the statements of one call are run again and again by pgbench. */
export type Script = {
  readonly url: string;
  readonly statements: readonly Statement[];
  readonly slots: readonly Slot[];
  readonly callers: number;
  readonly seconds: number;
  readonly from: number;
};

/** More commands than a small machine does in a second, so that no two clients ever use the same number. */
export const mostPerSecond = 6_000;
const numbersEach = ({ callers, seconds }: Script) => Math.ceil((mostPerSecond * seconds) / callers);

/** Runs recorded statements with pgbench, prepared, each client one call after the other. */
export async function pgbench(script: Script): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "postern-pgbench-"));
  try {
    const file = join(folder, "script.sql");
    await writeFile(file, textOf(script));
    const { callers, seconds, from } = script;
    const counts = ["-c", `${callers}`, "-j", `${Math.min(callers, 2)}`, "-T", `${seconds}`];
    const args = [
      "-n",
      "-M",
      "prepared",
      ...counts,
      "-D",
      "k=0",
      "-f",
      file,
      "-l",
      "--log-prefix",
      join(folder, "log"),
    ];
    // The plans that the service asks for.
    const env = { PATH: "/usr/bin:/bin", PGOPTIONS: "-c enable_seqscan=off -c jit=off" };
    const { stdout } = await run("pgbench", [...args, ...addressOf(script.url)], { env });
    const rate = Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    const calls = Number(/actually processed: (\d+)/.exec(stdout)?.[1]);
    const refused = Number(/number of failed transactions: (\d+)/.exec(stdout)?.[1] ?? 0);
    const times = await latencies(folder);
    return { calls, refused, rate: Math.round(rate), ...times, next: from + callers * numbersEach(script) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function latencies(folder: string) {
  const times: number[] = [];
  for (const name of (await readdir(folder)).filter((one) => one.startsWith("log"))) {
    const lines = (await readFile(join(folder, name), "utf8")).trimEnd().split("\n");
    for (const line of lines) times.push(Number(line.split(" ")[2]) / 1000);
  }
  return { p50: round(percentile(times, 0.5)), p99: round(percentile(times, 0.99)) };
}

function textOf(script: Script): string {
  const { statements, slots, from } = script;
  const lines = statements.map(({ text, parameters }) =>
    text.replace(/\$(\d+)/g, (_, at: string) => valueAs(parameters[Number(at) - 1] ?? "", slots)),
  );
  const count = ["\\set k :k + 1", `\\set n ${from} + :client_id * ${numbersEach(script)} + :k`];
  return [...count, ...lines.map((line) => `${line};`)].join("\n");
}

/** A recorded parameter as SQL; what stands for the number of the call is made of it. */
function valueAs(parameter: string, slots: readonly Slot[]): string {
  const used = slots.filter(({ text }) => parameter.includes(text));
  const plain = spaced(parameter).replaceAll("%", "%%").replaceAll("'", "''");
  const marked = used.reduce((whole, { text }, at) => whole.replaceAll(text, `%${at + 1}$s`), plain);
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
