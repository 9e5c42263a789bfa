import type { Deps } from "../../deps.ts";
import { type Chore, deleteDue, inOrder } from "../../events/sweep.ts";

const bearers = { table: "bearers", key: "hash" };

/** Deletes tokens that can no longer be presented. */
export const expiredBearers = ({ sql, clock }: Pick<Deps, "sql" | "clock">): Chore =>
  inOrder("expired bearers", ({ from, most }) => deleteDue(sql, bearers, { from, most, until: clock() }));
