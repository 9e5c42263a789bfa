import type { Call, Deps } from "../../deps.ts";
import { type At, details, detailsAfter, type NewFact, next, type Versioned } from "../../events/fact.ts";
import { touch } from "../../events/fold.ts";

type Stateful = Versioned & { readonly active: boolean };
type Kind = "deactivated" | "reactivated";

/** Makes the deactivation and reactivation of a kind of object. If the object is already in the requested state, nothing is recorded. */
export function activeStates({ log, clock }: Pick<Deps, "log" | "clock">, factAt: (at: At, kind: Kind) => NewFact) {
  const to = (kind: Kind) => async (row: Stateful, call: Call) => {
    if (row.active === (kind === "reactivated")) return log.append(call, [], { details: details(row) });
    const at = next(row, clock());
    return log.append(call, [factAt(at, kind)], { details: detailsAfter(at) });
  };
  return { deactivate: to("deactivated"), reactivate: to("reactivated") };
}

/** The folds of both facts, and the additional columns that they set. */
export const activeStateFolds = (table: string, id: string, more?: string) => {
  const set = (active: boolean) => touch(table, id, [`active = ${active}`, ...(more ? [more] : [])].join(", "));
  return { deactivated: { views: [set(false)] }, reactivated: { views: [set(true)] } };
};
