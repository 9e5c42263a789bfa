import type { ServiceImpl } from "@connectrpc/connect";
import { ChangeProjectGrantRequestSchema, type ProjectService } from "../../../gen/postern/v1/project_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule } from "../../rules.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import type { No } from "../writing/batch_refusal.ts";
import { beingDeleted } from "../writing/being_deleted.ts";
import { type Acceptance, deciderIn, unaccepted } from "../writing/offer.ts";
import { refuseUnknownRoles, unknownRoles } from "./project_grant.ts";

type Change = Pick<ServiceImpl<typeof ProjectService>, "changeProjectGrant">;

export const projectGrantChange = ({ log, sql, clock }: Deps) => {
  const grantAndRoles = changeRead(sql);

  return {
    async changeProjectGrant({ projectId, projectGrantId, roleKeys, expectedSequence }, call) {
      const asked = { owner: organizationOf(call), project: projectId, grant: projectGrantId, keys: roleKeys };
      const row = await grantAndRoles(asked, call.signal);
      if (!row) throw refuse.notFound("project", projectId);
      if (row.id === null) throw refuse.notFound("project_grant", projectGrantId);
      refuseOvertaken(row, expectedSequence);
      refuseUnknownRoles(roleKeys, row.known);
      const isSame = new Set([...roleKeys, ...row.roleKeys]).size === roleKeys.length;
      if (isSame && row.roleKeys.length === roleKeys.length) return log.append(call, [], { details: details(row) });
      const no = refusedMore(roleKeys, row, call) ?? refusedDeletion(roleKeys, row);
      if (no) throw refuse.because(no.reason, no);
      const at = next(row, clock());
      const removedRoleKeys = row.roleKeys.filter((key) => !roleKeys.includes(key));
      const changed = factOf("projectGrant", at, { case: "changed", value: { roleKeys, removedRoleKeys } });
      return log.appendLong(call, changed, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies Change;
};

export function projectGrantChangeLateRules({ sql }: Pick<Deps, "sql">) {
  const grantAndRoles = changeRead(sql);
  return [
    lateRule(
      ChangeProjectGrantRequestSchema,
      ["projectId", "roleKeys"],
      async ({ projectId, roleKeys }, call: Call) => {
        // The project grant may be the invalid field.
        const asked = { owner: organizationOf(call), project: projectId, grant: "", keys: roleKeys };
        const row = await grantAndRoles(asked, call.signal);
        return row ? unknownRoles(roleKeys, row.known) : [];
      },
    ),
  ];
}

/** Refuses roles that a job is still taking from user grants: an earlier holder must not get one back. */
function refusedDeletion(roleKeys: readonly string[], { beingDeleted: gone }: Roles): No | undefined {
  const at = roleKeys.findIndex((key) => gone.includes(key));
  return at < 0 ? undefined : beingDeleted(`roleKeys[${at}]`);
}

/** Refuses roles that the organization with the grant has not accepted. */
function refusedMore(roleKeys: readonly string[], row: Roles, call: Call): No | undefined {
  if (roleKeys.every((key) => row.roleKeys.includes(key))) return undefined;
  return deciderIn(row, call) === undefined ? undefined : unaccepted("roleKeys");
}

type Key = { owner: string; project: string; grant: string; keys: readonly string[] };
type Roles = Pick<Acceptance, "decidedBy"> & {
  readonly roleKeys: readonly string[];
  /** The roles that a job is still taking from user grants. */
  readonly beingDeleted: readonly string[];
  readonly known: readonly string[];
};
type Row = (Versioned & Roles) | ({ readonly id: null } & Roles);

/** Reads a project grant with its roles, and which of the new roles the project has. */
const changeRead = (sql: Sql) =>
  loadOne<Key, Row>(sql, {
    asked: `owner text, project text, "grant" text, keys text[]`,
    select: `select n, g.project_grant_id as id, g.owner, g.version, g.created, g.changed,
               (select o.organization_id from organizations o
                where o.organization_id = g.granted_organization_id and o.requires_acceptance) as "decidedBy",
               array(select r.role_key from project_grant_roles r
                     where r.project_grant_id = g.project_grant_id) as "roleKeys",
               array(select r.role_key from all_project_grant_roles r
                     where r.project_grant_id = g.project_grant_id and r.deleted) as "beingDeleted",
               array(select r.role_key from project_roles r
                     where r.project_id = p.project_id and r.role_key = any(asked.keys)) as known
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             left join project_grants g
               on g.owner = p.owner and g.project_grant_id = asked."grant" and g.project_id = p.project_id`,
  });
