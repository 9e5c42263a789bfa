import { median } from "./stats.ts";

/** A competitor in a comparison. */
export type Entrant<T> = { readonly name: string; readonly run: (seconds: number) => Promise<T> };

/** The number of rounds and their length. */
export type Pace = { readonly rounds: number; readonly seconds: number; readonly warmSeconds: number };

/** Warms all, then measures each in turn for several rounds, in alternating order. */
export async function interleave<T>(
  entrants: readonly Entrant<T>[],
  { rounds, seconds, warmSeconds }: Pace,
): Promise<ReadonlyMap<string, readonly T[]>> {
  const found = new Map<string, T[]>(entrants.map(({ name }) => [name, []]));
  for (const { run } of entrants) await run(warmSeconds);
  for (let at = 0; at < rounds; at++) {
    const order = at % 2 === 0 ? entrants : entrants.toReversed();
    for (const { name, run } of order) found.get(name)?.push(await run(seconds));
  }
  return found;
}

/** The median of one figure over the rounds. */
export const middle = <T>(outcomes: readonly T[] = [], figure: (outcome: T) => number): number =>
  median(outcomes.map(figure));

/** The median of the ratio of two within the same round. */
export function ratio<T>(ours: readonly T[] = [], theirs: readonly T[] = [], figure: (outcome: T) => number): number {
  return median(ours.map((one, at) => figure(one) / figure(theirs[at] ?? one)));
}
