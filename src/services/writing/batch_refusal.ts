import { type Call, keys } from "../../deps.ts";
import {
  invalidity,
  localized,
  type Reason,
  type Refusal,
  refuse,
  statusWriter,
  textKeyOf,
  type Violation,
} from "../../errors.ts";

/** The reason why an item of a batch is refused, with the field at fault. */
export type No = Refusal & { readonly reason: Reason; readonly field: string };

/** Makes the outcomes of refused items, in the language of the caller. */
export function refusedOutcome(call: Call) {
  const statusOf = statusWriter();
  const language = call.values.get(keys.language);
  return (no: No) => {
    const error = refuse.because(no.reason, no);
    return { outcome: { case: "refused", value: statusOf(language ? localized(error, language) : error) } } as const;
  };
}

/** Refuses the whole batch for the first refused item's reason, with the violations of every refused item. */
export function refuseBatch(nos: readonly No[]): void {
  const [worst] = nos;
  if (worst) throw refuse.because(worst.reason, { ...worst, violations: nos.flatMap(violationsOf) });
}

/** Joins the reasons why one thing is refused: the first of them, with the violations of all. */
export function joined(nos: readonly (No | undefined)[]): No | undefined {
  const all = nos.filter((no) => no !== undefined);
  const [first] = all;
  return first && all.length > 1 ? { ...first, violations: all.flatMap(violationsOf) } : first;
}

/** Makes the reason why an item is refused that breaks rules of its fields, or of the database beside them. */
export function malformed(violations: readonly Violation[]): No | undefined {
  const [first] = violations;
  return first && { ...invalidity(violations), field: first.field };
}

/**
 * Waits until every item of a batch has ended, and fails if one of them failed: the refusal of the whole request says whether
 * something was written, so nothing may be written after it.
 */
export async function allEnded<T>(items: readonly (T | Promise<T>)[]): Promise<T[]> {
  const ended = await Promise.allSettled(items);
  return ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

/** Makes a function that returns the violations within an item of a batch, by a path that leads into the item. */
export function violationsByItem(found: readonly Violation[]): (path: string) => readonly Violation[] {
  const byItem = Map.groupBy(found, ({ field }) => itemOf(field));
  return (path) => byItem.get(itemOf(path)) ?? [];
}

const itemOf = (path: string): string | undefined => /^items\[\d+\]/.exec(path)?.[0];

/** Returns the violations of a refused item; one for its field where it has none of its own. */
export function violationsOf(no: No): readonly Violation[] {
  const { reason, field, params = {} } = no;
  return no.violations ?? [{ field, text: textKeyOf(reason, params), params, reason }];
}
