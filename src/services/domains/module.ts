import type { Deps } from "../../deps.ts";
import { domainHandlers, domainRules } from "./domain.ts";
import { domainFolds } from "./domain_fold.ts";
import type { LookupSettings } from "./txt_lookup.ts";

type Parts = { readonly deps: Deps };

/** The domains of organizations. */
export const domains = {
  serves: { DomainService: ({ deps }: Parts, settings: LookupSettings) => domainHandlers(deps, settings) },
  folds: { domain: domainFolds },
  rules: () => domainRules,
};
