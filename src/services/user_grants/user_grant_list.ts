import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type ListUserGrantsRequest, UserGrantState } from "../../../gen/postern/v1/user_grant_pb.ts";
import type { Reach } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type Fragment, isActive } from "../reading/list_statement.ts";
import { ageDirection, mostRead, type Page } from "../reading/page.ts";
import { userGrantsOfUserRead } from "./user_grant_list_of_user.ts";
import { type ListedUserGrants as Listed, roleless, type UserGrantRow, userGrantColumns } from "./user_grant_row.ts";

type PartialReach = Exclude<Reach, { whole: true }>;
type Paging = Page & { readonly backwards: string; readonly beyond: string };

/** Rows `g` in the order of `id`, with the condition that no index covers: rows that miss it are read, but left out of the page. */
type Source = { readonly from: Fragment; readonly id: string; readonly rest?: Fragment | undefined };

export function userGrantList(sql: Sql) {
  const ofUser = userGrantsOfUserRead(sql);
  return (listed: Listed, page: Page, signal: AbortSignal): Promise<UserGrantRow[]> =>
    isAllOfUser(listed.request) ? ofUser(listed, page, signal) : userGrantsByAge(sql, listed, page);
}

const isAllOfUser = (request: ListUserGrantsRequest): boolean =>
  request.userId !== "" && request.projectId === "" && isAny(request);

const isAllOfRole = (request: ListUserGrantsRequest): boolean =>
  request.userId === "" && request.projectId !== "" && request.roleKey !== "" && isAny(request);

/** Whether grants are listed regardless of their state and end. */
const isAny = ({ state, expiresBefore }: ListUserGrantsRequest): boolean =>
  isActive(UserGrantState, state) === undefined && expiresBefore === undefined;

/** Reads an organization's user grants within reach, by the index that has their order. */
function userGrantsByAge(sql: Sql, listed: Listed, page: Page): Promise<UserGrantRow[]> {
  const { owner, request, reach } = listed;
  const paging = { ...page, ...ageDirection(request.order) };
  const isOfAll = !request.userId && !request.projectId;
  if (isOfAll && !reach.whole) return sql<UserGrantRow[]>`${ofSome(sql, { owner, request, reach }, paging)}`;
  if (isAllOfRole(request)) return sql<UserGrantRow[]>`${pageOfRole(sql, listed, paging)}`;
  const source = sourceOf(sql, listed);
  const columns = source.rest ? flaggedColumns : userGrantColumns;
  return sql<UserGrantRow[]>`${paged(sql, source, { columns, paging })}`;
}

const flaggedColumns = `${userGrantColumns}, g."isMatch", g."isLast"`;

/** The columns to select for a page, and the maximum number of rows to read. */
type Selected = { readonly columns: string; readonly paging: Paging; readonly most?: number };

function paged(sql: Sql, { from, id, rest }: Source, { columns, paging, most = mostRead }: Selected): Fragment {
  const shown = sql.unsafe(columns);
  if (!rest)
    return sql`
    select ${shown} from ${from} ${tailOf(sql, id, paging)}`;
  const { backwards, limit } = paging;
  return sql`
    select ${shown} from (
      select g.*, ${sql.unsafe(id)} as key, ${rest} as "isMatch",
        row_number() over (order by ${sql.unsafe(`${id} ${backwards}`)}) = ${most} as "isLast"
      from ${from} ${tailOf(sql, id, { ...paging, limit: most })}) g
    where g."isMatch" or g."isLast" order by ${sql.unsafe(`g.key ${backwards}`)} limit ${limit}`;
}

function tailOf(sql: Sql, id: string, { after, limit, backwards, beyond }: Paging) {
  return sql`
    and ${after ? sql`${sql.unsafe(`${id} ${beyond}`)} ${after[0] ?? ""}` : sql`true`}
    order by ${sql.unsafe(`${id} ${backwards}`)} limit ${limit}`;
}

