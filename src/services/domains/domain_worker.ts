import { type Deps, systemCall } from "../../deps.ts";
import { lostRace } from "../../events/log.ts";
import { type Delivery, startDeliveries } from "../../notify/deliveries.ts";
import { type Turn, takeInTurns } from "../../notify/turns.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { checkRecord, type Finding, findRecord } from "./domain_check.ts";
import { type LookupSettings, lookupTimeoutMs, txtLookup } from "./txt_lookup.ts";

/** A domain whose TXT record is to be looked up, which a worker holds under a lease. */
type DueDomain = {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly token: string;
  /** Grows with each lease, so that results of an earlier holder are ignored. */
  readonly lease: bigint;
};

/** A domain that changed because of a lookup, for the log. */
export type ChangedDomain = Pick<DueDomain, "id" | "owner"> & { readonly became: string; readonly answer: string };

export type DomainWorkerOptions = {
  readonly onChange: (domain: ChangedDomain) => void;
  readonly onError: (error: unknown) => void;
};

/** Looks up the TXT records of domains when they are due, each on one node at a time. Organizations take turns. */
export function startDomainChecks(deps: Deps, settings: LookupSettings, options: DomainWorkerOptions): AsyncDisposable {
  const lookUp = txtLookup(settings);
  const record = checkRecord(deps);
  return startDeliveries<DueDomain, Delivery & { readonly finding: Finding }>({
    // Nothing is due the moment it is written.
    onWritten: () => () => {},
    timeoutMs: lookupTimeoutMs,
    take: (turn) => takeDomains(deps.sql, turn),
    deliver: async (domain) => ({ kind: "delivered", finding: await findRecord(lookUp, domain) }),
    settle,
    onDelivery: () => {},
    onError: options.onError,
  });

  async function settle({ id, owner, lease }: DueDomain, { finding }: { readonly finding: Finding }): Promise<void> {
    const call = systemCall(deps.ids());
    const recorded = await record({ id, owner, lease }, finding, call).catch((error) => lostRace(error) || undefined);
    if (recorded?.becomes) options.onChange({ id, owner, became: recorded.becomes, answer: finding.answer });
  }
}

/** Leases domains that are due; no other worker takes them until the lease expires. */
export const takeDomains = (sql: Sql, turn: Turn) =>
  takeInTurns<DueDomain>(sql, { table: "domains_to_check", key: "domain_id", lease: lease(sql, turn) }, turn);

const lease = (sql: Sql, { leaseSeconds }: Turn) => sql`
  update domain_checks c set lease = c.lease + 1, due = now() + make_interval(secs => ${leaseSeconds})
  from due join domains d on d.domain_id = due.id
  where c.domain_id = due.id
  returning c.domain_id as id, c.owner, c.lease, d.name, d.token`;
