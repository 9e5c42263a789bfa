import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { root, textOf } from "../rules/tree.ts";
import { found } from "./programs.ts";

type Board = { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] };

async function checkRules(path: string): Promise<string> {
  return (await promisify(execFile)("promtool", ["check", "rules", path])).stdout;
}

describe.skipIf(!found("promtool"))("Prometheus", () => {
  test("understands the rules", async () => {
    const alerts = textOf("deploy/prometheus-rules.yml").match(/- alert: /g) ?? [];
    const report = await checkRules(join(root, "deploy/prometheus-rules.yml"));
    expect(report).toContain(`SUCCESS: ${alerts.length} rules found`);
  });

  test("understands the expressions of the board", async () => {
    const { panels }: Board = JSON.parse(textOf("deploy/grafana-dashboard.json"));
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    const folder = await mkdtemp(join(tmpdir(), "postern-board-"));
    await using cleared = new AsyncDisposableStack();
    cleared.defer(() => rm(folder, { recursive: true }));
    // JSON is YAML.
    await writeFile(join(folder, "rules.yml"), JSON.stringify({ groups: [{ name: "board", rules }] }));
    expect(await checkRules(join(folder, "rules.yml"))).toContain(`SUCCESS: ${expressions.length} rules found`);
  });
});
