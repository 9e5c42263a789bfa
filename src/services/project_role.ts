import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListProjectRolesRequestSchema,
  type ProjectRole,
  type ProjectService,
} from "../../gen/postern/v1/project_pb.ts";
import { type Deps, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { detailsAfter, factOf, next, type Versioned } from "../events/fact.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { cut, type Page, pageOf, pageRule } from "./page.ts";
import type { ReadableProject } from "./project_read.ts";

type ProjectRoles = Pick<
  ServiceImpl<typeof ProjectService>,
  "addProjectRole" | "listProjectRoles" | "removeProjectRole"
>;
type RoleKey = { organization: string; id: string; key: string };
type ProjectWithRole = Versioned & { readonly hasRole: boolean };

/** The roles that projects define. */
export const projectRoles = ({ log, sql, clock }: Deps, readable: ReadableProject) => {
  const projectWithRole = loadOne<RoleKey, ProjectWithRole>(sql, {
    asked: "organization text, id text, key text",
    select: `select n, p.project_id as id, p.owner, p.version, p.created, p.changed, r.role_key is not null as "hasRole"
             from asked join projects p on p.owner = asked.organization and p.project_id = asked.id
             left join project_roles r on r.project_id = p.project_id and r.role_key = asked.key`,
  });

  return {
    async addProjectRole({ projectId, key, displayName }, call) {
      const row = await projectWithRole({ organization: organizationOf(call), id: projectId, key }, call.signal);
      if (!row) throw refuse.notFound("project", projectId);
      if (row.hasRole) throw roleTaken(key);
      const at = next(row, clock());
      const added = factOf("project", at, { case: "roleAdded", value: { key, displayName: displayName || key } });
      return log.append(call, [added], { details: detailsAfter(at) });
    },

    async listProjectRoles({ projectId, ...request }, call) {
      const page = pageOf(request, 1);
      const { grantId } = await readable(projectId, call);
      const rows = await (grantId === null ? rolesOf(sql, projectId, page) : rolesGranted(sql, grantId, page));
      const { rows: roles, nextPageToken } = cut(rows, page, ({ key }) => [key]);
      return { roles, nextPageToken };
    },

    async removeProjectRole({ projectId, roleKey: key }, call) {
      const row = await projectWithRole({ organization: organizationOf(call), id: projectId, key }, call.signal);
      if (!row) throw refuse.notFound("project", projectId);
      if (!row.hasRole) throw refuse.notFound("role", key);
      const at = next(row, clock());
      const removed = factOf("project", at, { case: "roleRemoved", value: { key } });
      return log.append(call, [removed], { details: detailsAfter(at) });
    },
  } satisfies ProjectRoles;
};

/** Cross-field rules of requests about roles of projects. */
export const projectRoleRules = [pageRule(ListProjectRolesRequestSchema, 1)];

type RoleRow = Pick<ProjectRole, "key" | "displayName">;

const rolesOf = (sql: Sql, projectId: string, { after, limit }: Page) => sql<RoleRow[]>`
  select role_key as key, display_name as "displayName" from project_roles
  where project_id = ${projectId} and ${after ? sql`role_key > ${after[0] ?? ""}` : sql`true`}
  order by role_key limit ${limit}`;

const rolesGranted = (sql: Sql, projectGrantId: string, { after, limit }: Page) => sql<RoleRow[]>`
  select g.role_key as key, r.display_name as "displayName"
  from project_grant_roles g join project_roles r on r.project_id = g.project_id and r.role_key = g.role_key
  where g.project_grant_id = ${projectGrantId} and ${after ? sql`g.role_key > ${after[0] ?? ""}` : sql`true`}
  order by g.role_key limit ${limit}`;

function roleTaken(key: string) {
  return refuse.because("ROLE_TAKEN", { params: { name: key }, resource: { noun: "role", id: key } });
}
