import type { ServiceImpl } from "@connectrpc/connect";
import { NameOrder } from "../../../gen/postern/v1/list_order_pb.ts";
import {
  AddProjectRoleRequestSchema,
  type ListProjectRolesRequest,
  ListProjectRolesRequestSchema,
  type ProjectService,
} from "../../../gen/postern/v1/project_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule, messageRule } from "../../rules.ts";
import {
  type NamedList,
  type NamedQuery,
  namedRule,
  readNamed,
  textFilters,
  wordsIn,
} from "../reading/list_statement.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import type { No } from "../writing/batch_refusal.ts";
import { beingDeleted } from "../writing/being_deleted.ts";
import { asRead, takenName } from "../writing/taken_name.ts";
import type { ReadableProject } from "./readable_project.ts";

type ProjectRoles = Pick<
  ServiceImpl<typeof ProjectService>,
  "addProjectRole" | "listProjectRoles" | "removeProjectRole"
>;
type RoleKey = { organization: string; id: string; key: string };
type ProjectWithRole = Versioned & {
  /** The key of the existing role; null if there is none. */
  readonly key: string | null;
  /** Whether a job is still removing that role from its holders. */
  readonly isBeingDeleted: boolean;
};

export const projectRoles = ({ log, sql, clock }: Deps, readable: ReadableProject) => {
  const [projectWithRole, projectWithAlike] = [projectWithRoleRead(sql), projectWithAlikeRead(sql)];

  return {
    async addProjectRole({ projectId, key, displayName }, call) {
      const row = await projectWithAlike({ organization: organizationOf(call), id: projectId, key }, call.signal);
      if (!row) throw refuse.notFound("project", projectId);
      const taken = takenBy(row);
      if (taken) throw refuse.because(taken.reason, taken);
      const at = next(row, clock());
      const added = factOf("project", at, { case: "roleAdded", value: { key, displayName: displayName || key } });
      return log.append(call, [added], { details: detailsAfter(at) });
    },

    async listProjectRoles(request, call) {
      const { projectId } = request;
      const page = pageOf(ListProjectRolesRequestSchema, request, 2);
      const { grantId } = await readable(projectId, call);
      const list = roleList(sql, queryOf(request), { projectId, grantId });
      const rows = await readNamed<RoleRow>(sql, [list], page);
      const { rows: roles, nextPageToken } = cut(rows, page, ({ key, id }) => [key, id]);
      return { roles: roles.map(({ id, displayName }) => ({ key: id, displayName })), nextPageToken };
    },

    async removeProjectRole({ projectId, roleKey: key }, call) {
      const row = await projectWithRole({ organization: organizationOf(call), id: projectId, key }, call.signal);
      if (!row) throw refuse.notFound("project", projectId);
      if (row.key === null || row.isBeingDeleted) throw refuse.notFound("role", key);
      const at = next(row, clock());
      const removed = factOf("project", at, { case: "roleRemoved", value: { key } });
      return log.appendLong(call, removed, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies ProjectRoles;
};

export const projectRoleRules = [
  messageRule(AddProjectRoleRequestSchema, ({ key }) => (key === "." || key === ".." ? [dots] : [])),
  pageRule(ListProjectRolesRequestSchema, 2),
  namedRule(ListProjectRolesRequestSchema, ["key", "keyPrefix"]),
];

const dots: Violation = { field: "key", text: "ROLE_KEY_DOTS", reason: "ROLE_KEY_DOTS" };

export function projectRoleLateRules({ sql }: Pick<Deps, "sql">) {
  const projectWithAlike = projectWithAlikeRead(sql);
  return [
    lateRule(AddProjectRoleRequestSchema, ["projectId", "key"], async ({ projectId: id, key }, call: Call) => {
      const row = await projectWithAlike({ organization: organizationOf(call), id, key }, call.signal);
      return (row && takenBy(row)?.violations) ?? [];
    }),
  ];
}

/** Reads a project with the role of a key. */
const projectWithRoleRead = (sql: Sql) => readWhere(sql, "t.role_key = asked.key");

/** Reads a project with the role whose key reads like the given one. */
const projectWithAlikeRead = (sql: Sql) => readWhere(sql, `${asRead("t.role_key")} = ${asRead("asked.key")}`);

const readWhere = (sql: Sql, condition: string) =>
  loadOne<RoleKey, ProjectWithRole>(sql, {
    asked: "organization text, id text, key text",
    select: `select n, p.project_id as id, p.owner, p.version, p.created, p.changed,
               r.role_key as key, r.deleted is true as "isBeingDeleted"
             from asked join projects p on p.owner = asked.organization and p.project_id = asked.id
             left join lateral (
               select * from all_project_roles t where t.project_id = p.project_id and ${condition}
               order by t.deleted limit 1) r on true`,
  });

type RoleRow = { readonly displayName: string };

function queryOf({ filter, descending }: ListProjectRolesRequest): NamedQuery {
  const { key = "", keyPrefix = "", search = "" } = filter ?? {};
  return {
    texts: textFilters([["folded(r.role_key)", key, keyPrefix]]),
    words: wordsIn(search),
    order: descending ? NameOrder.DESCENDING : NameOrder.ASCENDING,
  };
}

type Roles = { readonly projectId: string; readonly grantId: string | null };

/** Lists a project's roles, or only those that were granted. */
function roleList(sql: Sql, query: NamedQuery, { projectId, grantId }: Roles): NamedList {
  const granted = sql`g.project_grant_id = ${grantId} offset 0`;
  const few = sql`(select r.* from project_grant_roles g
    join project_roles r on r.project_id = g.project_id and r.role_key = g.role_key where ${granted}) r`;
  const fewTerms = sql`(select t.* from project_grant_roles g
    join terms t on t.noun = 'role' and t.scope = g.project_id and t.object_id = g.role_key where ${granted}) w`;
  return {
    texts: query.texts,
    words: query.words,
    order: query.order,
    columns: `r.display_name as "displayName"`,
    table: sql`project_roles r`,
    few: grantId === null ? undefined : few,
    alias: "r",
    id: "r.role_key",
    name: "r.role_key",
    scope: { column: "r.project_id", value: projectId },
    terms: grantId === null ? sql`(select * from terms where noun = 'role' and scope = ${projectId}) w` : fewTerms,
    ownWords: "r.words",
  };
}

/** The error for a new role whose key is taken. */
function takenBy({ key, isBeingDeleted }: ProjectWithRole): No | undefined {
  if (key === null) return undefined;
  return isBeingDeleted ? beingDeleted("key") : roleTaken(key);
}

const roleTaken = (key: string) =>
  takenName({ reason: "ROLE_TAKEN", field: "key", name: key, resource: { noun: "role", id: key } });
