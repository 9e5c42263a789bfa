import { type Deps, systemCall } from "../../deps.ts";
import { factOf, type NewFact, next, type Versioned } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";

type Rows = Promise<readonly Versioned[]>;

/** A kind of row of deleted organizations, and the fact that removes one with all that depends on it. */
type Step = { readonly rows: (sql: Sql, most: number) => Rows; readonly fact: (row: Versioned, time: Date) => NewFact };

// In this order: what a step removes is no longer in the way of the next ones. The organization itself goes last.
const steps: readonly Step[] = [
  {
    rows: (sql, most) => sql<Versioned[]>`
      select u.user_id as id, u.owner, u.version, u.created, u.changed
      from organizations d join users u on u.owner = d.organization_id where d.deleted limit ${most}`,
    fact: (row, time) => factOf("user", next(row, time), { case: "deleted", value: {} }),
  },
  {
    rows: (sql, most) => sql<Versioned[]>`
      select p.project_id as id, p.owner, p.version, p.created, p.changed
      from organizations d join projects p on p.owner = d.organization_id where d.deleted limit ${most}`,
    fact: (row, time) => factOf("project", next(row, time), { case: "deleted", value: {} }),
  },
  {
    rows: (sql, most) => sql<Versioned[]>`
      select g.project_grant_id as id, g.owner, g.version, g.created, g.changed
      from organizations d join project_grants g on g.granted_organization_id = d.organization_id
      where d.deleted limit ${most}`,
    fact: (row, time) => factOf("projectGrant", next(row, time), { case: "revoked", value: {} }),
  },
  {
    rows: (sql, most) => sql<Versioned[]>`
      select m.member_id as id, m.owner, m.version, m.created, m.changed
      from organizations d join members m on m.owner = d.organization_id where d.deleted limit ${most}`,
    fact: (row, time) => factOf("member", next(row, time), { case: "removed", value: {} }),
  },
  {
    // A user grant rests on a project of the organization or on one granted to it, so that none is left here.
    rows: (sql, most) => sql<Versioned[]>`
      select d.organization_id as id, d.organization_id as owner, d.version, d.created, d.changed
      from organizations d where d.deleted
        and not exists (select from users u where u.owner = d.organization_id)
        and not exists (select from projects p where p.owner = d.organization_id)
        and not exists (select from project_grants g where g.granted_organization_id = d.organization_id)
        and not exists (select from members m where m.owner = d.organization_id)
      limit ${most}`,
    fact: (row, time) => factOf("organization", next(row, time), { case: "purged", value: {} }),
  },
];

/** Removes the rows of deleted organizations, as facts, and at last the organizations themselves. */
export const deletedOrganizations = (deps: Deps): Chore => ({
  name: "deleted organizations",
  async batch(most) {
    let removed = 0;
    for (const step of steps) if (removed < most) removed += await take(step, deps, most - removed);
    return removed;
  },
});

async function take({ rows, fact }: Step, { log, sql, clock, ids }: Deps, most: number): Promise<number> {
  const found = await rows(sql, most);
  const time = clock();
  const facts = found.map((row) => fact(row, time));
  // Somebody who changes one of the rows at the same moment is first; all are taken again the next time.
  const appended = await log.append(systemCall(ids()), facts, true).catch(lostRace);
  return appended ? found.length : 0;
}
