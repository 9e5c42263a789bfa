import type { Family, Sample, Together } from "@postern/gateway";

/** Merges the metrics of several processes. */
export function merge(reports: readonly (readonly Family[])[]): readonly Family[] {
  const byName = Map.groupBy(reports.flat(), ({ name }) => name);
  return [...byName.values()].map((same) => {
    const [first] = same as [Family];
    return { ...first, samples: mergeSamples(same, combine[first.together ?? "sum"]) };
  });
}

/** The counters, which remain after their process has ended. */
export const lasting = (families: readonly Family[]): readonly Family[] =>
  families.filter(({ type }) => type !== "gauge");

const combine: Readonly<Record<Together, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  most: Math.max,
  least: Math.min,
};

function mergeSamples(families: readonly Family[], combined: (one: number, other: number) => number): Sample[] {
  const merged = new Map<string, { sample: Sample; value: number }>();
  for (const sample of families.flatMap(({ samples }) => samples)) {
    const key = JSON.stringify([sample.suffix, sample.labels]);
    const known = merged.get(key);
    if (known) known.value = combined(known.value, sample.value);
    else merged.set(key, { sample, value: sample.value });
  }
  return [...merged.values()].map(({ sample, value }) => ({ ...sample, value }));
}
