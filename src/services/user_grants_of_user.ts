import { AgeOrder } from "../../gen/postern/v1/list_order_pb.ts";
import { loadLists, type Question } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { grantShutIn } from "./in_force.ts";
import { ageDirection, type Page } from "./page.ts";
import type { ListedUserGrants, UserGrantRow } from "./user_grant_row.ts";

/** The key of a page; `projects` and `project_grants` are null where all grants are within reach. */
type PageKey = {
  readonly owner: string;
  readonly user_id: string;
  readonly beyond: string;
  readonly most: number;
  readonly projects: readonly string[] | null;
  readonly project_grants: readonly string[] | null;
};

type GrantTuple = readonly [
  n: number,
  id: string,
  projectId: string,
  projectGrantId: string | null,
  active: boolean,
  version: bigint,
  createdSeconds: number,
  changedSeconds: number,
  shutBy: UserGrantRow["shutBy"],
  roleKeys: string[],
];

/** Makes the read of pages of the grants of one user; pages that are read at the same time share a statement. */
export function userGrantsOfUserRead(sql: Sql) {
  const newest = readOf(sql, AgeOrder.NEWEST);
  const oldest = readOf(sql, AgeOrder.OLDEST);
  return async (listed: ListedUserGrants, page: Page, signal: AbortSignal): Promise<UserGrantRow[]> => {
    const { owner, request } = listed;
    const isOldest = request.order === AgeOrder.OLDEST;
    const tuples = await (isOldest ? oldest : newest)(keyOf(listed, page), signal);
    return tuples.map((tuple) => rowOf(tuple, owner, request.userId)).sort(isOldest ? byId : byIdBackwards);
  };
}

const readOf = (sql: Sql, order: AgeOrder) =>
  loadLists<PageKey, GrantTuple>(sql, questionOf(order), ({ most }) => most);

// Identifiers are between these by their bytes.
const first = "";
const last = "\u{10ffff}";

function keyOf({ owner, request, reach }: ListedUserGrants, { after, limit }: Page): PageKey {
  const start = request.order === AgeOrder.OLDEST ? first : last;
  return {
    owner,
    user_id: request.userId,
    beyond: after?.[0] ?? start,
    most: limit,
    projects: reach.whole ? null : reach.projects,
    project_grants: reach.whole ? null : reach.projectGrants,
  };
}

// The planner remembers what it has read of a project and of an organization (Memoize): many grants of a statement share them.
function questionOf(order: AgeOrder): Question {
  const { backwards, beyond } = ageDirection(order);
  return {
    asked: "owner text, user_id text, beyond text, most integer, projects text[], project_grants text[]",
    select: `select n, g.user_grant_id, g.project_id, g.project_grant_id, g.active, g.version,
      date_part('epoch', g.created), date_part('epoch', g.changed), ${grantShutIn},
      array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key)
    from asked
    cross join lateral (
      select * from user_grants g
      where (g.owner collate "C") = asked.owner and (g.user_id collate "C") = asked.user_id
        and (g.user_grant_id collate "C") ${beyond} asked.beyond
        and (asked.projects is null
          or g.project_id = any(asked.projects) or g.project_grant_id = any(asked.project_grants))
      order by (g.user_grant_id collate "C") ${backwards} limit asked.most
    ) g
    cross join lateral (select * from projects p where p.project_id = g.project_id limit 1) p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h`,
  };
}

function rowOf(tuple: GrantTuple, owner: string, userId: string): UserGrantRow {
  const [, id, projectId, projectGrantId, active, version, created, changed, shutBy, roleKeys] = tuple;
  const times = { created: timeOf(created), changed: timeOf(changed) };
  return { id, owner, userId, projectId, projectGrantId, active, version, ...times, shutBy, roleKeys };
}

const timeOf = (seconds: number): Date => new Date(Math.round(seconds * 1000));

// Nothing but the plan says in which order the statement yields them: mostly in this one.
const byId = (a: UserGrantRow, b: UserGrantRow): number => (a.id < b.id ? -1 : 1);
const byIdBackwards = (a: UserGrantRow, b: UserGrantRow): number => (a.id > b.id ? -1 : 1);
