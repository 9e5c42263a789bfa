import type { Deps } from "../deps.ts";
import { accountLateRules } from "./account.ts";
import { projectGrantChangeLateRules } from "./change_project_grant.ts";
import { newUserLateRules } from "./new_user.ts";
import { projectGrantLateRules } from "./project_grant.ts";
import { userGrantLateRules } from "./user_grant.ts";

/**
 * The late rules of every service. SetPassword and ChangeUserGrant have none: their only other field names the object, without
 * which neither its policy nor its roles are known.
 */
export const lateRules = (deps: Pick<Deps, "sql" | "secrets">) => [
  ...accountLateRules(deps),
  ...newUserLateRules(deps),
  ...projectGrantLateRules(deps),
  ...projectGrantChangeLateRules(deps),
  ...userGrantLateRules(deps),
];
