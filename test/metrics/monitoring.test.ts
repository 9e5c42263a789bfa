import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startPostern } from "../harness.ts";
import { textOf } from "../rules/tree.ts";
import { namesIn, seriesIn } from "./promql.ts";

const rules = textOf("deploy/prometheus-rules.yml");
const board: Board = JSON.parse(textOf("deploy/grafana-dashboard.json"));

type Board = {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
};

const ofRules = [...rules.matchAll(/^ +expr: (.*)$/gm)].map(([, expression = ""]) => expression);
const ofPanels = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const expressions = [...ofRules, ...ofPanels];

// Prometheus adds these labels, and the metric `up`, to what it scrapes.
const added = ["job", "instance"];

/** The metrics of a node after calls that succeed and fail; its collector of spans is not there. */
async function scraped(): Promise<string> {
  await using postern = await startPostern({ tracesBase: "http://127.0.0.1:9" });
  await postern.admin.get("/v1/users/me");
  await postern.as().get("/v1/users/me");
  await postern.as().post("/v1/sessions", { loginName: "nobody", password: "wrong" });
  await fetch(`${postern.url}/oauth/userinfo`);
  return (await fetch(`${postern.url}/metrics`)).text();
}

test("every metric and label of the rules and the board is in the metrics of a node", async () => {
  const there = seriesIn(await scraped());
  const missing = expressions.flatMap((expression) => {
    const { selectors, grouped } = namesIn(expression);
    expect(selectors, expression).not.toEqual([]);
    return selectors.flatMap(({ metric, labels }) => {
      const known = [...added, ...(metric === "up" ? [] : (there.get(metric) ?? []))];
      const absent = metric === "up" || there.has(metric) ? [] : [metric];
      return [...absent, ...[...labels, ...grouped].filter((label) => !known.includes(label))];
    });
  });
  expect(missing).toEqual([]);
  const variables = board.templating.list.flatMap(({ query }) => /^label_values\((\w+), instance\)$/.exec(query) ?? []);
  expect(there.has(variables[1] ?? "")).toBe(true);
});

test("expressions use nothing but these functions, and codes that a call can end with", () => {
  const functions = [
    "sum",
    "max",
    "rate",
    "increase",
    "changes",
    "max_over_time",
    "histogram_quantile",
    "vector",
    "by",
    "or",
    "and",
  ];
  expect(
    expressions.flatMap((expression) => namesIn(expression).others.filter((one) => !functions.includes(one))),
  ).toEqual([]);
  const codes = Object.keys(Code).filter((name) => /^[A-Z]/.test(name));
  const known = ["OK", ...codes.map((name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase())];
  const named = expressions.flatMap((expression) => [...expression.matchAll(/\bcode(?:=~|!=|=)"([^"]*)"/g)]);
  expect(named.length).toBeGreaterThan(1);
  expect(named.flatMap(([, some = ""]) => some.split("|")).filter((code) => !known.includes(code))).toEqual([]);
});

test("an expression with a metric, a label or a function that is not there is noticed", () => {
  expect(namesIn('summ by (dor) (rate(postern_call{kode="OK"}[5m]))')).toEqual({
    selectors: [{ metric: "postern_call", labels: ["kode"] }],
    grouped: ["dor"],
    others: ["summ", "by", "rate"],
  });
  expect(seriesIn('a_total{door="x",code="OK"} 1\nb 2\n')).toEqual(
    new Map([
      ["a_total", ["door", "code"]],
      ["b", []],
    ]),
  );
});

test("the page for operators names every alert, and no other", () => {
  const alerts = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name);
  expect(alerts.length).toBe(ofRules.length);
  const rows = [...textOf("docs/operations.md").matchAll(/^\| `(Postern\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(alerts);
});

test("every panel of the board has a title and an expression of its own", () => {
  expect(new Set(board.panels.map(({ title }) => title)).size).toBe(board.panels.length);
  expect(new Set(ofPanels).size).toBe(ofPanels.length);
});
