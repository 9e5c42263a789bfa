import { type Deps, systemCall } from "../../deps.ts";
import { factOf, next, type Versioned } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

const keptDays = 30;
const atOnce = 100;

/** Deletes invitations that expired long ago. Until then they can be mailed again. */
export function expiredInvitations({ log, sql, clock, ids }: Deps): Chore {
  return {
    name: "expired invitations",
    async batch(most) {
      const due = await expiredBefore(sql, new Date(clock().getTime() - keptDays * 86_400_000));
      if (due.length === 0) return 0;
      const facts = due.map((row) => factOf("invitation", next(row, clock()), { case: "expired", value: {} }));
      // If one of them is mailed again or withdrawn at the same moment, the others wait for the next run.
      const isDone = await log.append(systemCall(ids()), facts, true).catch(lostRace);
      return isDone && due.length === atOnce ? most : 0;
    },
  };
}

const expiredBefore = (sql: Sql, date: Date) => sql<Versioned[]>`
  select v.owner, v.invitation_id as id, v.version, v.created, v.changed from invitations v
  where v.expiration_date < ${date} order by v.expiration_date limit ${atOnce}`;
