import { type Deps, systemCall } from "../../deps.ts";
import { factOf, next, type Versioned } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

const atOnce = 100;

/** Deletes registrations whose codes have expired, with their addresses. */
export function expiredRegistrations({ log, sql, clock, ids }: Deps): Chore {
  return {
    name: "expired registrations",
    async batch(most) {
      const due = await expiredBefore(sql, clock());
      if (due.length === 0) return 0;
      const facts = due.map((row) => factOf("registration", next(row, clock()), { case: "expired", value: {} }));
      // If somebody asks again for one of them at the same moment, the others wait for the next run.
      const isDone = await log.append(systemCall(ids()), facts, true).catch(lostRace);
      return isDone && due.length === atOnce ? most : 0;
    },
  };
}

const expiredBefore = (sql: Sql, date: Date) => sql<Versioned[]>`
  select r.owner, r.registration_id as id, r.version, r.created, r.changed from registrations r
  where r.expiration_date < ${date} order by r.expiration_date limit ${atOnce}`;
