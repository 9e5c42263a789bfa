import type { Sample } from "./text.ts";

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The durations measured for the same labels, and the number of times each outcome occurred. */
export type Series = { readonly outcomes: Map<string, number>; readonly buckets: number[]; sum: number; count: number };

/** The series of a key, created on first use. */
export function seriesIn<Key>(all: Map<Key, Series>, key: Key): Series {
  const existing = all.get(key);
  if (existing) return existing;
  const created = { outcomes: new Map<string, number>(), buckets: bounds.map(() => 0), sum: 0, count: 0 };
  all.set(key, created);
  return created;
}

/** Adds a duration and its outcome to a series. */
export function record(series: Series, outcome: string, seconds: number): void {
  series.outcomes.set(outcome, (series.outcomes.get(outcome) ?? 0) + 1);
  series.count += 1;
  series.sum += seconds;
  const at = bounds.findIndex((bound) => seconds <= bound);
  if (at >= 0) series.buckets[at] = (series.buckets[at] ?? 0) + 1;
}

/** The samples of a series as a histogram. */
export function histogram(labels: Readonly<Record<string, string>>, { buckets, sum, count }: Series): Sample[] {
  let below = 0;
  const cumulated = bounds.map((bound, index) => {
    below += buckets[index] ?? 0;
    return { suffix: "_bucket", labels: { ...labels, le: String(bound) }, value: below };
  });
  return [
    ...cumulated,
    { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
    { suffix: "_sum", labels, value: sum },
    { suffix: "_count", labels, value: count },
  ];
}
