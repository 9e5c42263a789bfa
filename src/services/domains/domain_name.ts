import { domainToUnicode } from "node:url";
import { refuse, type Violation } from "../../errors.ts";
import { canonicalDomain } from "../callers/canonical_domain.ts";

/** Returns a domain in Unicode, if that differs. */
export function unicodeDomain(name: string): string | undefined {
  const shown = domainToUnicode(name);
  return shown === name || shown === "" ? undefined : shown;
}

/** Refuses a text that is not a domain. */
export const wrongDomain = (name: string): Violation[] =>
  canonicalDomain(name) === undefined ? [{ field: "name", text: "DOMAIN_INVALID", reason: "DOMAIN_INVALID" }] : [];

export function domainIn(name: string): string {
  const canonical = canonicalDomain(name);
  if (canonical === undefined) throw refuse.invalid(wrongDomain(name));
  return canonical;
}
