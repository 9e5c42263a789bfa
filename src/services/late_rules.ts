import type { Deps } from "../deps.ts";
import { accountLateRules } from "./account.ts";
import { userGrantBatchLateRules } from "./add_user_grants.ts";
import { apiApplicationLateRules } from "./api_application.ts";
import { applicationLateRules } from "./application.ts";
import { projectGrantChangeLateRules } from "./change_project_grant.ts";
import { userBatchLateRules } from "./create_users.ts";
import { newUserLateRules } from "./new_user.ts";
import { projectGrantLateRules } from "./project_grant.ts";
import { projectRoleLateRules } from "./project_role.ts";
import { applicationUpdateLateRules } from "./update_application.ts";
import { userGrantLateRules } from "./user_grant.ts";
import { userRoleLateRules } from "./user_role.ts";

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
