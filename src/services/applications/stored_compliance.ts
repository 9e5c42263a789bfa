import { ApplicationCompliance } from "../../../gen/postern/v1/application_pb.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";

/** The keys of the rules that an application breaks, in the form of its facts. */
export const found = (problems: readonly { readonly key: string }[]) => ({ problems: problems.map(({ key }) => key) });

/** What a fact says about compliance; facts of earlier releases say nothing. */
export const judgedInFact = {
  complianceProblems: `case when f.payload->'compliance' is not null
    then array(select jsonb_array_elements_text(f.payload->'compliance'->'problems')) end`,
  complianceVersion: `case when f.payload->'compliance' is not null then f.version end`,
} as const;

/** Sets these columns of a row that exists. */
export const judged = `compliance_problems = ${judgedInFact.complianceProblems}, compliance_version = ${judgedInFact.complianceVersion}`;

/** For facts that do not change compliance: the earlier result holds for the new version, too. */
export const stillJudged = `compliance_version = case when t.compliance_version = t.version then f.version else t.compliance_version end`;

const keyless = "PRIVATE_KEY_JWT_WITHOUT_KEY";

/** For the fact that adds a key. */
export const judgedWithKey = `compliance_problems = array_remove(t.compliance_problems, '${keyless}'), ${stillJudged}`;

/** For the fact that removes a key, perhaps the last one. */
export const judgedWithoutKey = `compliance_problems = case when t.oidc->>'authMethodType' = 'OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT'
    and not exists (select from application_keys k where k.app_id = f.stream and k.key_id <> f.payload->>'keyId')
    then t.compliance_problems || '{${keyless}}'::text[] else t.compliance_problems end, ${stillJudged}`;

/** Nodes of an earlier release do not write the columns. */
export const problemsUnknown = { table: "applications", column: "compliance_problems" } as const;
export const versionUnknown = { table: "applications", column: "compliance_version" } as const;

// The conditions of the indexes. An application without a result may or may not comply: the call that reads it checks it.
export const isUnjudged = "a.compliance_version is distinct from a.version";
const complies = `${isUnjudged} or cardinality(a.compliance_problems) = 0`;
const breaksRules = `${isUnjudged} or cardinality(a.compliance_problems) > 0`;

/** The condition of a filter by compliance; undefined for all. */
export function complianceIs(sql: Sql, compliance: ApplicationCompliance = 0): Fragment | undefined {
  if (compliance === ApplicationCompliance.UNSPECIFIED) return undefined;
  return sql`(${sql.unsafe(compliance === ApplicationCompliance.NOT_COMPLIANT ? breaksRules : complies)})`;
}

/** Whether a filter by compliance lets an application through. */
export const isAsked = (noneCompliant: boolean, compliance: ApplicationCompliance = 0): boolean =>
  compliance === ApplicationCompliance.UNSPECIFIED ||
  noneCompliant === (compliance === ApplicationCompliance.NOT_COMPLIANT);
