import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { textOf } from "../rules/tree.ts";

const run = promisify(execFile);

/** A series in virtual time, its values a minute apart, as `promtool` writes them. */
export type VirtualSeries = { readonly series: string; readonly values: string };

/** The text of the alerts. */
export const readRules = () => textOf("deploy/prometheus-rules.yml");

/** The names of the alerts, in their order. */
export const alertNames = (): string[] =>
  [...readRules().matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = ""]) => name);

/** Has `promtool` check rules; answers its report. */
export async function checkRules(rules: string | object): Promise<string> {
  await using folder = await folderOf({ "rules.yml": typeof rules === "string" ? rules : JSON.stringify(rules) });
  return (await run("promtool", ["check", "rules", join(folder.path, "rules.yml")])).stdout;
}

/** Runs scenes of rules; answers the report, also of a failure. */
export async function testRules(rules: string, tests: readonly object[]): Promise<string> {
  // JSON is YAML.
  const scenes = JSON.stringify({ rule_files: ["rules.yml"], tests });
  await using folder = await folderOf({ "rules.yml": rules, "scenes.yml": scenes });
  const args = ["test", "rules", join(folder.path, "scenes.yml")];
  const { stdout, stderr } = await run("promtool", args).catch((error: { stdout: string; stderr: string }) => error);
  return stdout + stderr;
}

// The longest `for` is ten minutes, and a rate needs two values.
const evaluated = "14m";

/** The alerts that fire after these series have gone on for a quarter of an hour. */
export async function firing(input_series: readonly VirtualSeries[]): Promise<string[]> {
  // The report of a failure has what was found instead of nothing.
  const promql_expr_test = [{ expr: 'ALERTS{alertstate="firing"}', eval_time: evaluated, exp_samples: [] }];
  const report = await testRules(readRules(), [{ interval: "1m", input_series, promql_expr_test }]);
  if (report.includes("SUCCESS")) return [];
  const [, found] = report.split("got: ");
  if (!found) throw new Error(report);
  return [...new Set([...found.matchAll(/alertname="(\w+)"/g)].map(([, name = ""]) => name))];
}

async function folderOf(files: Readonly<Record<string, string>>): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "postern-rules-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
