/** A metric as an expression names it, with the labels that stand in its braces. */
export type Selector = { readonly metric: string; readonly labels: readonly string[] };

/** Names in an expression of PromQL: metrics with their labels, labels to group by, and all other words. */
export type Names = {
  readonly selectors: readonly Selector[];
  readonly grouped: readonly string[];
  readonly others: readonly string[];
};

const word = /[a-zA-Z_][\w:]*/g;
const metricName = /\b(?:up|(?:postern|process|nodejs)_\w+)\b/;

/** Takes an expression apart; the texts of labels do not count as words. */
export function namesIn(expression: string): Names {
  const bare = expression.replaceAll(/"[^"]*"/g, "").replaceAll(/\[\w+\]/g, "");
  const selector = new RegExp(`(${metricName.source})(?:\\{([^}]*)\\})?`, "g");
  const selectors = [...bare.matchAll(selector)].map(([, metric = "", labels = ""]) => ({
    metric,
    labels: labels.match(word) ?? [],
  }));
  const group = /\bby \(([^)]*)\)/g;
  const grouped = [...bare.matchAll(group)].flatMap(([, labels = ""]) => labels.match(word) ?? []);
  const rest = bare.replaceAll(selector, "").replaceAll(group, "by");
  return { selectors, grouped, others: rest.match(word) ?? [] };
}

/** The series of an exposition: for each name the labels of its first one. */
export function seriesIn(exposition: string): ReadonlyMap<string, readonly string[]> {
  const series = [...exposition.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? \S+$/gm)];
  return new Map(
    series.map(([, name = "", labels = ""]) => [name, [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label)]),
  );
}