function sourceOf(sql: Sql, listed: Listed): Source {
  const { userId, projectId, roleKey } = listed.request;
  if (userId && projectId)
    return {
      from: sql`${grantsOfUserInProject(sql, listed)} and ${asRequested(sql, listed.request)}`,
      id: "g.user_grant_id",
    };
  const few = rare(sql, listed.request);
  if (few) return rareSource(sql, listed, few);
  const rest = restOf(sql, listed.request);
  if (userId)
    return {
      from: sql`user_grants g where ${ofUser(sql, listed)} and ${within(sql, listed.reach)}`,
      id: byBytes,
      rest,
    };
  if (projectId && roleKey)
    return { from: sql`${grantsOfRole(sql, listed)} and ${reaches(sql, listed)}`, id: roleByBytes, rest };
  if (projectId)
    return {
      from: sql`user_grants g where ${inProject(sql, listed)} and ${reaches(sql, listed)}`,
      id: "g.user_grant_id",
      rest,
    };
  return { from: sql`user_grants g where g.owner = ${listed.owner}`, id: "g.user_grant_id", rest };
}

/** The condition of the partial indexes for grants that end, or for inactive ones, if a request asks for them. */
function rare(sql: Sql, { state, expiresBefore }: ListUserGrantsRequest): Fragment | undefined {
  if (expiresBefore) return sql`g.expiration_date is not null`;
  return isActive(UserGrantState, state) === false ? sql`not g.active` : undefined;
}

/** The conditions of state and end that no index covers. */
function restOf(sql: Sql, request: ListUserGrantsRequest): Fragment | undefined {
  if (request.expiresBefore) return asRequested(sql, request);
  return isActive(UserGrantState, request.state) ? sql`g.active` : undefined;
}

/** Inactive grants, or those that end, from the partial indexes that contain only them. */
function rareSource(sql: Sql, listed: Listed, few: Fragment): Source {
  const { owner, reach, request } = listed;
  const { userId, projectId, roleKey } = request;
  const ofOwner = sql`user_grants g where ${few} and (g.owner collate "C") = ${owner}`;
  const rest = restOf(sql, request);
  if (userId)
    return {
      from: sql`${ofOwner} and (g.user_id collate "C") = ${userId} and ${within(sql, reach)}`,
      id: byBytes,
      rest,
    };
  if (!projectId) return { from: ofOwner, id: byBytes, rest };
  const from = sql`${ofOwner} and (g.project_id collate "C") = ${projectId} and ${reaches(sql, listed)}`;
  if (!roleKey) return { from, id: byBytes, rest };
  return { from, id: byBytes, rest: rest ? sql`${hasRole(sql, roleKey)} and ${rest}` : hasRole(sql, roleKey) };
}

/** Whether a grant is in the requested state and ends before the requested time, if any. */
const asRequested = (sql: Sql, { state, expiresBefore }: ListUserGrantsRequest) => sql`
  ${ofState(sql, isActive(UserGrantState, state))} and ${expiresBefore ? endsBefore(sql, expiresBefore) : sql`true`}`;

// A page that needs a flag for each row must not have null, which grants without an end would yield.
const endsBefore = (sql: Sql, time: Timestamp) => sql`coalesce(g.expiration_date < ${timestampDate(time)}, false)`;

function ofState(sql: Sql, active: boolean | undefined) {
  if (active === undefined) return sql`true`;
  return active ? sql`g.active` : sql`not g.active`;
}

// Only lists compare these columns by bytes, as their indexes do.
const byBytes = `(g.user_grant_id collate "C")`;
const roleByBytes = `(k.user_grant_id collate "C")`;

const ofUser = (sql: Sql, { owner, request }: Listed) =>
  sql`(g.owner collate "C") = ${owner} and (g.user_id collate "C") = ${request.userId}`;

const inProject = (sql: Sql, { owner, request }: Listed) =>
  sql`g.owner = ${owner} and g.project_id = ${request.projectId}`;

// A project is the organization's own, or granted to it once, so a user has one grant there. The offset keeps the order from influencing
// the plan, which would otherwise read all grants of the project.
function grantsOfUserInProject(sql: Sql, listed: Listed) {
  const { owner, request } = listed;
  const { userId, roleKey, projectId } = request;
  return sql`(select * from user_grants g where g.user_id = ${userId} and g.project_id = ${projectId} offset 0) g
    where g.owner = ${owner} and ${within(sql, listed.reach)} and ${roleKey ? hasRole(sql, roleKey) : sql`true`}`;
}

const hasRole = (sql: Sql, roleKey: string) =>
  sql`exists (select from user_grant_roles k where k.user_grant_id = g.user_grant_id and k.role_key = ${roleKey})`;

