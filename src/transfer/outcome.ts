import { Code, ConnectError } from "@connectrpc/connect";
import { type Reasons, reasonsOfError } from "./refused.ts";

/** The outcome of an item: made now, there already from an earlier run, or refused. */
export type Outcome = "made" | "there" | Reasons;

/** The outcomes of a batch, in the order of its items. */
export type Outcomes = readonly Outcome[];

// Calls that fail for one of these fail for every item.
const fatal = [
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unavailable,
  Code.Unimplemented,
  Code.DeadlineExceeded,
];

/** Converts the error of a call to the refusal of its items; one that concerns every item ends the import. */
export function refusalIn(error: unknown): Reasons {
  const known = ConnectError.from(error);
  if (fatal.includes(known.code) || known.code === Code.Internal || known.code === Code.Unknown) throw known;
  return reasonsOfError(known);
}

/** The outcome of the attempt to make one thing, which is there already for this reason. */
export async function madeOrThere(make: () => Promise<unknown>, whenThere: string): Promise<Outcome> {
  try {
    await make();
    return "made";
  } catch (error) {
    const reasons = refusalIn(error);
    return reasons.reason === whenThere ? "there" : reasons;
  }
}

/**
 * Sends items together. Where the request is refused for some items, those are refused with their violations, and the others sent
 * again; the list of violations may be cut, so this repeats until none is left.
 */
export async function sendTogether<I>(items: readonly I[], send: (items: readonly I[]) => Promise<Outcomes>) {
  const outcomes: Outcome[] = new Array(items.length);
  let left = items.map((item, n) => ({ item, n }));
  while (left.length > 0) {
    const sent = left;
    try {
      const answered = await send(sent.map(({ item }) => item));
      for (const [at, outcome] of answered.entries()) outcomes[sent[at]?.n ?? 0] = outcome;
      left = [];
    } catch (error) {
      const reasons = refusalIn(error);
      const faults = Map.groupBy(reasons.violations ?? [], ({ field }) => Number(/^items\[(\d+)\]/.exec(field)?.[1]));
      const wrong = sent.filter((_, at) => faults.has(at));
      for (const [at, { n }] of sent.entries()) {
        const violations = faults.get(at);
        if (violations || wrong.length === 0) outcomes[n] = { ...reasons, violations: violations ?? [] };
      }
      left = wrong.length === 0 ? [] : sent.filter((_, at) => !faults.has(at));
    }
  }
  return outcomes;
}
