import { ApplicationCompliance } from "../../../gen/postern/v1/application_pb.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { NamedList, NamedQuery } from "../reading/list_statement.ts";
import { listedColumns } from "./application_row.ts";
import { complianceIs } from "./stored_compliance.ts";

/** Whose applications are listed: those of the project, or without one, of the organization. */
type Place = { readonly owner: string; readonly project: string };

/** The applications to list, with the filter by compliance. */
type Listed = Place & { readonly compliance: ApplicationCompliance | undefined };

export function applicationList(sql: Sql, query: NamedQuery, { compliance, ...place }: Listed): NamedList {
  const list = listIn(sql, query, place);
  const condition = complianceIs(sql, compliance);
  if (!condition) return list;
  // Indexes cover those that do not comply, which are few, and those that are inactive.
  const isServed = compliance === ApplicationCompliance.NOT_COMPLIANT && query.active !== false;
  return isServed ? { ...list, served: condition } : { ...list, unserved: [...(list.unserved ?? []), condition] };
}

const listIn = (sql: Sql, { texts, words, order, active }: NamedQuery, place: Place): NamedList => ({
  texts,
  words,
  order,
  active,
  columns: listedColumns,
  table: sql`applications a`,
  alias: "a",
  id: "a.app_id",
  name: "a.name",
  ownWords: "a.words",
  isAgeByBytes: true,
  ...(place.project ? ofProject(sql, place.project) : ofOrganization(sql, place.owner)),
});

const ofProject = (sql: Sql, project: string) => ({
  scope: { column: "a.project_id", value: project },
  terms: sql`(select * from terms where noun = 'application' and scope = ${project}) w`,
});

/** The applications of an organization; a project that a job is deleting hides its own. */
const ofOrganization = (sql: Sql, owner: string) => ({
  scope: { column: "a.owner", value: owner },
  terms: sql`(select * from terms where noun = 'application_of_organization' and scope = ${owner}) w`,
  unserved: [sql`exists (select from projects p where p.project_id = a.project_id offset 0)`],
});
