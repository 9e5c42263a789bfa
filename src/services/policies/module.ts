import { PolicyService } from "../../../gen/postern/v1/policy_pb.ts";
import type { Deps } from "../../deps.ts";
import { handlers, serving } from "../module.ts";
import { factorPolicies, factorPolicyFolds } from "./factor_policy.ts";
import { policyFolds, policyRules, policyService } from "./policy.ts";

type Parts = { readonly deps: Deps };

export const policies = {
  serves: [serving(PolicyService, ({ deps }: Parts) => handlers(policyService(deps), factorPolicies(deps)))],
  folds: { policy: { ...policyFolds, ...factorPolicyFolds } },
  rules: () => policyRules,
};
