import { PolicyService } from "../../../gen/postern/v1/policy_pb.ts";
import type { Deps } from "../../deps.ts";
import { handlers, serving } from "../module.ts";
import { factorPolicies, factorPolicyFolds } from "./factor_policy.ts";
import { policyFolds, policyRules, policyService } from "./policy.ts";
import { privacyPolicies, privacyPolicyFolds } from "./privacy_policy.ts";
import { registrationPolicies, registrationPolicyFolds } from "./registration_policy.ts";
import { retentionPolicies, retentionPolicyFolds } from "./retention_policy.ts";

type Parts = { readonly deps: Deps };

export const policies = {
  serves: [
    serving(PolicyService, ({ deps }: Parts) =>
      handlers(
        policyService(deps),
        factorPolicies(deps),
        privacyPolicies(deps),
        retentionPolicies(deps),
        registrationPolicies(deps),
      ),
    ),
  ],
  folds: {
    policy: {
      ...policyFolds,
      ...factorPolicyFolds,
      ...privacyPolicyFolds,
      ...retentionPolicyFolds,
      ...registrationPolicyFolds,
    },
  },
  rules: () => policyRules,
};
