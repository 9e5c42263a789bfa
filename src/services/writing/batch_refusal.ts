import { type Call, keys } from "../../deps.ts";
import { invalidity, localized, type Refusal, refuse, statusWriter, textKeyOf, type Violation } from "../../errors.ts";
import type { Reason } from "../../reasons.ts";

/** The reason why an item of a batch is refused, with the invalid field. */
export type No = Refusal & { readonly reason: Reason; readonly field: string };

export function refusedOutcome(call: Call) {
  const statusOf = statusWriter();
  const language = call.values.get(keys.language);
  return (no: No) => {
    const error = refuse.because(no.reason, no);
    return { outcome: { case: "refused", value: statusOf(language ? localized(error, language) : error) } } as const;
  };
}

/** Refuses the whole batch for the first refused item's reason, with every refused item's violations. */
export function refuseBatch(nos: readonly No[]): void {
  const [worst] = nos;
  if (worst) throw refuse.because(worst.reason, { ...worst, violations: nos.flatMap(violationsOf) });
}

/** Joins several reasons for one refusal: the first reason, with the violations of all. */
export function joined(nos: readonly (No | undefined)[]): No | undefined {
  const all = nos.filter((no) => no !== undefined);
  const [first] = all;
  return first && all.length > 1 ? { ...first, violations: all.flatMap(violationsOf) } : first;
}

/** Makes the reason for refusing an item that breaks field rules, or rules that need the database. */
export function malformed(violations: readonly Violation[]): No | undefined {
  const [first] = violations;
  return first && { ...invalidity(violations), field: first.field };
}

/**
 * Waits until every item of a batch has ended, and fails if one of them failed. The error for the whole request says whether anything was
 * written, so nothing may be written after it.
 */
export async function allEnded<T>(items: readonly (T | Promise<T>)[]): Promise<T[]> {
  const ended = await Promise.allSettled(items);
  return ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

/** Makes a function that finds the violations within an item of a batch by the item's path. */
export function violationsByItem(found: readonly Violation[]): (path: string) => readonly Violation[] {
  const byItem = Map.groupBy(found, ({ field }) => itemOf(field));
  return (path) => byItem.get(itemOf(path)) ?? [];
}

const itemOf = (path: string): string | undefined => /^items\[\d+\]/.exec(path)?.[0];

/** The violations of a refused item; if it has none of its own, one for its field. */
export function violationsOf(no: No): readonly Violation[] {
  const { reason, field, params = {} } = no;
  return no.violations ?? [{ field, text: textKeyOf(reason, params), params, reason }];
}
