import { ConsentService } from "../../../gen/postern/v1/consent_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { consentFolds, consentRules, consentService } from "./consent.ts";

type Parts = { readonly deps: Deps };

export const consents = {
  serves: [serving(ConsentService, ({ deps }: Parts) => consentService(deps))],
  folds: { consent: consentFolds },
  rules: () => consentRules,
};
