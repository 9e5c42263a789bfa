import type { Deps } from "../deps.ts";
import { accountLateRules } from "./account/account.ts";
import { apiApplicationLateRules } from "./applications/api_application.ts";
import { applicationLateRules } from "./applications/application.ts";
import { applicationUpdateLateRules } from "./applications/update_application.ts";
import { userRoleLateRules } from "./members/user_role.ts";
import { projectGrantChangeLateRules } from "./projects/change_project_grant.ts";
import { projectGrantLateRules } from "./projects/project_grant.ts";
import { projectRoleLateRules } from "./projects/project_role.ts";
import { userGrantBatchLateRules } from "./user_grants/add_user_grants.ts";
import { userGrantLateRules } from "./user_grants/user_grant.ts";
import { userBatchLateRules } from "./users/create_users.ts";
import { newUserLateRules } from "./users/new_user.ts";

/**
 * The late rules of every service. SetPassword and ChangeUserGrant have none: their only other field names the object, without
 * which neither its policy nor its roles are known.
 */
export const lateRules = (deps: Deps) => [
  ...accountLateRules(deps),
  ...newUserLateRules(deps),
  ...userBatchLateRules(deps),
  ...projectGrantLateRules(deps),
  ...projectGrantChangeLateRules(deps),
  ...userGrantLateRules(deps),
  ...userGrantBatchLateRules(deps),
  ...projectRoleLateRules(deps),
  ...applicationLateRules(deps),
  ...applicationUpdateLateRules(deps),
  ...apiApplicationLateRules(deps),
  ...userRoleLateRules,
];