/** Looks up a page's grants and their roles together: neighbouring ids are neighbours in the index. */
const pageOfRole = (sql: Sql, listed: Listed, paging: Paging): Fragment => sql`
  with page as materialized (select array(
    select k.user_grant_id from user_grant_roles k
    where ${ofRole(sql, listed)} and ${reaches(sql, listed)} ${tailOf(sql, roleByBytes, paging)}) as ids)
  select ${sql.unsafe(roleless)}, r."roleKeys" from user_grants g join (
    select user_grant_id, array_agg(role_key order by role_key) as "roleKeys"
    from user_grant_roles where user_grant_id = any((select ids from page)::text[]) group by user_grant_id
  ) r on r.user_grant_id = g.user_grant_id
  where g.user_grant_id = any((select ids from page)::text[])
  order by ${sql.unsafe(`${byBytes} ${paging.backwards}`)}`;

const grantsOfRole = (sql: Sql, listed: Listed) => sql`
  user_grant_roles k cross join lateral (
    select * from user_grants where user_grant_id = k.user_grant_id limit 1) g
  where ${ofRole(sql, listed)}`;

const ofRole = (sql: Sql, { owner, request: { projectId, roleKey } }: Listed) => sql`
  (k.project_id collate "C") = ${projectId} and (k.role_key collate "C") = ${roleKey} and (k.owner collate "C") = ${owner}`;

/** Whether a grant is within reach; for the grants of one user, which are few. */
function within(sql: Sql, reach: Reach) {
  if (reach.whole) return sql`true`;
  const { projects, projectGrants } = reach;
  return sql`(g.project_id = any(${[...projects]}) or g.project_grant_id = any(${[...projectGrants]}))`;
}

/** Whether the project is within reach, and so all of the organization's grants in it, since it owns the project or was granted it once. */
function reaches(sql: Sql, { reach, request: { projectId } }: Listed) {
  if (reach.whole || reach.projects.includes(projectId)) return sql`true`;
  return sql`exists (
    select from project_grants p where p.project_grant_id = any(${[...reach.projectGrants]}) and p.project_id = ${projectId})`;
}

type ListedOfSome = { readonly owner: string; readonly request: ListUserGrantsRequest; readonly reach: PartialReach };

/**
 * The newest grants of each project and project grant within reach, and the newest of all these. Of each, no more are read than fill the
 * page, or than its share of the rows that a page may read.
 */
function ofSome(sql: Sql, { owner, request, reach }: ListedOfSome, paging: Paging): Fragment {
  const most = Math.max(paging.limit, Math.ceil(mostRead / (reach.projects.length + reach.projectGrants.length)));
  const selected = { columns: "g.*", paging, most };
  const ofProject = paged(sql, inOneProject(sql, owner, request), selected);
  const ofProjectGrant = paged(sql, inOneProjectGrant(sql, request), selected);
  const isFlagged = restOf(sql, request) !== undefined;
  return sql`
    select ${sql.unsafe(isFlagged ? flaggedColumns : userGrantColumns)} from (
      select found.* from unnest(${[...reach.projects]}::text[]) p cross join lateral (${ofProject}) found
      union all
      select found.* from unnest(${[...reach.projectGrants]}::text[]) p cross join lateral (${ofProjectGrant}) found
      where found.owner = ${owner}) g where true ${tailOf(sql, "g.user_grant_id", paging)}`;
}

function inOneProject(sql: Sql, owner: string, request: ListUserGrantsRequest): Source {
  const rest = restOf(sql, request);
  const few = rare(sql, request);
  if (few)
    return {
      from: sql`user_grants g
    where ${few} and (g.owner collate "C") = ${owner} and (g.project_id collate "C") = p`,
      id: byBytes,
      rest,
    };
  return { from: sql`user_grants g where g.project_id = p and g.owner = ${owner}`, id: "g.user_grant_id", rest };
}

function inOneProjectGrant(sql: Sql, request: ListUserGrantsRequest): Source {
  const few = rare(sql, request);
  const from = sql`user_grants g where (g.project_grant_id collate "C") = p`;
  return { from: few ? sql`${from} and ${few}` : from, id: byBytes, rest: restOf(sql, request) };
}
