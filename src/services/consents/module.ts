import type { Deps } from "../../deps.ts";
import { consentFolds, consentRules, consentService } from "./consent.ts";

type Parts = { readonly deps: Deps };

export const consents = {
  serves: { ConsentService: ({ deps }: Parts) => consentService(deps) },
  folds: { consent: consentFolds },
  rules: () => consentRules,
};
