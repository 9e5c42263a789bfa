/** A call of an open loop. */
export type OpenLoopCall = { readonly operation: string; readonly path: string; readonly body: string };

/** What stands in a body for a text that no other call has. */
export const unique = "$unique";

/** Calls to make at a rate. */
export type OpenLoopOptions = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The calls, made in rotation. */
  readonly calls: readonly OpenLoopCall[];
  readonly rate: number;
  readonly seconds: number;
  readonly deadlineMs: number;
};

/** The outcomes of the calls: a refusal is unhelpful when it does not say when to try again. */
export type OpenLoopResult = {
  sent: number;
  accepted: number;
  late: number;
  refused: number;
  unhelpful: number;
  expired: number;
  failed: number;
};

/** How many there were, and their times in milliseconds. */
export type Spread = { readonly count: number; readonly p50: number; readonly p99: number };

/** The same with the times of answers and of refusals in milliseconds, and those of the answers of each operation. */
export type OpenLoopFigures = OpenLoopResult &
  Readonly<Record<"p50" | "p99" | "refusedP50" | "refusedP99", number>> & {
    readonly operations: Readonly<Record<string, Spread>>;
  };

/** The spread of times. */
export function spreadOf(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
