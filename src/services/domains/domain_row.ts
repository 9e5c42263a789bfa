import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { DomainCheckResult, DomainState } from "../../../gen/postern/v1/domain_pb.ts";
import { details } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { challengeLabel } from "../callers/canonical_domain.ts";
import type { Page } from "../reading/page.ts";
import { history, insertOf, type RowOf, selected } from "../reading/row.ts";
import { unicodeDomain } from "./domain_name.ts";

/** The result of a lookup, as stored in the table of checks. */
export type CheckResult = "found" | "missing" | "failed" | "taken";

const read = {
  owner: "text",
  name: "text",
  token: "text",
  /** Whether the organization has the domain. */
  proven: "boolean",
  withoutDns: "boolean",
  verified: "timestamptz?",
  missingSince: "timestamptz?",
  ...history,
} as const;

/** A domain's columns other than the id, from which its row, select lists and insert derive. */
export const domainRow = { ...read, provenSince: "timestamptz?" } as const;

export type DomainRow = RowOf<typeof read> & {
  readonly id: string;
  readonly due: Date | null;
  readonly checked: Date | null;
  readonly result: CheckResult | null;
  readonly answer: string | null;
};

export const domainColumns = `d.domain_id as id, ${selected("d", Object.keys(read), { lines: ["missingSince"], indent: 2 })},
  case when c.due < 'infinity' then c.due end as due, c.checked, c.result, c.answer`;

/** Composes the insert of a domain. */
export const domainInserted = insertOf({ table: "domains", id: "domain_id" }, domainRow);

const joined = "join domain_checks c on c.domain_id = d.domain_id";

export const domainRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, DomainRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${domainColumns} from asked
             join domains d on d.owner = asked.owner and d.domain_id = asked.id ${joined}`,
  });

export const domainsOf = (sql: Sql, owner: string, { after, limit }: Page) => sql<DomainRow[]>`
  select ${sql.unsafe(domainColumns)} from domains d ${sql.unsafe(joined)}
  where d.owner = ${owner} and ${after ? sql`d.domain_id < ${after[0] ?? ""}` : sql`true`}
  order by d.domain_id desc limit ${limit}`;

export const mostDomains = 100;

/** The state that decides whether an organization may add a domain. */
export type NewDomain = {
  /** The id of the domain if the organization has added it before. */
  readonly knownAs: string | null;
  /** The organization that has the domain. */
  readonly holder: string | null;
  readonly isFull: boolean;
};

export const newDomainRead = (sql: Sql) =>
  loadOne<{ owner: string; name: string }, NewDomain>(sql, {
    asked: "owner text, name text",
    select: `select n,
               (select d.domain_id from domains d where d.owner = asked.owner and d.name = asked.name) as "knownAs",
               (select d.owner from domains d where d.name = asked.name and d.proven) as holder,
               exists (select from domains d where d.owner = asked.owner offset ${mostDomains - 1}) as "isFull"
             from asked`,
  });

/** The TXT record that proves a domain. */
export const recordOf = ({ name, token }: Pick<DomainRow, "name" | "token">) => ({
  name: `${challengeLabel}.${name}`,
  value: `postern-domain-verification=${token}`,
});

const results = {
  found: DomainCheckResult.FOUND,
  missing: DomainCheckResult.MISSING,
  failed: DomainCheckResult.FAILED,
  taken: DomainCheckResult.TAKEN,
} satisfies Record<CheckResult, DomainCheckResult>;

export function domain(row: DomainRow) {
  const { id, name, withoutDns, verified, missingSince, due } = row;
  const unicodeName = unicodeDomain(name);
  const lastCheck = lastCheckOf(row);
  return {
    id,
    details: details(row),
    name,
    ...(unicodeName === undefined ? {} : { unicodeName }),
    state: stateOf(row),
    withoutDns,
    record: recordOf(row),
    ...(verified === null ? {} : { verificationDate: timestampFromDate(verified) }),
    ...(missingSince === null ? {} : { missingSince: timestampFromDate(missingSince) }),
    ...(lastCheck === undefined ? {} : { lastCheck }),
    ...(due === null ? {} : { nextCheckDate: timestampFromDate(due) }),
  };
}

function stateOf({ proven, verified, missingSince }: DomainRow): DomainState {
  if (proven) return missingSince === null ? DomainState.VERIFIED : DomainState.RECORD_MISSING;
  return verified === null ? DomainState.PENDING : DomainState.LOST;
}

function lastCheckOf({ checked, result, answer }: DomainRow) {
  if (checked === null || result === null) return undefined;
  return { date: timestampFromDate(checked), result: results[result], answer: answer ?? "" };
}
