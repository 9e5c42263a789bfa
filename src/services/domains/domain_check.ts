import type { JsonObject } from "@bufbuild/protobuf";
import type { Call, Deps } from "../../deps.ts";
import { type At, details, detailsAfter, factOf, type NewFact, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type CheckResult, type DomainRow, domainColumns, recordOf } from "./domain_row.ts";
import { type CheckedDomain, type Judgement, judge, lossDays, spread } from "./judge_check.ts";
import { answerText, type LookUpTxt } from "./txt_lookup.ts";

/** The result of a lookup. */
export type Finding = { readonly result: Exclude<CheckResult, "taken">; readonly answer: string };

/** Looks up the TXT record of a domain. */
export async function findRecord(lookUp: LookUpTxt, domain: Pick<DomainRow, "name" | "token">): Promise<Finding> {
  const { name, value } = recordOf(domain);
  const answered = await lookUp(name);
  const answer = answerText(answered);
  if (answered.kind === "failed") return { result: "failed", answer };
  const isThere = answered.kind === "texts" && answered.texts.some((text) => text.trim() === value);
  return { result: isThere ? "found" : "missing", answer };
}

/** The domain that was looked up, and the lease of the lookup, unless a call asked for it. */
export type LookedUp = { readonly owner: string; readonly id: string; readonly lease?: bigint };

/**
 * Makes the function that records a lookup and its consequences. It returns nothing if there is nothing to record: the domain is gone,
 * needs no record any more, or was looked up by another node meanwhile.
 */
export function checkRecord({ log, sql, clock }: Pick<Deps, "log" | "sql" | "clock">) {
  const read = checkedRead(sql);
  return async ({ owner, id, lease }: LookedUp, finding: Finding, call: Call) => {
    const domain = await read({ owner, id }, call.signal);
    if (!domain || domain.withoutDns || (lease !== undefined && lease !== domain.lease)) return undefined;
    const { result, becomes, seconds } = judge(domain, finding.result);
    const noted = { result, answer: finding.answer, seconds: spread(seconds) };
    if (becomes) {
      const at = next(domain, clock());
      const answer = await log.append(call, [factFor(at, becomes, { domain, noted })], { details: detailsAfter(at) });
      return { result, becomes, answer };
    }
    await noteCheck(sql, id, noted);
    return { result, answer: await log.append(call, [], { details: details(domain) }) };
  };
}

type About = { readonly domain: DomainRow; readonly noted: JsonObject };

function factFor(at: At, becomes: NonNullable<Judgement["becomes"]>, { domain: { name }, noted }: About): NewFact {
  switch (becomes) {
    case "verified":
      return factOf("domain", at, { case: becomes, value: { name, withoutDns: false } }, noted);
    case "recordMissed":
      return factOf("domain", at, { case: becomes, value: { name } }, noted);
    case "lost":
      return factOf("domain", at, { case: becomes, value: { name } }, noted);
  }
}

type Noted = { readonly result: CheckResult; readonly answer: string; readonly seconds?: number };

/** Notes a lookup that changed nothing. Without a pause, the next lookup stays scheduled as it is. */
export const noteCheck = (sql: Sql, id: string, { result, answer, seconds }: Noted) => sql`
  update domain_checks set checked = now(), result = ${result}, answer = ${answer},
    due = coalesce(now() + make_interval(secs => ${seconds ?? null}), due)
  where domain_id = ${id}`;

// The domains of an organization that is being deleted belong to nobody.
const checkedRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, CheckedDomain>(sql, {
    asked: "owner text, id text",
    select: `select n, ${domainColumns}, c.lease,
               exists (select from domains h where h.name = d.name and h.proven and h.domain_id <> d.domain_id) as "isTaken",
               extract(epoch from now() - d.changed)::float8 as "waitedSeconds",
               extract(epoch from d.missing_since + interval '${lossDays} days' - now())::float8 as "secondsLeft"
             from asked join domains d on d.owner = asked.owner and d.domain_id = asked.id
             join domain_checks c on c.domain_id = d.domain_id
             join organizations o on o.organization_id = d.owner and not o.deleted`,
  });
