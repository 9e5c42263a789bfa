import type { Deps } from "../../deps.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { configurationIn } from "./application.ts";
import type { ApplicationRow } from "./application_row.ts";
import { apiProblemsOf, problemsOf } from "./compliance.ts";
import { found, isUnjudged } from "./stored_compliance.ts";

/** Checks the compliance of applications that a node of an earlier release has written. */
export const unjudgedApplications = ({ sql }: Pick<Deps, "sql">): Chore => ({
  name: "applications to judge",
  async batch(most) {
    const rows = await unjudged(sql, most);
    const all = rows.map(({ id, version, ...row }) => ({ id, version: String(version), ...found(problemsIn(row)) }));
    const written = await sql`
      with written as materialized (
        select a.app_id, j.problems
        from jsonb_to_recordset(${JSON.stringify(all)}::text::jsonb) as j (id text, version bigint, problems jsonb)
        join applications a on a.app_id = j.id and a.version = j.version
        order by a.app_id for update of a skip locked
      )
      update applications a set compliance_version = a.version,
        compliance_problems = array(select jsonb_array_elements_text(w.problems))
      from written w where a.app_id = w.app_id`;
    // An application that another node has locked or changed is found again by the next sweep.
    return written.count;
  },
});

type Unjudged = Pick<ApplicationRow, "id" | "version" | "oidc" | "isApi" | "hasKey">;

const unjudged = (sql: Sql, most: number) => sql<Unjudged[]>`
  select a.app_id as id, a.version, a.oidc, a.is_api as "isApi",
    exists (select from application_keys k where k.app_id = a.app_id) as "hasKey"
  from applications a where ${sql.unsafe(isUnjudged)} order by a.app_id limit ${most}`;

function problemsIn(row: Pick<Unjudged, "oidc" | "isApi" | "hasKey">) {
  const oidc = configurationIn(row);
  return row.isApi ? apiProblemsOf(oidc, row.hasKey) : problemsOf(oidc, row.hasKey);
}
