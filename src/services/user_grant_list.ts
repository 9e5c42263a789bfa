import type { ListUserGrantsRequest } from "../../gen/postern/v1/user_grant_pb.ts";
import type { Reach } from "../deps.ts";
import type { Sql } from "../postgres/connect.ts";
import { grantShutBy } from "./in_force.ts";
import { ageDirection, type Page } from "./page.ts";

/** A user grant as its row holds it. */
export type UserGrantRow = {
  id: string;
  owner: string;
  userId: string;
  projectId: string;
  projectGrantId: string | null;
  roleKeys: string[];
  active: boolean;
  shutBy: "project" | "organization" | "";
  version: bigint;
  created: Date;
  changed: Date;
};

/** The columns of a user grant `g`. */
export const userGrantColumns = `g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
  g.project_grant_id as "projectGrantId", g.active, g.version, g.created, g.changed,
  ${grantShutBy} as "shutBy",
  array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys"`;

type Listed = { readonly owner: string; readonly request: ListUserGrantsRequest; readonly reach: Reach };
type Partial = Exclude<Reach, { whole: true }>;
type Order = { readonly backwards: string; readonly beyond: string };

/** Reads the user grants of an organization within reach by the index that has them in their order. */
export function userGrantsByAge(sql: Sql, listed: Listed, page: Page): Promise<UserGrantRow[]> {
  const { request, reach } = listed;
  const direction = ageDirection(request.order);
  const tail = (id: string) => tailOf(sql, id, { ...page, ...direction });
  return sql<UserGrantRow[]>`
    select ${sql.unsafe(userGrantColumns)} from ${sourceOf()}`;

  function sourceOf() {
    const { userId, projectId, roleKey } = request;
    if (userId && projectId) return sql`${grantsOfUserInProject(sql, listed)} ${tail("g.user_grant_id")}`;
    if (userId) return sql`user_grants g where ${ofUser(sql, listed)} and ${within(sql, reach)} ${tail(byBytes)}`;
    if (projectId && roleKey) return sql`${grantsOfRole(sql, listed)} and ${reaches(sql, listed)} ${tail(roleByBytes)}`;
    if (projectId)
      return sql`user_grants g where ${inProject(sql, listed)} and ${reaches(sql, listed)} ${tail("g.user_grant_id")}`;
    if (reach.whole) return sql`user_grants g where g.owner = ${listed.owner} ${tail("g.user_grant_id")}`;
    return sql`(${grantsWithin(sql, listed, { reach, tail })}) g where true ${tail("g.user_grant_id")}`;
  }
}

function tailOf(sql: Sql, id: string, { after, limit, backwards, beyond }: Page & Order) {
  return sql`
    and ${after ? sql`${sql.unsafe(`${id} ${beyond}`)} ${after[0] ?? ""}` : sql`true`}
    order by ${sql.unsafe(`${id} ${backwards}`)} limit ${limit}`;
}

// Only lists compare these columns by bytes, as their indexes do.
const byBytes = `(g.user_grant_id collate "C")`;
const roleByBytes = `(k.user_grant_id collate "C")`;

const ofUser = (sql: Sql, { owner, request }: Listed) =>
  sql`(g.owner collate "C") = ${owner} and (g.user_id collate "C") = ${request.userId}`;

const inProject = (sql: Sql, { owner, request }: Listed) =>
  sql`g.owner = ${owner} and g.project_id = ${request.projectId}`;

// An organization owns a project or was granted it once: a user has one grant there. With an offset the order has no say in how
// it is found; else all grants of the project are read.
function grantsOfUserInProject(sql: Sql, listed: Listed) {
  const { owner, request } = listed;
  const { userId, roleKey, projectId } = request;
  const hasRole = sql`exists (
    select from user_grant_roles k where k.user_grant_id = g.user_grant_id and k.role_key = ${roleKey})`;
  return sql`(select * from user_grants g where g.user_id = ${userId} and g.project_id = ${projectId} offset 0) g
    where g.owner = ${owner} and ${within(sql, listed.reach)} and ${roleKey ? hasRole : sql`true`}`;
}

const grantsOfRole = (sql: Sql, { owner, request: { projectId, roleKey } }: Listed) => sql`
  user_grant_roles k cross join lateral (
    select * from user_grants where user_grant_id = k.user_grant_id limit 1) g
  where (k.project_id collate "C") = ${projectId} and (k.role_key collate "C") = ${roleKey}
    and (k.owner collate "C") = ${owner}`;

/** Whether a grant is within reach; for grants of one user, which are few. */
function within(sql: Sql, reach: Reach) {
  if (reach.whole) return sql`true`;
  const { projects, projectGrants } = reach;
  return sql`(g.project_id = any(${[...projects]}) or g.project_grant_id = any(${[...projectGrants]}))`;
}

/** Whether the project is within reach, and so all grants of the organization in it: it owns the project, or was granted it once. */
function reaches(sql: Sql, { reach, request: { projectId } }: Listed) {
  if (reach.whole || reach.projects.includes(projectId)) return sql`true`;
  return sql`exists (
    select from project_grants p where p.project_grant_id = any(${[...reach.projectGrants]}) and p.project_id = ${projectId})`;
}

type Within = { readonly reach: Partial; readonly tail: (id: string) => ReturnType<typeof tailOf> };

/** The newest grants of each project and project grant within reach. */
const grantsWithin = (sql: Sql, { owner }: Listed, { reach, tail }: Within) => sql`
  select found.* from unnest(${[...reach.projects]}::text[]) p cross join lateral (
    select * from user_grants g where g.project_id = p and g.owner = ${owner} ${tail("g.user_grant_id")}) found
  union all
  select found.* from unnest(${[...reach.projectGrants]}::text[]) p cross join lateral (
    select * from user_grants g where (g.project_grant_id collate "C") = p ${tail(byBytes)}) found
  where found.owner = ${owner}`;
