import { type NounFolds, touch } from "../../events/fold.ts";
import { historyInFact, inFact } from "../reading/row.ts";
import { domainInserted } from "./domain_row.ts";

const row = (columns: string) => touch("domains", "domain_id", columns);

const withoutDns = "(f.payload->>'withoutDns')::boolean";

const timeWithoutDns = `case when ${withoutDns} then f.time end`;

const insertedRow = domainInserted(
  ["missingSince"],
  {
    ...inFact("name", "token"),
    proven: withoutDns,
    withoutDns,
    verified: timeWithoutDns,
    provenSince: timeWithoutDns,
    ...historyInFact,
  },
  { values: ["verified"] },
);

/** Records the lookup that led to a fact, and when the next one is due. */
const checked = `
  update domain_checks c set lease = c.lease + 1, due = now() + make_interval(secs => (i.secret->>'seconds')::float8),
    checked = now(), result = i.secret->>'result', answer = i.secret->>'answer'
  from $input i where c.domain_id = i.stream and i.secret is not null`;

/** A domain that an owner of the instance verifies is not looked up any more. */
const given = `
  update domain_checks c set lease = c.lease + 1, due = 'infinity'
  from $input i where c.domain_id = i.stream and i.secret is null`;

/** The folds of facts about a domain: its row, and its lookups. */
export const domainFolds = {
  added: {
    views: [
      `${insertedRow}
       from $facts f`,
    ],
    credentials: [
      `insert into domain_checks (domain_id, owner, due)
       select i.stream, i.owner,
         case when (i.payload->>'withoutDns')::boolean then 'infinity' else now() + make_interval(secs => (i.secret->>'seconds')::float8) end
       from $input i`,
    ],
  },
  verified: {
    views: [
      row(`proven = true, without_dns = ${withoutDns}, verified = f.time, missing_since = null,
      proven_since = coalesce(t.proven_since, f.time)`),
    ],
    credentials: [checked, given],
  },
  recordMissed: { views: [row("missing_since = f.time")], credentials: [checked] },
  lost: { views: [row("proven = false, missing_since = null, proven_since = null")], credentials: [checked] },
  removed: {
    views: ["delete from domains t using $facts f where t.owner = f.owner and t.domain_id = f.stream"],
    credentials: ["delete from domain_checks t using $facts f where t.domain_id = f.stream"],
  },
} satisfies NounFolds<"domain">;
