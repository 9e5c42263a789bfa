import { type Call, keys } from "../deps.ts";
import { localized, type Reason, type Refusal, refuse, statusWriter, type Violation } from "../errors.ts";

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

function violationsOf(no: No): readonly Violation[] {
  const { reason, field } = no;
  return no.violations ?? [{ field, description: refuse.because(reason, no).rawMessage, reason }];
}
