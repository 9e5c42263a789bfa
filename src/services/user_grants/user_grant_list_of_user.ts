import { AgeOrder } from "../../../gen/postern/v1/list_order_pb.ts";
import { loadLists, type Question } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { grantShutIn, isHidden } from "../callers/in_force.ts";
import { ageDirection, type Page } from "../reading/page.ts";
import type { ListedUserGrants, UserGrantRow } from "./user_grant_row.ts";

type PageKey = {
  readonly owner: string;
  readonly user_id: string;
  readonly beyond: string;
  readonly most: number;
};

/** The key of a page of the grants within reach. */
type KeyWithin = PageKey & { readonly projects: readonly string[]; readonly project_grants: readonly string[] };

type GrantTuple = readonly [
  n: number,
  id: string,
  projectId: string,
  projectGrantId: string | null,
  active: boolean,
  endSeconds: number | null,
  version: bigint,
  createdSeconds: number,
  changedSeconds: number,
  shutBy: UserGrantRow["shutBy"],
  roleKeys: string[],
];

/** Makes the read of pages of one user's grants; concurrent reads share a statement. */
export function userGrantsOfUserRead(sql: Sql) {
  const newest = readOf(sql, AgeOrder.NEWEST);
  const oldest = readOf(sql, AgeOrder.OLDEST);
  return async (listed: ListedUserGrants, page: Page, signal: AbortSignal): Promise<UserGrantRow[]> => {
    const { owner, request, reach } = listed;
    const isOldest = request.order === AgeOrder.OLDEST;
    const { ofAll, ofSome } = isOldest ? oldest : newest;
    const key = keyOf(listed, page);
    const tuples = await (reach.whole
      ? ofAll(key, signal)
      : ofSome({ ...key, projects: reach.projects, project_grants: reach.projectGrants }, signal));
    return tuples.map((tuple) => rowOf(tuple, owner, request.userId)).sort(isOldest ? byId : byIdBackwards);
  };
}

const readOf = (sql: Sql, order: AgeOrder) => ({
  ofAll: loadLists<PageKey, GrantTuple>(sql, { ...questionOf(order, whole), isPlain: true }, mostOf),
  ofSome: loadLists<KeyWithin, GrantTuple>(sql, questionOf(order, within), mostOf),
});

const mostOf = ({ most }: PageKey): number => most;

const whole = { columns: "", condition: "" };
const within = {
  columns: ", projects text[], project_grants text[]",
  condition: `
        and (g.project_id = any(asked.projects) or g.project_grant_id = any(asked.project_grants))`,
};

// All ids lie between these, compared by bytes.
const first = "";
const last = "\u{10ffff}";

function keyOf({ owner, request }: ListedUserGrants, { after, limit }: Page): PageKey {
  const start = request.order === AgeOrder.OLDEST ? first : last;
  return {
    owner,
    user_id: request.userId,
    beyond: after?.[0] ?? start,
    most: limit,
  };
}

// The planner memoizes what it reads of a project and an organization (Memoize), which many grants in a statement share.
function questionOf(order: AgeOrder, { columns, condition }: typeof within): Question {
  const { backwards, beyond } = ageDirection(order);
  return {
    asked: `owner text, user_id text, beyond text, most integer${columns}`,
    select: `select n, g.user_grant_id, g.project_id, g.project_grant_id, g.active,
      date_part('epoch', g.expiration_date), g.version, date_part('epoch', g.created), date_part('epoch', g.changed), ${grantShutIn},
      array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key)
    from asked
    cross join lateral (
      select * from user_grants g
      where (g.owner collate "C") = asked.owner and (g.user_id collate "C") = asked.user_id
        and (g.user_grant_id collate "C") ${beyond} asked.beyond${condition}
      order by (g.user_grant_id collate "C") ${backwards} limit asked.most
    ) g
    cross join lateral (select * from projects p where p.project_id = g.project_id limit 1) p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where not ${isHidden("asked.user_id")}`,
  };
}

function rowOf(tuple: GrantTuple, owner: string, userId: string): UserGrantRow {
  const [, id, projectId, projectGrantId, active, end, version, created, changed, shutBy, roleKeys] = tuple;
  const times = {
    created: timeOf(created),
    changed: timeOf(changed),
    expirationDate: end === null ? null : timeOf(end),
  };
  return { id, owner, userId, projectId, projectGrantId, active, version, ...times, shutBy, isHidden: false, roleKeys };
}

const timeOf = (seconds: number): Date => new Date(Math.round(seconds * 1000));

// Only the plan determines the statement's order, which is usually this one.
const byId = (a: UserGrantRow, b: UserGrantRow): number => (a.id < b.id ? -1 : 1);
const byIdBackwards = (a: UserGrantRow, b: UserGrantRow): number => (a.id > b.id ? -1 : 1);
