import type { Deps } from "../../deps.ts";
import { handlers } from "../module.ts";
import { factorPolicies, factorPolicyFolds } from "./factor_policy.ts";
import { policyFolds, policyRules, policyService } from "./policy.ts";
import { privacyPolicies, privacyPolicyFolds } from "./privacy_policy.ts";
import { registrationPolicies, registrationPolicyFolds } from "./registration_policy.ts";
import { retentionPolicies, retentionPolicyFolds } from "./retention_policy.ts";
import { signInPolicies, signInPolicyFolds } from "./sign_in_policy.ts";

type Parts = { readonly deps: Deps };

export const policies = {
  serves: {
    PolicyService: ({ deps }: Parts) =>
      handlers(
        policyService(deps),
        factorPolicies(deps),
        privacyPolicies(deps),
        retentionPolicies(deps),
        registrationPolicies(deps),
        signInPolicies(deps),
      ),
  },
  folds: {
    policy: {
      ...policyFolds,
      ...factorPolicyFolds,
      ...privacyPolicyFolds,
      ...retentionPolicyFolds,
      ...registrationPolicyFolds,
      ...signInPolicyFolds,
    },
  },
  rules: () => policyRules,
};
