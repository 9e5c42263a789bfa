import { describe, expect, test } from "vitest";
import { textOf } from "../rules/tree.ts";
import { found } from "./programs.ts";
import { alertNames, checkRules, readRules, testRules } from "./promtool.ts";

type Board = { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] };

describe.skipIf(!found("promtool"))("Prometheus", () => {
  test("understands the rules", async () => {
    expect(await checkRules(readRules())).toContain(`SUCCESS: ${alertNames().length} rules found`);
  });

  test("calls somebody when long statements wait for minutes, and not for a single one", async () => {
    const alertname = "PosternLongStatementsQueue";
    const series = 'postern_database_long_statements_waiting{instance="one"}';
    const labels = { instance: "one", severity: "ticket" };
    const fires = [{ exp_labels: labels }];
    const scenes = [
      { values: "0 1 1 0 1 0x10", exp_alerts: [] },
      { values: "0 1x20", exp_alerts: fires },
    ];
    const tests = scenes.map(({ values, exp_alerts }) => ({
      interval: "1m",
      input_series: [{ series, values }],
      alert_rule_test: [{ eval_time: "10m", alertname, exp_alerts }],
    }));
    const rules = readRules().replaceAll(/^ +annotations:\n( +(summary|description): .*\n?)+/gm, "");
    expect(await testRules(rules, tests)).toContain("SUCCESS");
  });

  test("tells a password spray from a busy morning, and from guesses at a few names", async () => {
    const fires = [{ exp_labels: { job: "postern", severity: "ticket" } }];
    const scenes = [
      { names: "0+20x20", right: "0+5x20", exp_alerts: fires },
      { names: "0+20x20", right: "0+60x20", exp_alerts: [] },
      { names: "0+3x20", right: "0+0x20", exp_alerts: [] },
    ];
    const tests = scenes.map(({ names, right, exp_alerts }) => ({
      interval: "1m",
      input_series: [
        { series: 'postern_sign_in_names_refused_total{job="postern",instance="one"}', values: names },
        { series: 'postern_sign_in_passwords_right_total{job="postern",instance="one"}', values: right },
      ],
      alert_rule_test: [{ eval_time: "15m", alertname: "PosternPasswordSpray", exp_alerts }],
    }));
    const rules = readRules().replaceAll(/^ +annotations:\n( +(summary|description): .*\n?)+/gm, "");
    expect(await testRules(rules, tests)).toContain("SUCCESS");
  });

  test("understands the expressions of the board", async () => {
    const { panels }: Board = JSON.parse(textOf("deploy/grafana-dashboard.json"));
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    const report = await checkRules({ groups: [{ name: "board", rules }] });
    expect(report).toContain(`SUCCESS: ${expressions.length} rules found`);
  });
});
