import { organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { organizationIsThere } from "../callers/in_force.ts";
import { selected } from "../reading/row.ts";
import { type ProjectRow, projectRow } from "./project_row.ts";

export type ReadableProject = ReturnType<typeof readableProject>;

const columns = selected("p", Object.keys(projectRow), { lines: ["changed"], indent: 15 });

/** Finds a project that the organization of the call owns or was granted; fails if there is none. */
export function readableProject(sql: Sql) {
  const read = loadOne<{ organization: string; id: string }, ProjectRow>(sql, {
    asked: "organization text, id text",
    select: `select n, p.project_id as id, ${columns}, g.project_grant_id as "grantId"
             from asked join projects p on p.project_id = asked.id
             left join lateral (
               select project_grant_id from project_grants g
               where g.project_id = p.project_id and g.granted_organization_id = asked.organization limit 1) g on true
             where p.owner = asked.organization or (g.project_grant_id is not null and ${organizationIsThere("p.owner")})`,
  });
  return async (id: string, call: Parameters<typeof organizationOf>[0] & { signal: AbortSignal }) => {
    const row = await read({ organization: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("project", id);
    return row;
  };
}
