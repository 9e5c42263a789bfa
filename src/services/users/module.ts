import { UserService } from "../../../gen/postern/v1/user_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { userBatchLateRules } from "./create_users.ts";
import { dueErasures } from "./erasure.ts";
import { newUserLateRules } from "./new_user.ts";
import { userRules, userService } from "./user.ts";
import { userFolds } from "./user_fold.ts";

type Parts = { readonly deps: Deps };
type Settings = Parameters<typeof userService>[1];

export const users = {
  serves: [serving(UserService, ({ deps }: Parts, settings: Settings) => userService(deps, settings))],
  folds: { user: userFolds },
  rules: userRules,
  chores: ({ deps }: Parts) => [dueErasures(deps)],
  lateRules: (deps: Deps) => [...newUserLateRules(deps), ...userBatchLateRules(deps)],
};
