import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { FailureRate } from "../../security/failure_rate.ts";
import { NoPlace, placesFor } from "../../security/places.ts";
import { checkRecord, findRecord, noteCheck } from "./domain_check.ts";
import { notFound, taken } from "./domain_refusal.ts";
import type { DomainRow } from "./domain_row.ts";
import { type LookupSettings, lookupTimeoutMs, txtLookup } from "./txt_lookup.ts";

const lookupsPerMinute = 30;

// Each lookup waits for name servers that may not answer.
const places = { limit: 16, waitMs: lookupTimeoutMs };

/**
 * Makes the verification of a domain by a lookup that a call waits for. It verifies the domain or reports why not; whether a verified
 * domain has lost its record is left to the regular lookups.
 */
export function domainProof(deps: Deps, settings: LookupSettings) {
  const lookUp = txtLookup(settings);
  const inPlace = placesFor(places);
  const lookups = deps.failureRate("lookups of domains", lookupsPerMinute);
  const record = checkRecord(deps);

  return async (domain: DomainRow, call: Call) => {
    countLookup(lookups, domain.owner);
    const finding = await inPlace(() => findRecord(lookUp, domain)).catch(inWords);
    if (finding.result !== "found") {
      await noteCheck(deps.sql, domain.id, finding);
      throw notFound(domain, finding);
    }
    const recorded = await record(domain, finding, call);
    // It was removed or verified meanwhile.
    if (!recorded) throw refuse.because("CONFLICT");
    if (recorded.result === "taken") throw taken({ name: domain.name });
    return recorded.answer;
  };
}

function countLookup(lookups: FailureRate, organizationId: string): void {
  const now = performance.now();
  const waitMs = lookups.waitMs(organizationId, now);
  if (waitMs > 0) throw refuse.because("RATE_LIMIT", { retrySeconds: Math.ceil(waitMs / 1000) });
  lookups.count(organizationId, now);
}

function inWords(error: unknown): never {
  throw error instanceof NoPlace ? refuse.because("OVERLOADED", { retrySeconds: 1 }) : error;
}
