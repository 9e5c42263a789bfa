import type { Deps } from "../../deps.ts";
import { userBatchLateRules } from "./create_users.ts";
import { dueErasures, ownErasure } from "./erasure.ts";
import { newUserLateRules } from "./new_user.ts";
import { userRules, userService } from "./user.ts";
import { userFolds } from "./user_fold.ts";

type Parts = { readonly deps: Deps };
type Settings = Parameters<typeof userService>[1];

export const users = {
  serves: {
    UserService: ({ deps }: Parts, settings: Settings) => userService(deps, settings),
    AccountService: ({ deps }: Parts, settings: Settings) => ownErasure(deps, settings),
  },
  folds: { user: userFolds },
  rules: (_: Deps, settings: Settings) => userRules(settings),
  chores: ({ deps }: Parts) => [dueErasures(deps)],
  lateRules: (deps: Deps) => [...newUserLateRules(deps), ...userBatchLateRules(deps)],
};
