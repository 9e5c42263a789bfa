import type { ServiceImpl } from "@connectrpc/connect";
import {
  ProjectRoleUpdateSchema,
  type ProjectService,
  ProjectUpdateSchema,
  UpdateProjectRequestSchema,
  UpdateProjectRoleRequestSchema,
} from "../../../gen/postern/v1/project_pb.ts";
import { type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { history, selected } from "../reading/row.ts";
import { changesOf, refuseOvertaken, updateRule } from "../reading/update_mask.ts";
import { asRead, takenName } from "../writing/taken_name.ts";
import type { ProjectRow } from "./project_row.ts";

type Updates = Pick<ServiceImpl<typeof ProjectService>, "updateProject" | "updateProjectRole">;

export const projectUpdates = ({ log, sql, clock }: Deps) => {
  const projectToUpdate = projectRead(sql);
  const roleToUpdate = roleRead(sql);

  return {
    async updateProject({ projectId: id, updateMask, expectedSequence, ...request }, call) {
      const changes = changesOf(ProjectUpdateSchema, request.project, updateMask);
      const row = await projectToUpdate({ owner: organizationOf(call), id, name: changes.name ?? null }, call.signal);
      if (!row) throw refuse.notFound("project", id);
      refuseOvertaken(row, expectedSequence);
      const { name = row.name, grantRequired = row.grantRequired } = changes;
      if (row.takenBy !== null) throw projectNameTaken({ field: "project.name", name, projectId: row.takenBy });
      if (name === row.name && grantRequired === row.grantRequired)
        return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("project", at, { case: "changed", value: { name, grantRequired } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },

    async updateProjectRole({ projectId: id, roleKey: key, updateMask, expectedSequence, ...request }, call) {
      const changes = changesOf(ProjectRoleUpdateSchema, request.role, updateMask);
      const row = await roleToUpdate({ owner: organizationOf(call), id, key }, call.signal);
      if (!row) throw refuse.notFound("project", id);
      if (row.displayName === null) throw refuse.notFound("role", key);
      refuseOvertaken(row, expectedSequence);
      const displayName = (changes.displayName ?? row.displayName) || key;
      if (displayName === row.displayName) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("project", at, { case: "roleChanged", value: { key, displayName } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Updates;
};

export const projectUpdateRules = [
  updateRule(UpdateProjectRequestSchema, "project"),
  updateRule(UpdateProjectRoleRequestSchema, "role"),
];

export function projectNameTaken({ field, name, projectId }: Taken) {
  const resource = { noun: "project", id: projectId };
  const no = takenName({ reason: "PROJECT_NAME_TAKEN", field, name, params: { projectId }, resource });
  return refuse.because(no.reason, no);
}

type Taken = { readonly field: string; readonly name: string; readonly projectId: string };

const names = ["owner", "name", "grantRequired"] as const;

type ProjectToUpdate = Pick<ProjectRow, keyof Versioned | (typeof names)[number]> & { readonly takenBy: string | null };

/** Reads a project, and another one of the organization that already has the new name. */
const projectRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string; name: string | null }, ProjectToUpdate>(sql, {
    asked: "owner text, id text, name text",
    select: `select n, p.project_id as id, ${selected("p", [...names, ...Object.keys(history)])},
               (select t.project_id from projects t
                where asked.name <> p.name and t.owner = asked.owner and ${asRead("t.name")} = ${asRead("asked.name")}
                  and t.project_id <> asked.id limit 1) as "takenBy"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.id`,
  });

type RoleRow = Versioned & { readonly displayName: string | null };

/** Reads a project with the name of one of its roles; null if it does not have the role. */
const roleRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string; key: string }, RoleRow>(sql, {
    asked: "owner text, id text, key text",
    select: `select n, p.project_id as id, p.owner, p.version, p.created, p.changed, r.display_name as "displayName"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.id
             left join project_roles r on r.project_id = p.project_id and r.role_key = asked.key`,
  });
