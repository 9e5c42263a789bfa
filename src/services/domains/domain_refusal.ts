import { type Call, ownsInstance } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import type { Finding } from "./domain_check.ts";
import { type DomainRow, mostDomains, type NewDomain, recordOf } from "./domain_row.ts";

/** Lets only owners of the instance verify domains without a record. */
export function refuseWithoutDns(call: Call): void {
  if (ownsInstance(call)) return;
  const violations: Violation[] = [{ field: "withoutDns", text: "ONLY_INSTANCE_OWNER", reason: "DOMAIN_WITHOUT_DNS" }];
  throw refuse.because("PERMISSION_DENIED", { params: { permission: "instance.write" }, violations });
}

type Wanted = { readonly name: string; readonly withoutDns: boolean };

/** Refuses to add a domain twice, or too many. Only owners of the instance learn whether another organization has it. */
export function refuseNewDomain(found: NewDomain | undefined, { name, withoutDns }: Wanted): void {
  const { knownAs = null, holder = null, isFull = false } = found ?? {};
  if (knownAs !== null) throw exists(name, knownAs);
  if (isFull) throw refuse.because("DOMAIN_LIMIT", { params: { limit: String(mostDomains) } });
  if (withoutDns && holder !== null) throw taken({ name, organizationId: holder });
}

/** Refuses a domain that another organization has, and names that organization. */
export function refuseHeld({ name, owner }: DomainRow, found: NewDomain | undefined): void {
  const organizationId = found?.holder ?? owner;
  if (organizationId !== owner) throw taken({ name, organizationId });
}

export function taken(params: { readonly name: string; readonly organizationId?: string }) {
  return refuse.because("DOMAIN_TAKEN", { params });
}

function exists(name: string, domainId: string) {
  const violations: Violation[] = [{ field: "name", text: "DOMAIN_EXISTS", params: { name }, reason: "DOMAIN_EXISTS" }];
  const resource = { noun: "domain", id: domainId };
  return refuse.because("DOMAIN_EXISTS", { params: { name, domainId }, violations, resource });
}

/** The error for a lookup that did not find the record, with what DNS answered. */
export function notFound(domain: DomainRow, { result, answer }: Finding) {
  const { name: record, value } = recordOf(domain);
  return result === "failed"
    ? refuse.because("DOMAIN_CHECK_FAILED", { params: { record, answer } })
    : refuse.because("DOMAIN_RECORD_MISSING", { params: { record, value, answer } });
}
