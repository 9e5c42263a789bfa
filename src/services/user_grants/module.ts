import type { Deps } from "../../deps.ts";
import { userGrantBatchLateRules } from "./add_user_grants.ts";
import { userGrantFolds, userGrantLateRules, userGrantRules, userGrantService } from "./user_grant.ts";
import { userGrantExpirationRules } from "./user_grant_expiration.ts";

type Parts = { readonly deps: Deps };

export const userGrants = {
  serves: { UserGrantService: ({ deps }: Parts) => userGrantService(deps) },
  folds: { userGrant: userGrantFolds },
  rules: (deps: Deps) => [...userGrantRules, ...userGrantExpirationRules(deps)],
  lateRules: (deps: Deps) => [...userGrantLateRules(deps), ...userGrantBatchLateRules(deps)],
};
