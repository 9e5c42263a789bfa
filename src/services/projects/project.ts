import type { ServiceImpl } from "@connectrpc/connect";
import { ListProjectsRequestSchema, type ProjectService, ProjectState } from "../../../gen/postern/v1/project_pb.ts";
import { type Deps, organizationOf, type Reach, reachOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../../events/fact.ts";
import { inOrder, type NounFolds, type Step, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { organizationIsThere } from "../callers/in_force.ts";
import { handlers } from "../module.ts";
import { type NamedList, type NamedQuery, namedRule, queryByName, readNamed } from "../reading/list_statement.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { historyInFact, inFact, selected } from "../reading/row.ts";
import { connectionsEnd } from "../writing/connections_end.ts";
import { invitationsEnd } from "../writing/offer.ts";
import { asRead } from "../writing/taken_name.ts";
import { projectGrantChange } from "./change_project_grant.ts";
import { projectGrants } from "./project_grant.ts";
import { projectRoles } from "./project_role.ts";
import { type ProjectRow, projectInserted, projectRow } from "./project_row.ts";
import { projectState, projectStateFolds, stateOfProject } from "./project_state.ts";
import { type ReadableProject, readableProject } from "./readable_project.ts";
import { projectNameTaken, projectUpdateRules, projectUpdates } from "./update_project.ts";

export const projectService = (deps: Deps) => {
  const readable = readableProject(deps.sql);
  return handlers(
    projects(deps, readable),
    projectRoles(deps, readable),
    projectGrants(deps, readable),
    projectState(deps, readable),
    projectGrantChange(deps),
    projectUpdates(deps),
  ) satisfies ServiceImpl<typeof ProjectService>;
};

type Projects = Pick<
  ServiceImpl<typeof ProjectService>,
  "createProject" | "getProject" | "listProjects" | "deleteProject"
>;

const projects = ({ log, sql, clock, ids }: Deps, readable: ReadableProject) => {
  const projectNamed = loadOne<{ organization: string; name: string }, { id: string }>(sql, {
    asked: "organization text, name text",
    select: `select n, project_id as id from asked
             cross join lateral (
               select * from projects t
               where t.owner = asked.organization and ${asRead("t.name")} = ${asRead("asked.name")} limit 1) p`,
  });

  return {
    async createProject({ name, grantRequired }, call) {
      const organization = organizationOf(call);
      const taken = await projectNamed({ organization, name }, call.signal);
      if (taken) throw projectNameTaken({ field: "name", name, projectId: taken.id });
      const projectId = ids();
      const at = first(organization, projectId, clock());
      const created = factOf("project", at, { case: "created", value: { name, grantRequired } });
      return log.append(call, [created], { projectId, details: detailsAfter(at) });
    },

    async getProject({ projectId }, call) {
      return { project: project(await readable(projectId, call)) };
    },

    async listProjects(request, call) {
      const page = pageOf(ListProjectsRequestSchema, request, 2);
      const query = queryByName(request, "folded(p.name)", ProjectState);
      const scope = { organization: organizationOf(call), reach: reachOf(call) };
      const lists = [ownList, ...(request.includeGranted ? [grantedList] : [])];
      const rows = await readNamed<ProjectRow>(
        sql,
        lists.map((list) => list(sql, query, scope)),
        page,
      );
      const { rows: answered, nextPageToken } = cut(rows, page, ({ key, id }) => [key, id]);
      return { projects: answered.map(project), nextPageToken };
    },

    async deleteProject({ projectId }, call) {
      const row = await readable(projectId, call);
      if (row.grantId !== null) throw refuse.notFound("project", projectId);
      const at = next(row, clock());
      const deleted = factOf("project", at, { case: "deleted", value: {} });
      return log.appendLong(call, deleted, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies Projects;
};

export const projectRules = [
  pageRule(ListProjectsRequestSchema, 2),
  namedRule(ListProjectsRequestSchema, ["name", "namePrefix"]),
  ...projectUpdateRules,
];

// Rows that refer to a project lock it before its roles. Deleting in the same order makes one statement wait for the other.
const gone = [
  `delete from all_projects p using $facts f where p.owner = f.owner and p.project_id = f.stream`,
  `delete from all_project_roles r using $facts f where r.project_id = f.stream`,
];

const roleGone = `delete from all_project_roles r using $facts f
       where r.project_id = f.stream and r.role_key = f.payload->>'key'`;

/** The objects deleted with a project. */
const whatRests: readonly Step[] = [
  ...connectionsEnd({ from: "join applications a on a.project_id = i.stream", app: "a.app_id" }),
  {
    makes: "application.deleted",
    select: `select i.n, a.owner, a.app_id, a.version + 1, jsonb_build_object()
                 from $input i join applications a on a.project_id = i.stream`,
  },
  inOrder({
    makes: "user_grant.removed",
    table: "user_grants",
    same: [["r.project_id", "i.stream"]],
    owner: "r.owner",
    stream: "r.user_grant_id",
    select: (join) => `select i.n, r.owner, r.user_grant_id, r.version + 1, jsonb_build_object()
                 from $input i ${join}`,
  }),
  {
    makes: "member.removed",
    select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from $input i join members m on m.project_id = i.stream`,
  },
  {
    makes: "project_grant.revoked",
    select: `select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
                 from $input i join project_grants g on g.project_id = i.stream`,
  },
  invitationsEnd("join invitations v on v.project_id = i.stream"),
];

/** The grants that lose a role when the project loses it. */
const holdersLoseIt: readonly Step[] = [
  inOrder({
    makes: "user_grant.role_removed",
    table: "user_grant_roles",
    same: [
      ['(r.project_id collate "C")', "i.stream"],
      ['(r.role_key collate "C")', "i.payload->>'key'"],
    ],
    owner: '(r.owner collate "C")',
    stream: '(r.user_grant_id collate "C")',
    select: (join) => `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
                 from $input i ${join}
                 cross join lateral (select * from user_grants where user_grant_id = r.user_grant_id offset 0) g`,
  }),
  {
    makes: "project_grant.role_removed",
    select: `select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
                 from $input i
                 join project_grant_roles r on r.project_id = i.stream and r.role_key = i.payload->>'key'
                 join project_grants g on g.project_grant_id = r.project_grant_id`,
  },
  // Nobody can accept the role any more.
  invitationsEnd(
    `join invitations v on v.project_id = i.stream
                   and coalesce(v.project_grant, v.grants->0)->'roleKeys' ? (i.payload->>'key')`,
  ),
];

const insertedRow = projectInserted(
  ["active"],
  {
    ...inFact("name"),
    grantRequired: "coalesce((f.payload->>'grantRequired')::boolean, false)",
    ...historyInFact,
  },
  { values: ["version"] },
);

/** The folds of facts about a project: they write its row and its roles. */
export const projectFolds = {
  ...projectStateFolds,
  created: {
    views: [`${insertedRow} from $facts f`],
  },
  deleted: {
    views: gone,
    cascades: whatRests.map((step) => ({ ...step, extent: "many" as const })),
    later: {
      begins: [
        // The name can be reused at once.
        `update all_projects p set active = false, deleted = true, name = p.project_id from $facts f
         where p.owner = f.owner and p.project_id = f.stream`,
        "update all_project_roles r set deleted = true from $facts f where r.project_id = f.stream",
      ],
      steps: whatRests,
      waits: "select from $input i join all_project_grants g on g.project_id = i.stream and g.deleted",
      ends: gone,
    },
  },
  roleAdded: {
    views: [
      `insert into project_roles (owner, project_id, role_key, display_name)
       select f.owner, f.stream, f.payload->>'key', f.payload->>'displayName' from $facts f`,
      touch("projects", "project_id"),
    ],
  },
  changed: {
    views: [
      touch(
        "projects",
        "project_id",
        "name = f.payload->>'name', grant_required = coalesce((f.payload->>'grantRequired')::boolean, t.grant_required)",
      ),
    ],
  },
  roleChanged: {
    views: [
      `update project_roles r set display_name = f.payload->>'displayName' from $facts f
       where r.project_id = f.stream and r.role_key = f.payload->>'key'`,
      touch("projects", "project_id"),
    ],
  },
  roleRemoved: {
    views: [roleGone, touch("projects", "project_id")],
    cascades: holdersLoseIt.map((step) => ({ ...step, extent: "many" as const })),
    later: {
      begins: [
        `update all_project_roles r set deleted = true from $facts f
         where r.project_id = f.stream and r.role_key = f.payload->>'key'`,
        touch("projects", "project_id"),
      ],
      steps: holdersLoseIt,
      waits: `select from $input i join all_project_grant_roles r on r.project_id = i.stream and r.role_key = i.payload->>'key'
              where r.deleted`,
      ends: [roleGone],
    },
  },
} satisfies NounFolds<"project">;

const project = ({ id, name, active, grantRequired, grantId, ...row }: ProjectRow) => ({
  id,
  details: details({ id, ...row }),
  name,
  state: stateOfProject(active),
  grantRequired,
  ...(grantId === null ? {} : { projectGrantId: grantId }),
});

type Scope = { readonly organization: string; readonly reach: Reach };

const columns = selected("p", Object.keys(projectRow));

const listed = {
  alias: "p",
  id: "p.project_id",
  name: "p.name",
  ownWords: "p.words",
} as const;

function ownList(sql: Sql, query: NamedQuery, { organization, reach }: Scope): NamedList {
  const some = reach.whole ? undefined : [...reach.projects];
  const terms = sql`select * from terms where noun = 'project' and scope = ${organization}`;
  return {
    ...listed,
    ...query,
    columns: `${columns}, null::text as "grantId"`,
    table: sql`projects p`,
    few: some && sql`(select * from projects where project_id = any(${some}) offset 0) p`,
    scope: { column: "p.owner", value: organization },
    terms: some ? sql`(${terms} and object_id = any(${some}) offset 0) w` : sql`(${terms}) w`,
  };
}

function grantedList(sql: Sql, query: NamedQuery, { organization, reach }: Scope): NamedList {
  const within = reach.whole ? sql`true` : sql`g.project_grant_id = any(${[...reach.projectGrants]})`;
  const granted = sql`g.granted_organization_id = ${organization} and ${within}
    and ${sql.unsafe(organizationIsThere("g.owner"))} offset 0`;
  const all = sql`select p.*, g.project_grant_id as grant_id
    from project_grants g join projects p on p.project_id = g.project_id`;
  return {
    ...listed,
    ...query,
    columns: `${columns}, p.grant_id as "grantId"`,
    table: sql`(${all} where g.granted_organization_id = ${organization}) p`,
    few: sql`(${all} where ${granted}) p`,
    scope: undefined,
    terms: sql`(select t.* from project_grants g
      join terms t on t.noun = 'project' and t.scope = g.owner and t.object_id = g.project_id where ${granted}) w`,
  };
}
