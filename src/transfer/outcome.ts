import { Code, ConnectError } from "@connectrpc/connect";
import { type Reasons, reasonsOfError } from "./refused.ts";

/** The outcome of an item: created now, existing from an earlier run, or refused. */
export type Outcome = "made" | "there" | Reasons;

/** Whether an item's object exists after the import. */
export const isPresent = (outcome: Outcome | undefined): boolean => outcome === "made" || outcome === "there";

export async function oneByOne<I>(items: readonly I[], make: (item: I) => Promise<Outcome>): Promise<Outcomes> {
  const outcomes: Outcome[] = [];
  for (const item of items) outcomes.push(await make(item));
  return outcomes;
}

/** Makes the error for an item whose project does not exist. */
export const missingProject = (project: string): Reasons => ({
  reason: "PROJECT_NOT_FOUND",
  message: `there is no project ${JSON.stringify(project)}`,
});

/** The outcomes of a batch, in the order of its items. */
export type Outcomes = readonly Outcome[];

// A call that fails with one of these fails for every item.
const fatal = [
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unavailable,
  Code.Unimplemented,
  Code.DeadlineExceeded,
];

/** Converts a call's error to the refusal of its items; an error that concerns every item ends the import. */
export function refusalIn(error: unknown): Reasons {
  const known = ConnectError.from(error);
  if (fatal.includes(known.code) || known.code === Code.Internal || known.code === Code.Unknown) throw known;
  return reasonsOfError(known);
}

/** The outcome of creating one object, which may already exist: the refusal says whether it does. */
export async function madeOrThere(
  make: () => Promise<unknown>,
  isThere: (refusal: Reasons) => boolean,
): Promise<Outcome> {
  try {
    await make();
    return "made";
  } catch (error) {
    const reasons = refusalIn(error);
    return isThere(reasons) ? "there" : reasons;
  }
}

/**
 * Sends items together. A response lists a limited number of violations, so items whose violations it omits are sent again, and every
 * refusal is explained.
 */
export async function sendTogether<I>(items: readonly I[], send: (items: readonly I[]) => Promise<Outcomes>) {
  const outcomes: Outcome[] = new Array(items.length);
  let left = items.map((item, n) => ({ item, n }));
  while (left.length > 0) {
    const answered = await answeredOf(left, send);
    for (const [at, { n }] of left.entries()) outcomes[n] = ofItem(answered[at], at);
    const unsaid = left.filter((_, at) => isUnsaid(answered[at]));
    left = unsaid.length < left.length ? unsaid : [];
  }
  return outcomes;
}

async function answeredOf<I>(sent: readonly { readonly item: I }[], send: (items: readonly I[]) => Promise<Outcomes>) {
  try {
    return await send(sent.map(({ item }) => item));
  } catch (error) {
    const reasons = { ...refusalIn(error), violations: [] };
    return sent.map(() => reasons);
  }
}

const isUnsaid = (outcome: Outcome | undefined): boolean =>
  typeof outcome === "object" && outcome.params?.omitted !== undefined && (outcome.violations ?? []).length === 0;

/** The outcome of one item, with paths relative to it: its place in the request tells users nothing. */
function ofItem(outcome: Outcome = { message: "got no response" }, at: number): Outcome {
  if (typeof outcome === "string" || !outcome.violations?.length) return outcome;
  const start = `items[${at}].`;
  const violations = outcome.violations.map(({ field, description }) => ({
    field: field.startsWith(start) ? field.slice(start.length) : field,
    description,
  }));
  if (outcome.reason !== "VALIDATION_FAILED") return { ...outcome, violations };
  return {
    ...outcome,
    message: violations.map(({ field, description }) => `${field} ${description}`).join("; "),
    violations,
  };
}
